import Foundation
import Testing

@testable import Top

struct TopHistoryTests {
    @Test func ratesComeFromTwoSamples() throws {
        var history = TopHistory()
        let first = history.add(try Samples.state(delivered: 10, filed: 5, processor: 1), at: 100, load: [])
        #expect(first.monitorRates.isEmpty && first.filedPerMinute == nil && first.processors == nil)
        let second = history.add(
            try Samples.state(second: 2, delivered: 30, filed: 8, processor: 1.5), at: 102, load: [])
        #expect(second.monitorRates == ["0": 0, "1": 10, "2": 20])
        #expect(second.inboxRates == ["card": 3])
        #expect(second.filedPerMinute == 90)
        #expect(second.processors == 0.25)
    }

    @Test func filingRateCoversTheLastMinute() throws {
        var history = TopHistory()
        var last: TopSample?
        for second in 0...120 {
            // Ten a second for a minute, then none.
            let filed = min(second, 60) * 10
            last = history.add(try Samples.state(second: second, filed: filed), at: Double(second), load: [])
            if second == 60 { #expect(last?.filedPerMinute == 600) }
            if second == 90 { #expect(abs((last?.filedPerMinute ?? 0) - 300) < 20) }
        }
        #expect(last?.filedPerMinute == 0)
    }

    @Test func aRestartedDaemonResetsRates() throws {
        var history = TopHistory()
        _ = history.add(try Samples.state(delivered: 100, filed: 9), at: 1, load: [])
        let other = history.add(try Samples.state(pid: 8, delivered: 1, filed: 1), at: 2, load: [])
        #expect(other.monitorRates.isEmpty && other.filedPerMinute == nil)
        let next = history.add(try Samples.state(pid: 8, delivered: 2, filed: 1), at: 3, load: [])
        #expect(next.monitorRates["1"] == 1)
        // A counter that went back is no negative rate, and two answers of one moment have none.
        #expect(history.add(try Samples.state(pid: 8), at: 4, load: []).monitorRates["1"] == 0)
        #expect(history.add(try Samples.state(pid: 8), at: 4, load: []).monitorRates.isEmpty)
    }
}
