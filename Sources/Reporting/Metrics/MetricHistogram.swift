/// How often a quantity lay below each bound, and their sum.
package struct MetricHistogram: Hashable, Sendable {
    /// The upper bounds, included, in ascending order; the last bucket has none.
    package let bounds: [Double]
    /// For each bucket by itself; one more than bounds.
    package private(set) var counts: [Int]
    package private(set) var sum = 0.0

    /// An empty one with the bounds of the table; `metric` is a histogram.
    package init(_ metric: Metric) {
        guard case .histogram(let bounds) = metric.row.kind else {
            preconditionFailure("\(metric.rawValue) is no histogram")
        }
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package mutating func add(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }
}
