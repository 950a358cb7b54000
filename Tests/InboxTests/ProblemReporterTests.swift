import ControlProtocol
import FileValues
import LinuxKernel
import QueueActors
import Reporting
import SystemMonitor
import Testing

@testable import DaemonHost
@testable import DaemonSupport
@testable import Ingest

@Suite("Each beginning and each end of a problem is logged once")
struct ProblemReporterTests {
    private let log = KeptLog()
    private var reporter: ProblemReporter { ProblemReporter(log: log.daemonLog) }
    private var storage: StorageProblems { StorageProblems(reporter) }

    private func failed(_ name: String, times: Int, _ reason: String) -> [ProblemParameter: ProblemValue] {
        [.name: .text(name), .count: .count(times), .reason: .text(reason)]
    }

    @Test func raisedAndClearedAreLoggedOnce() {
        let reporter = reporter
        for times in 1...3 { reporter.set(.hookFailing, subject: "x", failed("x", times: times, "it ended with 1")) }
        reporter.review()
        #expect(log.lines.filter { $0.hasPrefix("PI-103 ") }.count == 1)
        #expect(reporter.rows(now: .now).map(\.what) == ["hook x failed 3 times in a row: it ended with 1"])
        for _ in 0..<3 { reporter.set(.hookFailing, subject: "x", nil) }
        #expect(log.lines.filter { $0 == "PI-103 is over for x" }.count == 1)
        #expect(reporter.rows(now: .now).isEmpty)
        reporter.set(.hookFailing, subject: "x", failed("x", times: 1, "it ended with 2"))
        #expect(
            log.lines.filter { $0.contains("failed 1 time in a row: it ended with 2") }.count == 1, "and begins anew")
    }

    @Test func theLibrarysProblemsExcludeEachOther() {
        let storage = storage
        storage.symptom(.library(failure: .full()))
        #expect(storage.reporter.rows(now: .now).map(\.code) == ["PI-402"])
        storage.symptom(.library(failure: .readOnly))
        #expect(storage.reporter.rows(now: .now).map(\.code) == ["PI-403"])
        storage.symptom(.library(failure: nil))
        #expect(storage.reporter.rows(now: .now).isEmpty)
        #expect(log.lines.filter { $0.contains(" is over") } == ["PI-402 is over", "PI-403 is over"])
    }

    @Test("Whoever shows problems is told of each change, and of nothing else")
    func shown() {
        let storage = storage
        let count = Locked(0)
        storage.reporter.whenShown { count.withLock { $0 += 1 } }
        for _ in 0..<3 { storage.symptom(.library(failure: .full())) }
        #expect(count.withLock { $0 } == 1)
        for _ in 0..<3 { storage.symptom(.library(failure: nil)) }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("A library that is another directory and then missing is never well in between")
    func oneAfterAnother() {
        let storage = storage
        storage.symptom(.library(failure: .replaced("another directory lies there")))
        #expect(storage.reporter.rows(now: .now).map(\.code) == ["PI-406"])
        storage.librarySeen(.missing)
        #expect(storage.reporter.rows(now: .now).map(\.code) == ["PI-401"])
        #expect(log.lines.filter { $0.hasPrefix("PI-401 ") }.count == 1)
        storage.librarySeen(nil)
        #expect(storage.reporter.rows(now: .now).isEmpty)
    }

    @Test func subjectsAreTheirOwn() {
        let reporter = reporter
        for name in ["a", "b"] { reporter.set(.hookFailing, subject: name, failed(name, times: 1, "r")) }
        reporter.set(.hookFailing, subject: "a", nil)
        #expect(reporter.rows(now: .now).map(\.subject) == ["b"])
    }

    @Test func aStuckQueueIsToldOnceHoweverLongItLasts() {
        let reporter = reporter
        let queue = MonitorQueue(label: "test.stuck")
        var snapshot = Subsystem(name: "files of x", queue: queue, isVital: false).snapshot()
        snapshot.step = "syncing"
        snapshot.askedAt = Moment.now
        for seconds in [6.0, 11, 16] {
            reporter.silent([snapshot], of: ["files of x", "pipeline"], now: Moment.now.later(by: seconds))
        }
        #expect(log.lines.filter { $0.hasPrefix("PI-105 ") }.count == 1)
        reporter.silent([], of: ["files of x", "pipeline"], now: .now)
        #expect(log.lines.last == "PI-105 is over for x")
    }

    @Test("A hung inbox hides that its files' queue is stuck, and no other inbox's")
    func hungInbox() {
        let reporter = reporter
        let queue = MonitorQueue(label: "test.hung")
        let names = ["scan of x", "files of x", "files of y"]
        let stuck = names.map { name in
            var snapshot = Subsystem(name: name, queue: queue, isVital: false).snapshot()
            (snapshot.step, snapshot.askedAt) = ("reading", Moment.now)
            return snapshot
        }
        reporter.silent(stuck, of: names, now: Moment.now.later(by: 6))
        let rows = reporter.rows(now: Moment.now.later(by: 6))
        let shown = rows.filter { $0.hiddenBy == nil }.map { "\($0.code) \($0.subject ?? "")" }
        #expect(shown == ["PI-105 y", "PI-206 x"])
        #expect(rows.filter { $0.hiddenBy == "PI-206" }.map { "\($0.code) \($0.subject ?? "")" } == ["PI-105 x"])
    }

    @Test func whatHealsByItselfSoonIsNotToldAtAll() {
        let storage = storage
        storage.symptom(.inboxUnreadable(inbox: "card", reason: "gone"))
        #expect(storage.reporter.rows(now: .now).isEmpty, "shown after five seconds")
        storage.symptom(.inboxUnreadable(inbox: "card", reason: nil))
        #expect(log.lines.isEmpty)
    }
}
