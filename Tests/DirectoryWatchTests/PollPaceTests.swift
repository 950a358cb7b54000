import Testing

@testable import DirectoryWatch
@testable import WatchCore

@Suite("Polls and audits have adaptive intervals")
struct PollPaceTests {
    private static let second: UInt64 = 1_000_000_000
    private static let bounds = CompareBounds(shortest: .seconds(2), longest: .seconds(60))

    /// Ticks every five seconds; each comparison takes `cost` and finds differences if `finds` is true. Returns the ticks on which
    /// one began.
    private func run(
        _ pace: inout PollPace, ticks: Range<UInt64>, cost: UInt64 = 1_000_000, jitter: Bool = false,
        finds: (UInt64) -> Bool = { _ in false }
    ) -> [UInt64] {
        var begun: [UInt64] = []
        for tick in ticks {
            // As much early as late.
            let now = tick * 5 * Self.second + (jitter && tick % 2 == 0 ? 0 : 40_000_000)
            guard pace.isDue(at: now) else { continue }
            begun.append(tick)
            pace.begin(at: now)
            pace.end(at: now + cost, foundDifferences: finds(tick))
        }
        return begun
    }

    @Test("Without differences each pause is twice the last, up to the bound")
    func quiet() {
        var pace = PollPace(Self.bounds, startingWith: .seconds(2), now: 0)
        let begun1 = run(&pace, ticks: 1..<60)
        #expect(begun1 == [1, 2, 4, 8, 15, 27, 39, 51])
        #expect(pace.interval == 60 * Self.second)
    }

    @Test("While files arrive a poll comes on every tick, and at once again after a pause")
    func busy() {
        var pace = PollPace(Self.bounds, startingWith: .seconds(60), now: 0)
        let begun2 = run(&pace, ticks: 1..<20, finds: { $0 > 10 })
        #expect(begun2 == [12, 13, 14, 15, 16, 17, 18, 19])
        #expect(pace.interval == 2 * Self.second)
    }

    @Test("Ticks that come slightly early count")
    func jitter() {
        var pace = PollPace(
            CompareBounds(shortest: .seconds(5), longest: .seconds(5)), startingWith: .seconds(5), now: 0)
        let begun3 = run(&pace, ticks: 1..<8, jitter: true)
        #expect(begun3 == [1, 2, 3, 4, 5, 6, 7])
    }

    @Test(
        "Polls take at most a fiftieth of the time, whatever they find",
        arguments: [UInt64(10_000_000), 300_000_000, 4 * second])
    func share(cost: UInt64) {
        var pace = PollPace(Self.bounds, startingWith: .seconds(2), now: 0)
        let begun = run(&pace, ticks: 1..<10_000, cost: cost, finds: { _ in true })
        let spent = UInt64(begun.count) * cost
        #expect(spent * 50 <= 10_000 * 5 * Self.second + 50 * cost)
        #expect(begun.count > 100)
    }

    @Test("A server that hung once is soon polled again, and one that always hangs at least every hour")
    func hung() {
        var pace = PollPace(Self.bounds, startingWith: .seconds(2), now: 0)
        pace.begin(at: 0)
        pace.end(at: Self.second / 10, foundDifferences: false)
        pace.begin(at: 10 * Self.second)
        pace.end(at: 3_610 * Self.second, foundDifferences: false)
        #expect(pace.interval == 8 * Self.second)
        pace.begin(at: 4_000 * Self.second)
        pace.end(at: 8_000 * Self.second, foundDifferences: false)
        #expect(pace.interval == PollPace.slowest)
    }

    @Test("No two polls run at once, and a hint shortens the interval")
    func hints() {
        var pace = PollPace(Self.bounds, startingWith: .seconds(60), now: 0)
        #expect(!pace.isDue(at: 30 * Self.second))
        pace.hasten()
        #expect(pace.isDue(at: 30 * Self.second))
        pace.begin(at: 30 * Self.second)
        #expect(!pace.isDue(at: 500 * Self.second))
        pace.abandon()
        #expect(pace.isDue(at: 500 * Self.second))
        // The end of one that has not begun is ignored.
        pace.end(at: 600 * Self.second, foundDifferences: true)
        #expect(pace.ended == nil)
    }

    @Test("An audit comes daily, hourly after one with differences, and daily again after five without")
    func audits() {
        var pace = PollPace(ComparePolicy.audit(every: .seconds(86_400)), startingWith: .seconds(86_400), now: 0)
        #expect(!pace.isDue(at: 80_000 * Self.second))
        var now = 86_400 * Self.second
        var hours: [UInt64] = []
        for number in 0..<8 {
            #expect(pace.isDue(at: now))
            pace.begin(at: now)
            pace.end(at: now + Self.second, foundDifferences: number == 1)
            hours.append(pace.interval / Self.second / 3_600)
            now += pace.interval
        }
        #expect(hours == [24, 1, 2, 4, 8, 16, 24, 24])
    }

    @Test("Exchanged, zero and excessive bounds are accepted")
    func bounds() {
        #expect(CompareBounds(shortest: .seconds(9), longest: .seconds(3)).shortest == .seconds(3))
        var pace = PollPace(CompareBounds(shortest: .zero, longest: .zero), startingWith: .zero, now: 5)
        #expect(pace.isDue(at: 6))
        pace.begin(at: 6)
        pace.end(at: 6, foundDifferences: false)
        #expect(pace.interval == 1)
        let endless = PollPace(
            ComparePolicy.audit(every: .seconds(Int64.max)), startingWith: .seconds(Int64.max), now: 0)
        #expect(!endless.isDue(at: 1 << 60))
    }
}
