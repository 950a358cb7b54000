import Foundation
import Glibc
import SystemPackage
import TestSupport

/// A program's exit status, and its standard output and error in one text.
struct ProgramRun: Sendable {
    /// The exit status; 128 plus the signal's number if a signal ended it, as in a shell.
    let status: Int32
    /// Repaired if it is not valid UTF-8.
    let output: String

    /// Runs a program to its end on its own thread, without standard input. It is ended when that thread
    /// ends first, with the test process, so that the box cleans up even if the tests are interrupted.
    static func run(_ arguments: [String]) async throws -> ProgramRun {
        try await aside {
            let scratch = try ScratchDirectory()
            let output = scratch.appending("output")
            let child = try spawn(
                ["/usr/bin/setpriv", "--pdeathsig", "TERM", "--"] + arguments,
                environment: ProcessInfo.processInfo.environment
            ) {
                posix_spawn_file_actions_addopen(&$0, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
                posix_spawn_file_actions_addopen(&$0, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
                posix_spawn_file_actions_adddup2(&$0, STDOUT_FILENO, STDERR_FILENO)
            }
            var status: Int32 = 0
            while waitpid(child, &status, 0) == -1 {
                guard errno == EINTR else { throw Errno(rawValue: errno) }
            }
            let signal = status & 0x7f
            return ProgramRun(
                status: signal == 0 ? (status >> 8) & 0xff : 128 + signal,
                output: String(decoding: try Data(contentsOf: URL(filePath: output)), as: UTF8.self))
        }
    }
}
