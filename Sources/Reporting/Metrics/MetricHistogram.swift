/// A histogram of a quantity, and its sum.
package struct MetricHistogram: Hashable, Sendable {
    /// The inclusive upper bounds, in ascending order; the last bucket has none.
    package let bounds: [Double]
    /// The counts of single buckets; one more than bounds.
    package private(set) var counts: [Int]
    package private(set) var sum = 0.0

    /// An empty histogram with the bounds of the table; `metric` must be a histogram.
    package init(_ metric: Metric) {
        guard case .histogram(let bounds) = metric.row.kind else {
            preconditionFailure("\(metric.rawValue) is not a histogram")
        }
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package mutating func add(_ value: Double) {
        counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
        sum += value
    }
}
