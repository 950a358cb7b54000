import CLinux
public import FileValues
import Glibc
import SystemPackage

/// A child of this process that nobody has reaped yet, with a descriptor that stays its own even if its number is
/// given to another process; see pidfd_open(2).
///
/// Move-only, so that one owner reaps it: hand it to a monitor of child processes, or call ``wait()``. Dropped, it runs
/// on and stays a zombie when it ends.
public struct ChildProcess: ~Copyable, Sendable {
    /// Its process identifier, and its process group's. Its own until it is reaped.
    public let identifier: Int32
    /// Readable when it has ended.
    public let descriptor: OwnedDescriptor

    /// Takes over a child that somebody else started, as fork(2) or posix_spawn(3) gave it.
    ///
    /// Throws ECHILD where `identifier` is not an unreaped child of this process, ESRCH where there is none such. While
    /// SIGCHLD is ignored the kernel reaps children itself, so that this can come too late.
    public init(adopting identifier: Int32) throws(SystemCallError) {
        let descriptor = try descriptorCall("pidfd_open") { clinux_pidfd_open(identifier) }
        _ = try ProcessExit.ofChild(descriptor.raw, peeking: true)
        self.identifier = identifier
        self.descriptor = descriptor
    }

    /// Where one of the child's standard streams goes.
    public enum Stream: Hashable, Sendable {
        /// /dev/null.
        case null
        /// Where this process's goes.
        case inherited
        /// A copy of this descriptor, which stays the caller's.
        case descriptor(Int32)
    }

    /// Starts `program`, an absolute path: no shell, no search.
    ///
    /// The child inherits nothing but what is said here: not the signal mask (threads of libdispatch block nearly
    /// everything) nor dispositions, no descriptor but the three streams, no variable but `environment`. It leads a
    /// process group of its own, so that a signal to the group reaches its children too. Blocks until the program is
    /// executed, and so throws what execve(2) says, such as ENOENT. Any thread. See posix_spawn(3).
    ///
    /// - Parameters:
    ///   - arguments: Those after the program's name.
    ///   - environment: All of its variables.
    ///   - directory: A descriptor of its working directory, which stays the caller's; nil for ours.
    public static func spawn(
        _ program: BytePath, _ arguments: [BytePath] = [], environment: [String: String] = [:],
        input: Stream = .null, output: Stream = .null, error: Stream = .inherited, directory: Int32? = nil
    ) throws(SystemCallError) -> ChildProcess {
        guard program.isAbsolute else { throw SystemCallError("posix_spawn", .invalidArgument, path: program) }
        let null = try descriptorCall("open", path: "/dev/null") { clinux_openat(AT_FDCWD, "/dev/null", openFlags, 0) }
        // Above 2, where needed, so that no stream overwrites one that is still to be copied.
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

    /// Sends a signal to the process alone; one that has ended takes it without effect, a reaped one throws ESRCH.
    public func send(signal: Int32) throws(SystemCallError) {
        let raw = descriptor.raw
        try systemCall("pidfd_send_signal") { clinux_pidfd_send_signal(raw, signal) }
    }

    /// Waits, for as long as it takes, until it has ended, and reaps it.
    public consuming func wait() throws(SystemCallError) -> ProcessExit {
        while true {
            var ended = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
            try systemCall("poll") { poll(&ended, 1, -1) }
            if let exit = try ProcessExit.ofChild(descriptor.raw) { return exit }
        }
    }

    /// Gives its descriptor to a new owner, whose it is to reap it.
    public consuming func takeDescriptor() -> OwnedDescriptor { descriptor }

    private static let openFlags = O_RDWR | O_CLOEXEC
}

/// Calls `body` with a null-terminated array of C strings.
private func withCStrings<R>(
    _ texts: [BytePath], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R
) -> R {
    // One allocation holds all of them, so that nothing moves while the pointers into it live.
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

/// A program that belongs to the running one: beside it, or in `libexec` or `sbin`, where `make install` puts it.
package func programBeside(_ name: BytePath) -> BytePath {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = readlink("/proc/self/exe", &buffer, buffer.count)
    let own = BytePath(buffer.prefix(max(0, length)).map { UInt8(bitPattern: $0) }).parent
    let installed = ["libexec", "sbin"].map { own.parent.appending($0).appending(name) }
    return ([own.appending(name)] + installed).first { (try? FileStatus(at: $0, followingLinks: true)) != nil }
        ?? installed[0]
}
