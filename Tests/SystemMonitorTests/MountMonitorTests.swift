import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Mount monitors see what is mounted and unmounted", .timeLimit(.minutes(60)))
struct MountMonitorTests {
    private let queue = MonitorQueue(label: "test.mounts")

    /// A shell in a mount namespace of its own, which nothing of ours lives in.
    private final class Namespace: Sendable {
        let shell: Int32
        private let commands: OwnedDescriptor
        private let answers: OwnedDescriptor

        init() throws {
            let (input, output) = (try makePipe(), try makePipe())
            defer { for number in [input.reading, output.writing] { close(number) } }
            commands = OwnedDescriptor(taking: input.writing)
            answers = OwnedDescriptor(taking: output.reading)
            let user: [BytePath] = getuid() == 0 ? [] : ["--user", "--map-root-user"]
            shell = try ChildProcess.spawn(
                "/usr/bin/unshare", user + ["--mount", "--propagation", "private", "/bin/sh"],
                environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], input: .descriptor(input.reading),
                output: .descriptor(output.writing)
            ).identifier
            try run(":")
        }

        /// Runs one command to its end.
        func run(_ command: String) throws {
            try send("\(command) && echo done || echo failed\n", to: commands.raw)
            let answer = try receive(from: answers.raw)
            guard answer == "done\n" else { throw Refused(answer: answer) }
        }

        deinit {
            kill(shell, SIGKILL)
            var status: Int32 = 0
            waitpid(shell, &status, 0)
        }
    }

    private struct Refused: Error { let answer: String }

    private static let refusal: String? = {
        do {
            try Namespace().run("mount -t tmpfs none /tmp")
            return nil
        } catch {
            return "\(error)"
        }
    }()

    @Test(.enabled(if: refusal == nil, "skipped: needs root or user namespaces: \(refusal ?? "")"))
    func seesTheLifeOfAMount() async throws {
        let scratch = try ScratchDirectory()
        let place = scratch.appending("a b\\c\nd")
        let quoted = "'\(place)'"
        let namespace = try Namespace()
        var observed = await Observed(try MountMonitor(ofProcess: namespace.shell, label: "mounts", queue: queue))

        try namespace.run("mkdir \(quoted)")
        try namespace.run("mount -t tmpfs -o size=64k photos \(quoted)")
        let mounted = try await observed.next()
        #expect(
            mounted.added.map(\.mountPoint) == [BytePath(place)] && mounted.removed.isEmpty && mounted.changed.isEmpty)
        #expect(mounted.added.first?.type == "tmpfs" && mounted.added.first?.source == "photos")
        #expect(mounted.added.first?.isReadOnly == false)

        try namespace.run("mount -o remount,bind,ro \(quoted)")
        let remounted = try await observed.next()
        #expect(remounted.changed.map(\.after.mountPoint) == [BytePath(place)] && remounted.added.isEmpty)
        #expect(
            remounted.changed.first?.after.isReadOnly == true && remounted.changed.first?.before.isReadOnly == false)

        try namespace.run("umount \(quoted)")
        let unmounted = try await observed.next()
        #expect(unmounted.removed.map(\.mountPoint) == [BytePath(place)] && unmounted.added.isEmpty)
        let monitor = observed.monitor
        #expect(queue.sync { monitor.mounts() }.mounts.values.allSatisfy { $0.mountPoint != BytePath(place) })
        await observed.end()
    }

    @Test(
        "A change while the last one is being handled is not missed",
        .enabled(if: refusal == nil, "skipped: needs root or user namespaces: \(refusal ?? "")"))
    func missesNothing() async throws {
        let scratch = try ScratchDirectory()
        let namespace = try Namespace()
        let monitor = try MountMonitor(ofProcess: namespace.shell, label: "mounts", queue: queue)
        // Each is mounted by the handler of the one before: after the table was read, and before the kernel is asked
        // for the next event.
        let left = Locked(5)
        var observed = await Observed(monitor) { _, _ in
            let number = left.withLock { left in
                left -= 1
                return left
            }
            if number >= 0 { try namespace.run("mount -t tmpfs number\(number) \(scratch.path)") }
        }
        // On the queue, so that the handler does not speak to the shell before this has its answer.
        try queue.sync { try namespace.run("mount -t tmpfs first \(scratch.path)") }
        for source in ["first", "number4", "number3", "number2", "number1", "number0"] {
            #expect(try await observed.next().added.map(\.source) == [BytePath(source)])
        }
        await observed.end()
    }

    @Test func knowsTheMountsOfThisProcess() async throws {
        let monitor = try MountMonitor(label: "own", queue: queue)
        let observed = await Observed(monitor)
        let mounts = queue.sync { monitor.mounts() }.mounts.values
        #expect(mounts.contains { $0.mountPoint == "/proc" && $0.type == "proc" })
        await observed.end()
    }

    @Test func processThatIsNotThereIsAnError() {
        let refusal = #expect(throws: SystemCallError.self) {
            try MountMonitor(ofProcess: 1 << 23, label: "nobody", queue: queue)
        }
        #expect(refusal?.code == .noSuchFileOrDirectory)
    }
}
