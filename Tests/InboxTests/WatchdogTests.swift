import ControlProtocol
import LinuxKernel
import Testing

@testable import DaemonHost
@testable import DaemonSupport

@Suite("The ping waits for a watch that hears nothing")
struct WatchdogTests {
    @Test(
        "An event that was asked for on the last tick is overdue on this one",
        arguments: [
            (nil, 5.0, nil), (0.1, 5.0, nil), (2.4, 5.0, nil), (2.6, 5.0, 2.6), (60.0, 5.0, 60.0),
            // Where the service manager is in a hurry a second is left all the same.
            (0.9, 0.2, nil), (1.1, 0.2, 1.1),
        ] as [(Double?, Double, Double?)])
    func deafness(silence: Double?, interval: Double, expected: Double?) {
        let found = Watchdog.deafness(
            silence: silence.map { UInt64($0 * 1e9) }, interval: .milliseconds(Int64(interval * 1e3)))
        #expect(found.map { ($0 * 10).rounded() / 10 } == expected)
    }

    @Test("It is one row of the problem table, told once, and over when an event comes")
    func row() {
        let log = KeptLog()
        let reporter = ProblemReporter(log: log.daemonLog)
        let problems = WatchProblems(reporter: reporter)
        for seconds in [2.6, 7.6, 12.6] { problems.deaf(seconds: seconds) }
        #expect(reporter.rows(now: .now).map(\.code) == ["PI-107"])
        #expect(log.lines.filter { $0.hasPrefix("PI-107 ") }.count == 1)
        problems.deaf(seconds: nil)
        #expect(reporter.rows(now: .now).isEmpty)
    }
}

@Suite("A program at rest")
struct RestDetectorTests {
    @Test("A rest begins once, after six ticks without work, and anew after work")
    func rests() {
        var rest = RestDetector()
        var time: UInt64 = 0
        func tick(_ milliseconds: UInt64) -> Bool {
            time += milliseconds * 1_000_000
            return rest.hasBegun(processorTime: time)
        }
        #expect(!tick(800))
        #expect((0..<20).map { _ in tick(3) } == (1...20).map { $0 == 6 })
        #expect(!tick(51))
        #expect((0..<5).allSatisfy { _ in !tick(50) } && !tick(51))
        #expect((0..<6).map { _ in tick(0) } == [false, false, false, false, false, true])
    }
}
