import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("The events of a burst are gathered, single events are not")
struct PacerTests {
    @Test func lowRate() {
        var pacer = Pacer()
        for turn: UInt64 in 1...100 {
            let gathers = pacer.shouldGather(records: 2, now: turn * (Pacer.batch + 1))
            #expect(!gathers)
        }
    }

    @Test func burst() {
        var pacer = Pacer()
        // Records within the length of a batch add up; a batch with few of them ends the burst.
        let turns: [(records: Int, microseconds: UInt64)] = [
            (16, 10_000), (2, 10_100), (20, 10_200), (400, 15_000), (2, 20_000),
        ]
        let gathers = turns.map { pacer.shouldGather(records: $0.records, now: $0.microseconds * 1_000) }
        #expect(gathers == [false, false, true, true, false])
    }
}
