import Testing

@testable import SystemMonitor

@Suite("Duration histograms")
struct DurationHistogramTests {
    @Test("Each value is in a step that ends at most an eighth above it")
    func steps() {
        var values: [UInt64] = Array(0...1_000)
        for exponent in 3..<43 {
            values += [1 << exponent, (1 << exponent) - 1, (1 << exponent) + 1, 5 << (exponent - 2)]
        }
        for value in values {
            let index = DurationHistogram.index(of: value)
            let upper = DurationHistogram.upperBound(of: index)
            #expect(upper >= value)
            #expect(upper - value <= value / 8)
            #expect(index == 0 || DurationHistogram.upperBound(of: index - 1) < value)
        }
    }

    @Test("Quantiles match those of the sorted values, to within an eighth")
    func quantiles() throws {
        var histogram = DurationHistogram()
        #expect(histogram.quantile(0.5) == nil)
        for value: UInt64 in 1...10_000 { histogram.add(value * 100) }
        #expect(histogram.minimum == 100)
        #expect(histogram.maximum == 1_000_000)
        let median = try #require(histogram.quantile(0.5))
        let p99 = try #require(histogram.quantile(0.99))
        #expect((500_000...562_500).contains(median))
        #expect((990_000...1_000_000).contains(p99))
        #expect(histogram.quantile(1) == 1_000_000)
    }

    @Test("The shortest and the longest durations are counted")
    func extremes() {
        var histogram = DurationHistogram()
        histogram.add(.max)
        histogram.add(0)
        #expect(histogram.minimum == 0)
        #expect(histogram.maximum == .max)
        #expect(histogram.count == 2)
    }
}

@Suite("Rate limits")
struct RateLimitTests {
    @Test("A rate limit admits a burst in each interval")
    func admits() {
        var limit = RateLimit(interval: 100, burst: 2)
        let answers = [1_000, 1_050, 1_099, 1_100, 1_199, 1_199, 1_200].map { limit.admits(at: $0) }
        #expect(answers == [true, true, false, true, true, false, true])
        #expect(limit.remaining(at: 1_230) == 70)
        #expect(limit.remaining(at: 1_400) == 0)
    }
}
