import Glibc
import LinuxKernel
import Logging
import SystemMonitor
import TestSupport
import Testing

@testable import Inbox
@testable import Settings

private func hook(_ name: String, _ script: String, timeout: Int64 = 3600) -> HookSettings {
    HookSettings(name: name, command: ["/bin/sh", "-c", script], timeout: .seconds(timeout))
}

@Suite("Hooks run without a shell, one at a time each, and never for ever", .timeLimit(.minutes(4)))
struct HookRunnerTests {
    private let log = KeptLog()
    private let problems: ProblemDesk
    private let scratch: ScratchDirectory

    init() throws {
        problems = ProblemDesk(log: log.inboxLog)
        scratch = try ScratchDirectory()
    }

    private func runner(grace: Duration = .seconds(5)) -> HookRunner {
        HookRunner(queue: MonitorQueue(label: "test.hooks"), log: log.inboxLog, problems: problems, grace: grace)
    }

    /// A FIFO that a hook can say something into, held open so that nobody waits for the other end.
    private final class Mouth {
        let path: String
        private let descriptor: OwnedDescriptor

        init(_ path: String) throws {
            self.path = path
            try systemCall("mkfifo") { mkfifo(path, 0o600) }
            descriptor = try descriptorCall("open") { open(path, O_RDWR | O_CLOEXEC) }
        }

        /// What is said next, waited for.
        func byte() -> UInt8 {
            var byte: UInt8 = 0
            _ = read(descriptor.raw, &byte, 1)
            return byte
        }

        var isSilent: Bool {
            var poll = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
            return Glibc.poll(&poll, 1, 0) == 0
        }
    }

    private func fifo() throws -> Mouth { try Mouth(scratch.appending("said")) }

    @Test func aFailureIsAProblemUntilItWorksAgain() async throws {
        let runner = runner()
        let flag = scratch.appending("flag")
        let flaky = hook("flaky", "test -e \(flag)")
        runner.run(flaky)
        #expect(await log.line(holding: "PI-103")?.contains("flaky") == true)
        close(open(flag, O_WRONLY | O_CREAT, 0o600))
        runner.run(flaky)
        #expect(await log.line(holding: "PI-103 flaky is over") != nil)
        await runner.stop()
    }

    @Test func aProgramThatIsNotThereIsAProblem() async throws {
        let runner = runner()
        runner.run(HookSettings(name: "absent", command: ["/nonexistent/program"], timeout: .seconds(1)))
        #expect(await log.line(holding: "PI-103")?.contains("absent") == true)
        await runner.stop()
    }

    @Test func argumentsAreGivenAsTheyAre() async throws {
        let runner = runner()
        let said = try fifo()
        runner.run(
            HookSettings(
                name: "literal",
                command: ["/bin/sh", "-c", "[ \"$1\" = '$(id); *' ] && printf y > \"$0\"", said.path, "$(id); *"],
                timeout: .seconds(3600)))
        #expect(said.byte() == UInt8(ascii: "y"))
        await runner.stop()
    }

    @Test func oneAtATime() async throws {
        let runner = runner()
        let said = try fifo()
        let slow = hook("slow", "printf b > \(said.path); exec sleep 3600")
        runner.run(slow)
        #expect(said.byte() == UInt8(ascii: "b"))
        runner.run(slow)
        #expect(await log.line(holding: "slow is still running, skipped") != nil)
        await runner.stop()
    }

    @Test func atItsDeadlineItIsAskedToEnd() async throws {
        let runner = runner()
        runner.run(hook("polite", "trap 'exit 7' TERM; while :; do sleep 0.01; done", timeout: 1))
        let line = await log.line(holding: "PI-103")
        #expect(line?.contains("7") == true, "it could end by itself: \(line ?? "")")
        await runner.stop()
    }

    @Test func whoDoesNotListenIsKilled() async throws {
        let runner = runner(grace: .milliseconds(50))
        runner.run(hook("deaf", "trap '' TERM; while :; do sleep 0.01; done", timeout: 1))
        let line = await log.line(holding: "PI-103")
        #expect(line?.contains("KILL") == true || line?.contains("signal 9") == true, "\(line ?? "")")
        await runner.stop()
    }

    @Test func stoppingKillsWhatRunsAndLeavesNoMonitor() async throws {
        let runner = runner()
        let said = try fifo()
        runner.run(hook("test-endless", "trap '' TERM; printf b > \(said.path); while :; do sleep 0.01; done"))
        #expect(said.byte() == UInt8(ascii: "b"))
        await runner.stop()
        let labels = MonitorRegistry.shared.descriptions().map(\.label)
        #expect(!labels.contains { $0.contains("test-endless") }, "\(labels)")
        runner.run(hook("test-late", "printf x > \(said.path)"))
        await runner.stop()
        #expect(!log.lines.contains { $0.contains("test-late") })
        #expect(said.isSilent, "after the end nothing is begun")
    }
}
