import Glibc
import SystemPackage

/// A descriptor that several threads use and that any of them may end at any time.
///
/// After ``end()`` it is closed when the last call on it returns: a thread blocked in a call by a hung mount never
/// meets another file under its number, and no other thread waits for it.
final class SharedDescriptor: Sendable {
    private struct Use {
        var calls = 0
        var hasEnded = false
    }

    private let number: Int32
    private let use = Locked(Use())

    init(_ descriptor: consuming OwnedDescriptor) { number = descriptor.take() }

    deinit { end() }

    /// Closes it now, or when the last call on it returns. Later calls throw EBADF.
    func end() {
        let closesNow = use.withLock { use in
            defer { use.hasEnded = true }
            return !use.hasEnded && use.calls == 0
        }
        if closesNow { close(number) }
    }

    /// Calls `body` with the number, which stays open until it returns. `call` names the call in the error after
    /// ``end()``.
    func withNumber<R>(_ call: String, _ body: (Int32) throws(SystemCallError) -> R) throws(SystemCallError) -> R {
        let isOpen = use.withLock { use in
            if !use.hasEnded { use.calls += 1 }
            return !use.hasEnded
        }
        guard isOpen else { throw SystemCallError(call, .badFileDescriptor) }
        defer {
            let closesNow = use.withLock { use in
                use.calls -= 1
                return use.hasEnded && use.calls == 0
            }
            if closesNow { close(number) }
        }
        return try body(number)
    }

    /// A second descriptor of the same open file.
    func duplicate() throws(SystemCallError) -> OwnedDescriptor {
        OwnedDescriptor(
            taking: try withNumber("fcntl") { number throws(SystemCallError) in
                try systemCall("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 0) }
            })
    }

    /// The number of unread bytes; see FIONREAD in inotify(7).
    func queuedBytes() throws(SystemCallError) -> Int {
        var count: Int32 = 0
        try withNumber("ioctl") { number throws(SystemCallError) in
            _ = try systemCall("ioctl") { ioctl(number, UInt(FIONREAD), &count) }
        }
        return Int(count)
    }
}
