import Testing

@testable import WebServing

@Suite("Connections of a server")
struct ConnectionTableTests {
    let start = ContinuousClock.now
    var limits: WebLimits {
        var limits = WebLimits()
        limits.connections = 3
        limits.idle = .seconds(60)
        return limits
    }

    @Test("Each step has its deadline")
    func deadlines() {
        var table = ConnectionTable<Int>(limits, at: start)
        _ = table.opened(1, at: start)
        let steps: [(ConnectionTable<Int>.Phase, Duration?)] = [
            (.awaitingFirst, limits.head), (.awaitingNext, limits.keepAlive), (.receivingBody, limits.body),
            (.sending, limits.piece), (.working, nil),
        ]
        for (phase, time) in steps {
            table.entered(phase, 1, at: start)
            guard let time else {
                #expect(table.overdue(at: start + .seconds(1_000_000)) == [])
                continue
            }
            #expect(table.overdue(at: start + time - .milliseconds(1)) == [])
            #expect(table.overdue(at: start + time) == [1])
        }
        table.closed(1, at: start)
        table.entered(.sending, 1, at: start)
        #expect(table.count == 0 && table.overdue(at: start + .seconds(100)) == [])
    }

    @Test("Of a full house, whose request has been waited for longest goes, half a one or none; who is served stays")
    func fullHouse() {
        var table = ConnectionTable<Int>(limits, at: start)
        func open(_ number: Int, _ seconds: Int) -> [Int?] {
            let (isAccepted, victim) = table.opened(number, at: start + .seconds(seconds))
            return [isAccepted ? number : nil, victim]
        }
        let first = (1...3).map { open($0, $0) }
        #expect(first == [[1, nil], [2, nil], [3, nil]])
        table.entered(.working, 1, at: start)
        table.entered(.awaitingNext, 2, at: start + .seconds(4))
        // Deadlines decide nothing: the second has 30 s from its answer on, the fourth 5 s.
        let next = [open(4, 5), open(5, 6)]
        #expect(next == [[4, 3], [5, 2]])
        table.entered(.receivingBody, 4, at: start + .seconds(6))
        table.entered(.awaitingNext, 5, at: start + .seconds(7))
        let half = open(6, 8)
        #expect(half == [6, 4])
        table.entered(.sending, 5, at: start)
        table.entered(.sending, 6, at: start)
        let last = open(7, 9)
        #expect(last == [nil, nil])
        #expect(table.count == 3)
    }

    @Test("Of bodies that are read as they come, the one that has been waited for longest in all loses its place")
    func pieces() {
        var table = ConnectionTable<Int>(limits, at: start)
        for number in 1...3 { _ = table.opened(number, at: start) }
        // The first has sent nothing for 20 s; the others a byte a second, and enough.
        table.entered(.receivingPiece(limits.stall), 1, at: start)
        table.entered(.receivingPiece(limits.stall - .seconds(25)), 2, at: start + .seconds(20))
        table.entered(.receivingPiece(limits.stall), 3, at: start + .seconds(20))
        let victims = [4, 5].map { table.opened($0, at: start + .seconds(20)).victim }
        #expect(victims == [2, 1])
        #expect(table.overdue(at: start + .seconds(50)).contains(3))
    }

    @Test("It is idle when nobody has been there for the limit")
    func idle() {
        var table = ConnectionTable<Int>(limits, at: start)
        #expect(!table.isIdle(at: start + .seconds(59)))
        #expect(table.isIdle(at: start + .seconds(60)))
        _ = table.opened(1, at: start + .seconds(60))
        #expect(!table.isIdle(at: start + .seconds(600)))
        table.closed(1, at: start + .seconds(600))
        table.closed(1, at: start + .seconds(640))
        #expect(!table.isIdle(at: start + .seconds(659)))
        table.inWork = 1
        #expect(!table.isIdle(at: start + .seconds(660)), "a handler has a request yet")
        table.inWork = 0
        #expect(table.isIdle(at: start + .seconds(660)))
        #expect(!ConnectionTable<Int>(WebLimits(), at: start).isIdle(at: start + .seconds(1_000_000)))
    }
}
