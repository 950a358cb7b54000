import Dispatch
public import FileValues
import Glibc
import LinuxKernel
import SystemPackage

/// A temporary directory for one test, removed with all its content, whatever the names.
public final class ScratchDirectory: Sendable {
    /// Its absolute path, without links.
    public let path: String

    /// Creates it below TMPDIR, or below `parent` if a test needs a certain file system.
    public init(below parent: String? = nil) throws {
        let base = parent ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(base)/photo-inbox-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A parent in memory, without writes by builds and other programs, and without waits for a disk. Nil if there is
    /// none.
    public static let quiet: String? = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : nil

    deinit { try? runProgram(["/bin/rm", "-rf", "--", path]) }

    /// The same path as bytes.
    public var bytePath: BytePath { BytePath(path) }

    /// The path of `name` in it.
    public func appending(_ name: String) -> String { "\(path)/\(name)" }
}

/// Runs a program without a shell; throws if it cannot be started or does not end with status 0.
public func runProgram(_ arguments: [String]) throws {
    var pointers: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    var child: pid_t = 0
    let result = openDescriptors.withLock { _ in posix_spawn(&child, arguments[0], nil, nil, pointers, environ) }
    guard result == 0 else { throw Errno(rawValue: result) }
    var status: Int32 = 0
    while waitpid(child, &status, 0) == -1 {
        guard errno == EINTR else { throw Errno(rawValue: errno) }
    }
    guard status == 0 else { throw ProgramFailed(program: arguments[0], status: status) }
}

/// Runs blocking code on its own thread: the pool of the tests has one thread per processor, and blocking one of
/// those delays other tests.
public func aside<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "test.aside").async { continuation.resume(with: Result(catching: body)) }
    }
}

/// A program that did not end with status 0; `status` is that of waitpid(2).
public struct ProgramFailed: Error {
    /// Its path.
    public let program: String
    /// Its wait status.
    public let status: Int32
}

/// Creates an executable script, written by another process: a child that another test starts now has all
/// open descriptors until its exec, and the kernel does not run a file that is open for writing (ETXTBSY).
public func writeProgram(_ script: String, to path: String, mode: UInt32 = 0o755) throws {
    let text = "\(path).text"
    let file = open(text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Errno(rawValue: errno) }
    defer { close(file) }
    let bytes = Array(script.utf8)
    guard write(file, bytes, bytes.count) == bytes.count else { throw Errno(rawValue: errno) }
    try runProgram(["/bin/cp", text, path])
    guard chmod(path, mode_t(mode)) == 0 else { throw Errno(rawValue: errno) }
}
