import ControlProtocol
import Foundation
import Glibc
import LinuxKernel
import TestSupport
import Testing

/// A directory with an inbox, a library and what else the daemon needs, and the ways to put things into it.
final class House: Sendable {
    let scratch: ScratchDirectory
    /// What the daemon is started with, besides the flags of a test.
    private let command: [String]
    private let launched = Locked<[RunningProgram]>([])

    /// `command` goes before the daemon: a program that changes the user or the mounts.
    init(running command: [String] = []) throws {
        // Some daemons here are other users'.
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
    /// A directory on the same file system that nobody watches.
    var outside: String { path("outside") }

    func path(_ name: String) -> String { scratch.appending(name) }

    /// Starts the daemon with one inbox and returns when it takes photos, and has told `parts`, before that or after.
    func start(_ arguments: String..., telling parts: [String] = []) async throws -> RunningProgram {
        try await start(["--inbox", inbox, "--library", library, "--state", path("st")] + arguments, telling: parts)
    }

    /// Starts the daemon with a configuration file of this content.
    func start(configuration text: String, telling parts: [String] = []) async throws -> RunningProgram {
        try configure(text)
        return try await start(["--config", path("photoinbox.toml")], telling: parts)
    }

    /// Writes the configuration file anew, `@` standing for the house's own directory.
    func configure(_ text: String) throws {
        let own = text.split(separator: "@", omittingEmptySubsequences: false).joined(separator: "\(root)/")
        unlink(path("photoinbox.toml"))
        try write(Data(own.utf8), to: path("photoinbox.toml"))
    }

    private func start(_ arguments: [String], telling parts: [String] = []) async throws -> RunningProgram {
        let daemon = try launch(arguments + ["--log-level", "debug"])
        try await daemon.lines(holding: ["ready: "] + parts)
        return daemon
    }

    /// Starts the daemon with exactly these arguments, waiting for nothing.
    func launch(_ arguments: [String]) throws -> RunningProgram {
        let daemon = try RunningProgram(command + [BuiltPrograms.path("photoinboxd")] + arguments)
        launched.withLock { $0.append(daemon) }
        return daemon
    }

    /// Asks for the state with SIGUSR1 and reads it.
    func state(of daemon: RunningProgram) async throws -> DaemonState {
        daemon.signal(SIGUSR1)
        try await daemon.line(holding: "state in ", "asked by SIGUSR1")
        return try readState()
    }

    /// Asks for the state until `isWanted` holds for it; fails after a while, with the last one.
    func state(
        of daemon: RunningProgram, until isWanted: (DaemonState) throws -> Bool
    ) async throws -> DaemonState {
        try await poll({ try await self.state(of: daemon) }, until: isWanted)
    }

    /// The state as it was last written.
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

    /// What is below `directory`: file contents by path; nothing if it is not there.
    func files(in directory: String) -> [String: Data] { Tree.files(below: directory) }

    /// Asserts that nothing half-done of ours lies anywhere.
    func expectNoTemporaries(sourceLocation: SourceLocation = #_sourceLocation) {
        let left = Tree.files(below: root).keys.filter { $0.contains(".photo-inbox-") }
        #expect(left.isEmpty, sourceLocation: sourceLocation)
    }
}

extension RunningProgram {
    /// Waits until lines with every one of `parts` have come, in whatever order, since the last wait; a part that
    /// stands there twice must come twice.
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

    /// Waits until `count` lines with `part` have come since the last wait.
    func lines(_ count: Int, holding part: String) async throws {
        let left = Locked(count)
        try await line("\(count) lines with \(part)") { line in
            left.withLock {
                if line.contains(part) { $0 -= 1 }
                return $0 <= 0
            }
        }
    }

    /// Ends it with SIGTERM and checks that it ended in good order, with no monitor left alive.
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
