import ControlProtocol
import FileValues
import LinuxKernel
import QueueActors
import Reporting
import SystemMonitor
import Testing

@testable import DaemonSupport
@testable import Ingest

@Suite("The problem desk tells each beginning and each end once")
struct ProblemDeskTests {
    private let log = KeptLog()
    private var desk: ProblemDesk { ProblemDesk(log: log.inboxLog) }

    @Test func raisedAndClearedAreToldOnce() {
        let desk = desk
        for _ in 0..<3 { desk.hookFailed("x", reason: "it ended with 1") }
        desk.review()
        #expect(log.lines.filter { $0.hasPrefix("PI-103 ") }.count == 1)
        #expect(desk.rows(now: .now).map(\.what) == ["hook x failed 3 times in a row: it ended with 1"])
        for _ in 0..<3 { desk.hookFailed("x", reason: nil) }
        #expect(log.lines.filter { $0 == "PI-103 is over for x" }.count == 1)
        #expect(desk.rows(now: .now).isEmpty)
        desk.hookFailed("x", reason: "it ended with 2")
        #expect(
            log.lines.filter { $0.contains("failed 1 time in a row: it ended with 2") }.count == 1, "and begins anew")
    }

    @Test func theLibrarysProblemsExcludeEachOther() {
        let desk = desk
        desk.symptom(.library(failure: .full()))
        #expect(desk.rows(now: .now).map(\.code) == ["PI-402"])
        desk.symptom(.library(failure: .readOnly))
        #expect(desk.rows(now: .now).map(\.code) == ["PI-403"])
        desk.symptom(.library(failure: nil))
        #expect(desk.rows(now: .now).isEmpty)
        #expect(log.lines.filter { $0.contains(" is over") } == ["PI-402 is over", "PI-403 is over"])
    }

    @Test("Whoever shows problems is told of each change, and of nothing else")
    func shown() {
        let desk = desk
        let count = Locked(0)
        desk.whenShown { count.withLock { $0 += 1 } }
        for _ in 0..<3 { desk.symptom(.library(failure: .full())) }
        #expect(count.withLock { $0 } == 1)
        for _ in 0..<3 { desk.symptom(.library(failure: nil)) }
        #expect(count.withLock { $0 } == 2)
    }

    @Test("A library that is another directory and then missing is never well in between")
    func oneAfterAnother() {
        let desk = desk
        desk.symptom(.library(failure: .replaced("another directory lies there")))
        #expect(desk.rows(now: .now).map(\.code) == ["PI-406"])
        desk.librarySeen(.missing)
        #expect(desk.rows(now: .now).map(\.code) == ["PI-401"])
        #expect(log.lines.filter { $0.hasPrefix("PI-401 ") }.count == 1)
        desk.librarySeen(nil)
        #expect(desk.rows(now: .now).isEmpty)
    }

    @Test func subjectsAreTheirOwn() {
        let desk = desk
        desk.hookFailed("a", reason: "r")
        desk.hookFailed("b", reason: "r")
        desk.hookFailed("a", reason: nil)
        #expect(desk.rows(now: .now).map(\.subject) == ["b"])
    }

    @Test func aStuckQueueIsToldOnceHoweverLongItLasts() {
        let desk = desk
        let queue = MonitorQueue(label: "test.stuck")
        var snapshot = Subsystem(name: "files of x", queue: queue, isVital: false).snapshot()
        snapshot.step = "syncing"
        snapshot.askedAt = Moment.now
        for seconds in [6.0, 11, 16] {
            desk.silent([snapshot], of: ["files of x", "pipeline"], now: Moment.now.later(by: seconds))
        }
        #expect(log.lines.filter { $0.hasPrefix("PI-105 ") }.count == 1)
        desk.silent([], of: ["files of x", "pipeline"], now: .now)
        #expect(log.lines.last == "PI-105 is over for files of x")
    }

    @Test func whatHealsByItselfSoonIsNotToldAtAll() {
        let desk = desk
        desk.symptom(.inboxUnreadable(inbox: "card", reason: "gone"))
        #expect(desk.rows(now: .now).isEmpty, "shown after five seconds")
        desk.symptom(.inboxUnreadable(inbox: "card", reason: nil))
        #expect(log.lines.isEmpty)
    }
}
