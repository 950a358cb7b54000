import Dispatch
import Glibc
import SystemPackage
import TestSupport

/// How a program ended, and what it printed on standard output and standard error, in one text.
struct ProgramRun: Sendable {
    /// The exit status; 128 and the signal's number where a signal ended it, as a shell has it.
    let status: Int32
    /// As UTF-8, mended where it is not.
    let output: String

    /// Runs a program to its end on a thread of its own, with an ordinary signal mask, no standard input, and an end
    /// that it meets when the test process ends first.
    static func run(_ arguments: [String]) async throws -> ProgramRun {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "photo-inbox.test.program").async {
                continuation.resume(with: Result { try wait(for: arguments) })
            }
        }
    }

    private static func wait(for arguments: [String]) throws -> ProgramRun {
        let scratch = try ScratchDirectory()
        let outputPath = scratch.appending("output")

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, outputPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)

        // Dispatch's threads block nearly every signal, and a child inherits that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        // The box is to clean up after itself also when the tests are interrupted.
        var pointers: [UnsafeMutablePointer<CChar>?] = (["setpriv", "--pdeathsig", "TERM", "--"] + arguments).map {
            strdup($0)
        }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        var child: pid_t = 0
        let result = posix_spawnp(&child, "setpriv", &actions, &attributes, pointers, environ)
        guard result == 0 else { throw Errno(rawValue: result) }

        var status: Int32 = 0
        while waitpid(child, &status, 0) == -1 {
            guard errno == EINTR else { throw Errno(rawValue: errno) }
        }
        let signal = status & 0x7f
        return ProgramRun(
            status: signal == 0 ? (status >> 8) & 0xff : 128 + signal, output: try contents(of: outputPath))
    }

    private static func contents(of path: String) throws -> String {
        let file = try FileDescriptor.open(FilePath(path), .readOnly)
        return try file.closeAfter {
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0) }
                if count == 0 { return String(decoding: bytes, as: UTF8.self) }
                bytes += chunk[..<count]
            }
        }
    }
}
