import CLinux
public import FileValues
import Glibc
import SystemPackage

/// An unreaped child of this process, with a descriptor that stays valid even if its number is reused; see
/// pidfd_open(2).
///
/// Move-only, so that one owner reaps it: pass it to a monitor of child processes, or call ``wait()``. If dropped, it
/// continues to run and becomes a zombie when it ends.
public struct ChildProcess: ~Copyable, Sendable {
    /// Its process and process group identifier, valid until it is reaped.
    public let identifier: Int32
    /// Its pidfd, readable when it has ended.
    public let descriptor: OwnedDescriptor

    /// Adopts a child that was started by fork(2) or posix_spawn(3).
    ///
    /// Throws ECHILD if `identifier` is not an unreaped child of this process, ESRCH if there is no such process. While
    /// SIGCHLD is ignored the kernel reaps children itself, possibly before this call.
    public init(adopting identifier: Int32) throws(SystemCallError) {
        let descriptor = try descriptorCall("pidfd_open") { clinux_pidfd_open(identifier) }
        _ = try ProcessExit.ofChild(descriptor.raw, peeking: true)
        self.identifier = identifier
        self.descriptor = descriptor
    }

    /// The target of one of the child's standard streams.
    public enum Stream: Hashable, Sendable {
        /// /dev/null.
        case null
        /// That of this process.
        case inherited
        /// A copy of this descriptor, which the caller keeps.
        case descriptor(Int32)
    }

    /// Starts `program`, an absolute path, without a shell or a search.
    ///
    /// The child inherits only what is passed here: no signal mask (threads of libdispatch block nearly all signals) or
    /// dispositions, no descriptor but the three streams, no variable but `environment`. It leads its own process
    /// group, so that a signal to the group reaches its children too. Blocks until the program is executed, so errors
    /// of execve(2), such as ENOENT, are thrown. Any thread. See posix_spawn(3).
    ///
    /// - Parameters:
    ///   - arguments: Those after the program's name.
    ///   - environment: All of its variables.
    ///   - directory: A descriptor of its working directory, which the caller keeps; nil for this process's.
    public static func spawn(
        _ program: BytePath, _ arguments: [BytePath] = [], environment: [String: String] = [:],
        input: Stream = .null, output: Stream = .null, error: Stream = .inherited, directory: Int32? = nil
    ) throws(SystemCallError) -> ChildProcess {
        guard program.isAbsolute else { throw SystemCallError("posix_spawn", .invalidArgument, path: program) }
        let null = try descriptorCall("open", path: "/dev/null") { clinux_openat(AT_FDCWD, "/dev/null", openFlags, 0) }
        // Above 2 if necessary, so that no stream overwrites one that is still to be copied.
        var moved: [Int32] = []
        defer { for number in moved { close(number) } }
        var streams: [Int32] = []
        for (number, stream) in [input, output, error].enumerated() {
            var raw =
                switch stream {
                case .null: null.raw
                case .inherited: Int32(number)
                case .descriptor(let raw): raw
                }
            if raw <= 2, raw != Int32(number) {
                raw = try systemCall("fcntl") { fcntl(raw, F_DUPFD_CLOEXEC, 3) }
                moved.append(raw)
            }
            streams.append(raw)
        }
        var child: Int32 = 0
        let variables = environment.map { BytePath("\($0.key)=\($0.value)") }
        let code = program.withCString { path in
            withCStrings([program] + arguments) { arguments in
                withCStrings(variables) { clinux_spawn(&child, path, arguments, $0, streams, directory ?? -1) }
            }
        }
        guard code == 0 else { throw SystemCallError("posix_spawn", Errno(rawValue: code), path: program) }
        return try ChildProcess(adopting: child)
    }

    /// Sends a signal to the process, not its group. Without effect if it has ended; throws ESRCH once it is reaped.
    public func send(signal: Int32) throws(SystemCallError) {
        let raw = descriptor.raw
        try systemCall("pidfd_send_signal") { clinux_pidfd_send_signal(raw, signal) }
    }

    /// Waits until it has ended, and reaps it. Kills it once `limit` is over, or, asked ten times a second, `shouldStop`
    /// says so.
    public consuming func wait(
        atMost limit: Duration? = nil, shouldStop: (() -> Bool)? = nil
    ) throws(SystemCallError) -> ProcessExit {
        let start = ContinuousClock.now
        var isKilled = false
        while true {
            let left = isKilled ? nil : limit.map { max(.zero, $0 - (.now - start)) }
            let next = isKilled || shouldStop == nil ? left : min(left ?? .milliseconds(100), .milliseconds(100))
            var ended = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
            let milliseconds = next.map { Int32(min($0 / .milliseconds(1), 1e9).rounded(.up)) } ?? -1
            _ = try systemCall("poll") { poll(&ended, 1, milliseconds) }
            if let exit = try ProcessExit.ofChild(descriptor.raw) { return exit }
            if !isKilled, left == .zero || shouldStop?() == true {
                try send(signal: SIGKILL)
                isKilled = true
            }
        }
    }

    /// Transfers its descriptor to a new owner, which must reap it.
    public consuming func takeDescriptor() -> OwnedDescriptor { descriptor }

    private static let openFlags = O_RDWR | O_CLOEXEC
}

/// Calls `body` with a null-terminated array of C strings.
private func withCStrings<R>(
    _ texts: [BytePath], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R
) -> R {
    // One allocation for all of them, so that the pointers into it stay valid.
    var bytes: [CChar] = []
    var offsets: [Int] = []
    for text in texts {
        offsets.append(bytes.count)
        bytes += text.bytes.map { CChar(bitPattern: $0) }
        bytes.append(0)
    }
    let storage = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
    defer { storage.deallocate() }
    _ = storage.initialize(from: bytes)
    let pointers = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: texts.count + 1)
    defer { pointers.deallocate() }
    pointers.initialize(repeating: nil)
    for (index, offset) in offsets.enumerated() { pointers[index] = storage.baseAddress?.advanced(by: offset) }
    guard let first = pointers.baseAddress else { preconditionFailure("an array with a terminator is never empty") }
    return body(first)
}

/// The path of a helper program: beside the running one, or in `libexec` or `sbin`, where `make install` puts it.
package func programBeside(_ name: BytePath) -> BytePath {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = readlink("/proc/self/exe", &buffer, buffer.count)
    let own = BytePath(buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }).parent
    let installed = ["libexec", "sbin"].map { own.parent.appending($0).appending(name) }
    return ([own.appending(name)] + installed).first { (try? FileStatus(at: $0, followingLinks: true)) != nil }
        ?? installed[0]
}
