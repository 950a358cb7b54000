import Glibc
import SystemPackage

/// A descriptor that several threads make calls on, and that one of them may end at any time.
///
/// After ``end()`` it is closed as soon as no call is in it any more: a thread that is held in a call by a hung mount
/// never finds another file under its number, and nobody waits for that thread.
final class SharedDescriptor: Sendable {
    private struct Use {
        var calls = 0
        var hasEnded = false
    }

    private let number: Int32
    private let use = Locked(Use())

    init(_ descriptor: consuming OwnedDescriptor) { number = descriptor.take() }

    deinit { end() }

    /// Closes it now, or when the last call that is under way returns. Calls after it throw EBADF.
    func end() {
        let closesNow = use.withLock { use in
            defer { use.hasEnded = true }
            return !use.hasEnded && use.calls == 0
        }
        if closesNow { close(number) }
    }

    /// Gives `body` the number, which stays open until it returns. `call` is what the error says if it is closed.
    func inUse<R>(_ call: String, _ body: (Int32) throws(SystemCallError) -> R) throws(SystemCallError) -> R {
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
            taking: try inUse("fcntl") { number throws(SystemCallError) in
                try systemCall("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 0) }
            })
    }

    /// How many bytes wait to be read; see FIONREAD in inotify(7).
    func queuedBytes() throws(SystemCallError) -> Int {
        var count: Int32 = 0
        try inUse("ioctl") { number throws(SystemCallError) in
            _ = try systemCall("ioctl") { ioctl(number, UInt(FIONREAD), &count) }
        }
        return Int(count)
    }
}
