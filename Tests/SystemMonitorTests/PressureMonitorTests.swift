import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Pressure monitors", .tags(.alone), .timeLimit(.minutes(60)))
struct PressureMonitorTests {
    private let queue = MonitorQueue(label: "test.pressure")

    /// Why triggers cannot be set on this machine; nil if they can.
    private static let refusal: String? = {
        do throws(SystemCallError) {
            let file: BytePath = "/proc/pressure/cpu"
            let descriptor = try descriptorCall("open", path: file) { open("/proc/pressure/cpu", O_RDWR | O_CLOEXEC) }
            let raw = descriptor.raw
            try systemCall("write", path: file) { write(raw, "some 1000000 2000000\0", 21) }
            return nil
        } catch {
            return "\(error)"
        }
    }()

    @Test(
        "A trigger can be set and ended for each resource",
        .enabled(if: refusal == nil, "skipped: needs pressure triggers: \(refusal ?? "")"),
        arguments: PressureMonitor.Resource.allCases)
    func setUp(resource: PressureMonitor.Resource) async throws {
        let monitor = try PressureMonitor(
            resource, threshold: .seconds(2), label: resource.rawValue, queue: queue)
        let observed = await Observed(monitor)
        #expect(monitor.describe().state == .active && monitor.describe().errors == 0)
        await observed.end()
    }

    /// More busy programs than processors, so that some always wait.
    @Test(
        "A trigger fires when processors are scarce",
        .enabled(if: refusal == nil, "skipped: needs pressure triggers: \(refusal ?? "")"))
    func fires() async throws {
        var observed = await Observed(
            try PressureMonitor(.cpu, threshold: .milliseconds(20), label: "cpu", queue: queue))
        let burners = try Burners()
        defer { burners.stop() }
        let first = try await observed.next()
        let second = try await observed.next()
        #expect(second.some.total - first.some.total >= .milliseconds(20))
        await observed.end()
    }

    /// When a trigger fires while nothing waits for it. It may be polled only once: an event that is reported to a
    /// second poller, such as epoll, is lost, and no other event follows.
    enum Moment: CaseIterable { case beforeActivation, whileHandled, whileSuspended }

    @Test(
        "A firing while nothing waits is reported afterwards",
        .enabled(if: ControlGroup.canBeMade, "skipped: needs root, cgroup2 and its pressure files"),
        arguments: Moment.allCases)
    func missesNothing(moment: Moment) async throws {
        let group = try ControlGroup()
        let monitor = try PressureMonitor(
            .cpu, threshold: .milliseconds(20), at: group.pressure, label: "cpu", queue: queue)
        let burners = try Burners(in: group)
        defer { burners.stop() }
        // Another trigger fires twice, so the monitor's fires at least once; then the group is idle.
        let pass: @Sendable () throws -> Void = {
            let witness = try group.trigger()
            defer { close(witness) }
            for _ in 0..<2 where try !Self.fires(witness, within: 30) { throw SystemCallError("poll", .timedOut) }
            burners.stop()
            // Recent waiting may make it fire once more; after two silent windows it does not.
            while try Self.fires(witness, within: 4) {}
        }
        if moment == .beforeActivation { try await aside(pass) }
        let isFirst = Locked(true)
        var observed = await Observed(monitor) { _, _ in
            let first = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            if moment == .whileHandled, first { try pass() }
        }
        _ = try await observed.next()
        switch moment {
        case .beforeActivation: break
        case .whileHandled: _ = try await observed.next()
        case .whileSuspended:
            queue.sync { monitor.suspend() }
            try await aside(pass)
            queue.sync { monitor.resume() }
            _ = try await observed.next()
        }
        await observed.end()
    }

    private static func fires(_ trigger: Int32, within seconds: Int32) throws -> Bool {
        var question = pollfd(fd: trigger, events: Int16(POLLPRI), revents: 0)
        return try systemCall("poll") { poll(&question, 1, seconds * 1_000) } == 1
    }

    @Test("A missing file and one that is not a pressure file are refused")
    func notAPressureFile() throws {
        let scratch = try ScratchDirectory()
        let absent = #expect(throws: SystemCallError.self) {
            try PressureMonitor(
                .memory, threshold: .milliseconds(100), at: BytePath(scratch.appending("memory.pressure")),
                label: "absent", queue: queue)
        }
        #expect(absent?.call == "open" && absent?.code == .noSuchFileOrDirectory)
    }

    @Test(
        "An impossible trigger is refused",
        .enabled(if: refusal == nil, "skipped: needs pressure triggers: \(refusal ?? "")"))
    func impossibleTrigger() {
        let refusal = #expect(throws: SystemCallError.self) {
            try PressureMonitor(.memory, threshold: .seconds(3), window: .seconds(2), label: "more", queue: queue)
        }
        #expect(refusal?.call == "write" && refusal?.code == .invalidArgument)
    }
}

/// More busy programs than processors, until they are stopped.
private final class Burners: Sendable {
    private let running = Locked<[Int32]>([])

    init(in group: ControlGroup? = nil) throws {
        let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        for _ in 0..<(processors * 3) {
            let burner = try ChildProcess.spawn("/bin/sh", ["-c", "while :; do :; done"]).identifier
            running.withLock { $0.append(burner) }
            try group?.take(burner)
        }
    }

    func stop() {
        let burners = running.withLock { running in
            defer { running = [] }
            return running
        }
        for burner in burners {
            kill(burner, SIGKILL)
            var status: Int32 = 0
            waitpid(burner, &status, 0)
        }
    }
}

/// A control group, whose pressure comes from the test's own programs only: other load of the machine would make up
/// for a lost event.
private final class ControlGroup: Sendable {
    static let canBeMade: Bool = {
        do {
            let group = try ControlGroup()
            return try descriptorCall("open") { open("\(group.pressure)", O_RDWR | O_CLOEXEC) }.raw >= 0
        } catch {
            return false
        }
    }()

    private let path: String

    init() throws {
        let top = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].first { access("\($0)/cgroup.procs", W_OK) == 0 }
        guard let top else { throw Errno.noSuchFileOrDirectory }
        path = "\(top)/photo-inbox-test.\(getpid()).\(UInt32.random(in: 0 ... .max))"
        try systemCall("mkdir") { mkdir(path, 0o755) }
    }

    deinit { rmdir(path) }

    var pressure: BytePath { BytePath("\(path)/cpu.pressure") }

    func take(_ process: Int32) throws {
        let file = try descriptorCall("open") { open("\(path)/cgroup.procs", O_WRONLY | O_CLOEXEC) }
        try send("\(process)\n", to: file.raw)
    }

    /// Another trigger for the same group.
    func trigger() throws -> Int32 {
        let trigger = try descriptorCall("open") { open("\(pressure)", O_RDWR | O_NONBLOCK | O_CLOEXEC) }
        let raw = trigger.raw
        try systemCall("write") { write(raw, "some 20000 2000000\0", 19) }
        return trigger.take()
    }
}
