import FileValues
import Glibc
import LinuxKernel
import SystemPackage
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Pressure monitors hear of scarcity", .timeLimit(.minutes(2)))
struct PressureMonitorTests {
    private let queue = MonitorQueue(label: "test.pressure")

    /// Why triggers cannot be set here; nil if they can.
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
        .enabled(if: refusal == nil, "skipped: needs pressure triggers: \(refusal ?? "")"),
        arguments: PressureMonitor.Resource.allCases)
    func armsAndEnds(resource: PressureMonitor.Resource) async throws {
        let monitor = try PressureMonitor(
            resource, threshold: .seconds(2), label: resource.rawValue, queue: queue)
        let observed = await Observed(monitor)
        #expect(monitor.describe().state == .active && monitor.describe().errors == 0)
        await observed.end()
    }

    /// More busy programs than processors: some always wait for one.
    @Test(.enabled(if: refusal == nil, "skipped: needs pressure triggers: \(refusal ?? "")"))
    func firesWhenProcessorsAreScarce() async throws {
        var observed = await Observed(
            try PressureMonitor(.cpu, threshold: .milliseconds(20), label: "cpu", queue: queue))
        let processors = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        var burners: [Int32] = []
        for _ in 0..<(processors * 3) {
            burners.append(try ChildProcess.spawn("/bin/sh", ["-c", "while :; do :; done"]).identifier)
        }
        defer {
            for burner in burners {
                kill(burner, SIGKILL)
                var status: Int32 = 0
                waitpid(burner, &status, 0)
            }
        }
        let first = try await observed.next()
        let second = try await observed.next()
        #expect(second.some.total - first.some.total >= .milliseconds(20))
        await observed.end()
    }

    @Test func whatIsNoPressureFileIsRefused() throws {
        let scratch = try ScratchDirectory()
        let absent = #expect(throws: SystemCallError.self) {
            try PressureMonitor(
                .memory, threshold: .milliseconds(100), at: BytePath(scratch.appending("memory.pressure")),
                label: "absent", queue: queue)
        }
        #expect(absent?.call == "open" && absent?.code == .noSuchFileOrDirectory)
    }

    @Test(.enabled(if: refusal == nil, "skipped: needs pressure triggers: \(refusal ?? "")"))
    func impossibleTriggerIsRefused() {
        let refusal = #expect(throws: SystemCallError.self) {
            try PressureMonitor(.memory, threshold: .seconds(3), window: .seconds(2), label: "more", queue: queue)
        }
        #expect(refusal?.call == "write" && refusal?.code == .invalidArgument)
    }
}
