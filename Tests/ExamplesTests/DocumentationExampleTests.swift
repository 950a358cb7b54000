import Glibc
import LinuxKernel
import SystemMonitor
import TestSupport
import Testing

@testable import Snippets

@Suite("Examples of the documentation", .timeLimit(.minutes(60)))
struct DocumentationExampleTests {
    /// With stdbuf(1), since output to a pipe is buffered.
    @Test("The ticker ticks until a signal")
    func ticker() async throws {
        let ticker = try RunningProgram(["/usr/bin/stdbuf", "-oL", BuiltPrograms.path("ticker")])
        defer { ticker.killIfRunning() }
        try await ticker.line(holding: "running; stop with Ctrl-C")
        try await ticker.line(holding: "ticks since the last event: 1")
        ticker.signal(SIGTERM)
        try await ticker.line(holding: "SIGTERM from process \(getpid())")
        #expect(try await ticker.ending() == .status(0))
    }

    @Test("The small daemon reports files, reloads and stops")
    func smallDaemon() async throws {
        let scratch = try ScratchDirectory()
        let daemon = try RunningProgram([BuiltPrograms.path("small-daemon"), scratch.path])
        defer { daemon.killIfRunning() }
        try await daemon.line(holding: "ready")
        try runProgram(["/bin/sh", "-c", "mkdir \"$0\" && echo x >\"$0/b\"", scratch.appending("a")])
        try await daemon.line(holding: "finished a/b")
        daemon.signal(SIGHUP)
        try await daemon.line(holding: "compared 1 files")
        daemon.signal(SIGTERM)
        try await daemon.line(holding: "stopping after SIGTERM")
        #expect(try await daemon.ending() == .status(0))
    }

    @Test("The line monitor reports whole lines")
    func lineMonitor() async throws {
        let scratch = try ScratchDirectory()
        let path = scratch.appending("commands")
        #expect(mkfifo(path, 0o600) == 0)
        let monitor = try LineMonitor(path: path, label: "commands", queue: MonitorQueue(label: "test.lines"))
        let lines = try await withMonitor(monitor) { _, events in
            try runProgram(["/bin/sh", "-c", "printf 'first\\nsec' >\"$0\"; printf 'ond\\n' >\"$0\"", path])
            var lines: [String] = []
            for try await line in events {
                lines.append(line)
                if lines.count == 2 { break }
            }
            return lines
        }
        #expect(lines == ["first", "second"])
    }

    @Test("The clock pauses, resumes and ends")
    func clock() async throws {
        let clock = try Clock()
        clock.start()
        clock.pause()
        clock.resume()
        clock.end()
        try await printTicks(1)
    }
}
