import ControlProtocol
import LinuxKernel
import Testing

@testable import DaemonHost

@Suite("The table of control connections")
struct ConnectionTableTests {
    private let start = ContinuousClock.now
    private let ana = PeerCredentials(process: 1, user: 1_000, group: 1_000)
    private let ben = PeerCredentials(process: 2, user: 1_001, group: 1_001)

    private func bounds(connections: Int = 4, requests: Int = 2) -> ControlServer.Bounds {
        var bounds = ControlServer.Bounds()
        bounds.connections = connections
        bounds.requests = requests
        return bounds
    }

    private let hello = framed(ControlRequest(id: 7, .hello).json())

    @Test("When all are taken, the oldest idle one of the user who has most goes; who is being served stays")
    func eviction() {
        var table = ConnectionTable(bounds())
        let served = table.opened(by: ana, at: start).number
        guard case .work = table.received(hello, on: served ?? 0, at: start) else {
            Issue.record("a whole request is work")
            return
        }
        let bens = table.opened(by: ben, at: start).number
        let anas = (0..<2).map { _ in table.opened(by: ana, at: start).number }
        let next = table.opened(by: ben, at: start)
        #expect(next.victim == anas[0] && next.number != nil)
        table.closed(anas[0] ?? 0)
        // Now ben has two that idle and ana one.
        let last = table.opened(by: ana, at: start)
        #expect(last.victim == bens)
    }

    @Test("Where everybody is being served, the newcomer goes")
    func nobodyToEvict() {
        var table = ConnectionTable(bounds(connections: 2))
        for _ in 0..<2 {
            let number = table.opened(by: ana, at: start).number ?? 0
            guard case .work = table.received(hello, on: number, at: start) else {
                Issue.record("a whole request is work")
                return
            }
        }
        let refused = table.opened(by: ben, at: start)
        #expect(refused.number == nil && refused.victim == nil)
    }

    @Test("A request has its time from its first byte on; byte after byte gains nothing")
    func deadlines() {
        var table = ConnectionTable(bounds())
        let slow = table.opened(by: ana, at: start).number ?? 0
        for second in 1...4 {
            _ = table.received([hello[second - 1]], on: slow, at: start + .seconds(second))
            #expect(table.overdue(at: start + .seconds(second)).isEmpty)
        }
        #expect(table.overdue(at: start + .seconds(5)) == [slow])

        let quick = table.opened(by: ana, at: start).number ?? 0
        _ = table.received(hello, on: quick, at: start)
        // Its request takes as long as it takes.
        #expect(table.overdue(at: start + .seconds(3_600)) == [slow])
        let later = start + .seconds(3_600)
        let isThere = table.worked(quick, at: later)
        #expect(isThere)
        guard case .wait = table.answered(quick, isLast: false, at: later) else {
            Issue.record("nothing more was asked")
            return
        }
        #expect(!table.overdue(at: later + .seconds(29)).contains(quick))
        #expect(table.overdue(at: later + .seconds(30)).contains(quick))
        _ = table.received([0], on: quick, at: later + .seconds(10))
        #expect(table.overdue(at: later + .seconds(15)).contains(quick))
        table.answering(quick, isLast: false, at: later)
        #expect(table.overdue(at: later + .seconds(10)).contains(quick))
    }

    @Test("More requests than are carried out at once are told so, also when their connections have gone")
    func busy() {
        var table = ConnectionTable(bounds())
        for _ in 0..<2 {
            let number = table.opened(by: ana, at: start).number ?? 0
            _ = table.received(hello, on: number, at: start)
            table.closed(number)
        }
        let third = table.opened(by: ana, at: start).number ?? 0
        guard case .busy(let answer) = table.received(hello, on: third, at: start) else {
            Issue.record("both are still in work")
            return
        }
        #expect(answer.status == 75 && answer.id == 7)
        let isThere = table.worked(1, at: start)
        #expect(!isThere)
        guard case .work = table.received(hello, on: third, at: start) else {
            Issue.record("one has ended")
            return
        }
    }

    @Test("What was sent before half an end is answered first")
    func halfEnd() {
        var table = ConnectionTable(bounds())
        let number = table.opened(by: ana, at: start).number ?? 0
        guard case .work = table.received(hello + hello, on: number, at: start),
            case .wait = table.finished(number), table.worked(number, at: start),
            case .work = table.answered(number, isLast: false, at: start), table.worked(number, at: start),
            case .end = table.answered(number, isLast: false, at: start)
        else {
            Issue.record("two answers, then the end")
            return
        }
    }

    @Test func whatIsNoRequestIsToldAndEnded() {
        var table = ConnectionTable(bounds())
        let number = table.opened(by: ana, at: start).number ?? 0
        guard case .refuse(let answer) = table.received(framed([1, 2, 3]), on: number, at: start),
            case .end = table.answered(number, isLast: true, at: start)
        else {
            Issue.record("refused and ended")
            return
        }
        #expect(answer.status == 64)
    }
}
