import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// A directory with an inbox, a library and the daemon's other files.
final class House: Sendable {
    let scratch: ScratchDirectory
    /// The command of the daemon, without the flags of a test.
    private let command: [String]
    private let launched = Locked<[RunningProgram]>([])

    /// `command` precedes the daemon: a program that changes the user or the mounts.
    init(running command: [String] = []) throws {
        // Some daemons run as other users.
        umask(0o022)
        scratch = try ScratchDirectory()
        self.command = command
        for name in ["inbox", "library", "outside"] { try makeDirectory(path(name)) }
    }

    deinit { for daemon in launched.withLock({ $0 }) { daemon.killIfRunning() } }

    var root: String { scratch.path }
    var inbox: String { path("inbox") }
    var library: String { path("library") }
    var quarantine: String { path("quarantine/inbox") }
    var duplicates: String { path("duplicates/inbox") }
    /// A directory on the same file system that is not watched.
    var outside: String { path("outside") }

    func path(_ name: String) -> String { scratch.appending(name) }

    /// Starts the daemon with one inbox and waits until it is ready and has logged `parts`, in any order.
    func start(_ arguments: String..., reporting parts: [String] = []) async throws -> RunningProgram {
        try await start(["--inbox", inbox, "--library", library, "--state", path("st")] + arguments, reporting: parts)
    }

    /// Starts the daemon with this configuration.
    func start(configuration text: String, reporting parts: [String] = []) async throws -> RunningProgram {
        try configure(text)
        return try await start(["--config", path("photoinbox.toml")], reporting: parts)
    }

    /// Writes the configuration file; `@` is replaced by the house's directory.
    func configure(_ text: String) throws {
        let own = text.split(separator: "@", omittingEmptySubsequences: false).joined(separator: "\(root)/")
        unlink(path("photoinbox.toml"))
        try write(Data(own.utf8), to: path("photoinbox.toml"))
    }

    private func start(_ arguments: [String], reporting parts: [String] = []) async throws -> RunningProgram {
        let daemon = try launch(arguments + ["--log-level", "debug"])
        try await daemon.lines(holding: ["ready: "] + parts)
        return daemon
    }

    /// Starts the daemon with exactly these arguments, without waiting.
    func launch(_ arguments: [String]) throws -> RunningProgram { try launch(program: "photoinboxd", arguments) }

    /// The same of another program, which is killed with the house.
    func launch(program name: String, _ arguments: [String]) throws -> RunningProgram {
        try launch(path: BuiltPrograms.path(name), arguments)
    }

    func launch(path: String, _ arguments: [String]) throws -> RunningProgram {
        let daemon = try RunningProgram(command + [path] + arguments)
        launched.withLock { $0.append(daemon) }
        return daemon
    }

    /// Requests the state with SIGUSR1 and reads it.
    func state(of daemon: RunningProgram) async throws -> DaemonState {
        daemon.signal(SIGUSR1)
        try await daemon.line(holding: "state in ", "asked by SIGUSR1")
        return try readState()
    }

    /// Requests the state until `isWanted` accepts it; fails at a deadline, with the last one.
    func state(
        of daemon: RunningProgram, until isWanted: (DaemonState) throws -> Bool
    ) async throws -> DaemonState {
        try await poll({ try await self.state(of: daemon) }, until: isWanted)
    }

    /// The last written state.
    func readState() throws -> DaemonState {
        let data = try Data(contentsOf: URL(filePath: path("st/run/state.json")))
        return try JSONDecoder().decode(DaemonState.self, from: data)
    }

    /// Writes `data` beside the inbox and moves it there under `name`, in one step.
    func drop(_ data: Data, as name: String, into directory: String? = nil) throws {
        let aside = "\(outside)/\(UUID())"
        try write(data, to: aside)
        try move(aside, to: "\(directory ?? inbox)/\(name)")
    }

    /// The files below `directory`: contents by path; empty if it does not exist.
    func files(in directory: String) -> [String: Data] { Tree.files(below: directory) }

    /// Requires that no temporary file of the daemon exists.
    func expectNoTemporaries(sourceLocation: SourceLocation = #_sourceLocation) {
        let left = Tree.files(below: root).keys.filter { $0.contains(".photo-inbox-") }
        #expect(left.isEmpty, sourceLocation: sourceLocation)
    }
}

extension RunningProgram {
    /// Waits for lines with each of `parts`, in any order, since the last wait; a part that
    /// is listed twice must occur twice.
    func lines(holding parts: some Sequence<String>) async throws {
        let wanted = Array(parts)
        let left = Locked(wanted)
        try await line("all of \(wanted.joined(separator: " | "))") { line in
            left.withLock { left in
                for part in Set(left) where line.contains(part) {
                    if let index = left.firstIndex(of: part) { left.remove(at: index) }
                }
                return left.isEmpty
            }
        }
    }

    /// Waits for `count` lines with `part` since the last wait.
    func lines(_ count: Int, holding part: String) async throws {
        let left = Locked(count)
        try await line("\(count) lines with \(part)") { line in
            left.withLock {
                if line.contains(part) { $0 -= 1 }
                return $0 <= 0
            }
        }
    }

    /// Ends it with SIGTERM and requires a normal end without remaining monitors.
    func stop(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        signal(SIGTERM)
        let ending = try await ending()
        #expect(ending == .status(0), "\(lines.suffix(20).joined(separator: "\n"))", sourceLocation: sourceLocation)
        #expect(
            lines.contains { $0.contains("stopped, 0 monitors left") }, "\(lines.suffix(5))",
            sourceLocation: sourceLocation)
    }

    func count(of part: String) -> Int { lines.filter { $0.contains(part) }.count }
}
