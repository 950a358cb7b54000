import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Child process monitors", .timeLimit(.minutes(60)))
struct ChildProcessMonitorTests {
    private let queue = MonitorQueue(label: "test.child")

    @Test(
        "The end of a child is reported once, and the child reaped",
        arguments: [
            ("exit 0", ProcessExit.exited(status: 0)), ("exit 3", .exited(status: 3)),
            ("exit 255", .exited(status: 255)),
            ("kill -KILL $$", .killed(signal: 9, dumpedCore: false)),
            ("kill -TERM $$", .killed(signal: 15, dumpedCore: false)),
            ("kill -PIPE $$", .killed(signal: 13, dumpedCore: false)),
        ])
    func exits(script: String, expected: ProcessExit) async throws {
        let child = try ChildProcess.spawn("/bin/sh", ["-c", BytePath(script)])
        let identifier = child.identifier
        var observed = await Observed(try ChildProcessMonitor(child, label: script, queue: queue))
        #expect(try await observed.next() == expected)
        // Reaped: its number is free.
        #expect(kill(identifier, 0) == -1 && errno == ESRCH)
        // Its descriptor stays readable, but no further event follows while others are reported.
        for _ in 0..<3 {
            let other = try ChildProcess.spawn("/bin/true")
            var next = await Observed(try ChildProcessMonitor(other, label: "other", queue: queue))
            #expect(try await next.next() == .exited(status: 0))
            await next.end()
        }
        #expect(observed.monitor.describe().delivered == 1 && observed.monitor.describe().errors == 0)
        await observed.end()
    }

    @Test("A child that ended before set up is reported")
    func endedBeforeSetUp() async throws {
        let child = try ChildProcess.spawn("/bin/true")
        // Until it is a zombie.
        var ended = pollfd(fd: child.descriptor.raw, events: Int16(POLLIN), revents: 0)
        try systemCall("poll") { poll(&ended, 1, -1) }
        var observed = await Observed(
            try ChildProcessMonitor(processIdentifier: child.identifier, label: "ended", queue: queue))
        #expect(try await observed.next() == .exited(status: 0))
        await observed.end()
    }

    @Test("A signal reaches the child until it is reaped")
    func signals() async throws {
        let child = try ChildProcess.spawn("/bin/sleep", ["1000"])
        var observed = await Observed(try ChildProcessMonitor(child, label: "sleep", queue: queue))
        let monitor = observed.monitor
        #expect(try queue.sync { try monitor.send(signal: SIGTERM) })
        #expect(try await observed.next() == .killed(signal: SIGTERM, dumpedCore: false))
        #expect(try queue.sync { try monitor.send(signal: SIGTERM) } == false)
        await observed.end()
    }

    @Test("A group can be signalled until its leader is reaped, and is killed with it")
    func groups() async throws {
        let ends = try OutputPipe().take()
        let reading = OwnedDescriptor(taking: ends.reading)
        let writing = OwnedDescriptor(taking: ends.writing)
        try systemCall("fcntl") { fcntl(reading.raw, F_SETFL, 0) }
        // Its child ignores TERM and holds the pipe open until it ends.
        let child = try ChildProcess.spawn(
            "/bin/sh", ["-c", "(trap '' TERM; echo; while :; do sleep 1000; done) & wait"],
            output: .descriptor(writing.raw))
        try writing.close()
        var observed = await Observed(try ChildProcessMonitor(child, endsGroup: true, label: "group", queue: queue))
        let monitor = observed.monitor
        var byte: UInt8 = 0
        #expect(read(reading.raw, &byte, 1) == 1)
        #expect(queue.sync { monitor.sendToGroup(signal: SIGTERM) })
        #expect(try await observed.next() == .killed(signal: SIGTERM, dumpedCore: false))
        #expect(queue.sync { monitor.sendToGroup(signal: SIGTERM) } == false)
        #expect(read(reading.raw, &byte, 1) == 0, "no process of the group is left")
        await observed.end()
    }

    @Test("Each of many children is reported once")
    func manyChildren() async throws {
        var all: [(identifier: Int32, status: Int32, monitor: ChildProcessMonitor)] = []
        let (ends, continuation) = AsyncStream<(Int32, ProcessExit)>.makeStream()
        for status in Int32(0)..<100 {
            let child = try ChildProcess.spawn("/bin/sh", ["-c", BytePath("exit \(status)")])
            let identifier = child.identifier
            let monitor = try ChildProcessMonitor(child, label: "\(status)", queue: queue)
            all.append((identifier, status, monitor))
            queue.async {
                monitor.setEventHandler { exit in
                    monitor.invalidate { continuation.yield((identifier, exit)) }
                }
                monitor.activate()
            }
        }
        var found: [Int32: ProcessExit] = [:]
        for await (identifier, exit) in ends {
            #expect(found.updateValue(exit, forKey: identifier) == nil)
            if found.count == all.count { break }
        }
        for (identifier, status, monitor) in all {
            #expect(found[identifier] == .exited(status: status) && monitor.describe().state == .invalidated)
        }
    }

    @Test("Processes that are not children are refused")
    func notChildren() throws {
        let refusal = #expect(throws: SystemCallError.self) {
            try ChildProcessMonitor(processIdentifier: getppid(), label: "parent", queue: queue)
        }
        #expect(refusal?.call == "waitid" && refusal?.code == .noChildProcess)
        let nobody = #expect(throws: SystemCallError.self) {
            // Above the largest process number of Linux.
            try ChildProcessMonitor(processIdentifier: 1 << 23, label: "nobody", queue: queue)
        }
        #expect(nobody?.call == "pidfd_open")
    }

    @Test("A child that is reaped elsewhere disables the monitor")
    func reapedElsewhere() async throws {
        let ends = try makePipe()
        defer { for end in [ends.reading, ends.writing] { close(end) } }
        let child = try ChildProcess.spawn("/bin/cat", input: .descriptor(ends.reading))
        let identifier = child.identifier
        let observed = await Observed(try ChildProcessMonitor(child, label: "stolen", queue: queue))
        let monitor = observed.monitor
        // On the monitor's queue, so that the monitor cannot run in between.
        queue.sync {
            kill(identifier, SIGKILL)
            var status: Int32 = 0
            while waitpid(identifier, &status, 0) == -1, errno == EINTR {}
        }
        try await poll({ monitor.describe().state }, until: { $0 == .disabled })
        #expect(monitor.describe().errors == 1 && monitor.describe().delivered == 0)
        await observed.end()
    }
}
