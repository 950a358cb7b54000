/// Metrics as text: OpenMetrics 1.0, or the text format of Prometheus (0.0.4), which the textfile collector of
/// node_exporter reads. The two differ in how a counter's family is named, and in units and the end.
///
/// A value without I/O. Label values are escaped; all else is from the table.
package struct MetricsText: Sendable {
    package enum Dialect: Hashable, Sendable {
        case openMetrics, prometheus
    }

    private let dialect: Dialect
    private var text = ""
    private var added: Set<Metric> = []

    package init(_ dialect: Dialect) { self.dialect = dialect }

    /// A counter or gauge without labels.
    package mutating func add(_ metric: Metric, _ value: Double) { add(metric, [([], value)]) }

    /// All samples of a counter or gauge: label values in the order of the table's labels, and the value. A metric is
    /// added once, since its lines must be together.
    package mutating func add(_ metric: Metric, _ samples: [(labels: [String], value: Double)]) {
        begin(metric)
        let names = metric.row.labels
        for (values, value) in samples { line(metric.sampleName, names, values, value) }
    }

    package mutating func add(_ metric: Metric, histograms: [(labels: [String], value: MetricHistogram)]) {
        begin(metric)
        let names = metric.row.labels
        for (values, histogram) in histograms {
            var total = 0
            for (bound, count) in zip(histogram.bounds + [.infinity], histogram.counts) {
                total += count
                let bound = bound.isInfinite ? "+Inf" : "\(bound)"
                line(metric.rawValue + "_bucket", names + ["le"], values + [bound], Double(total))
            }
            line(metric.rawValue + "_sum", names, values, histogram.sum)
            line(metric.rawValue + "_count", names, values, Double(total))
        }
    }

    package func finished() -> String { dialect == .openMetrics ? text + "# EOF\n" : text }

    private mutating func begin(_ metric: Metric) {
        precondition(added.insert(metric).inserted, "\(metric.rawValue) was added already")
        let row = metric.row
        let family = dialect == .openMetrics ? metric.rawValue : metric.sampleName
        text += "# TYPE \(family) \(row.kind.word)\n"
        if dialect == .openMetrics, let unit = metric.unit { text += "# UNIT \(family) \(unit)\n" }
        text += "# HELP \(family) \(row.help).\n"
    }

    private mutating func line(_ name: String, _ labels: [String], _ values: [String], _ value: Double) {
        precondition(labels.count == values.count, "\(name) has the labels \(labels)")
        text += name
        if !labels.isEmpty {
            let pairs = zip(labels, values).map { "\($0)=\"\(Self.escaped($1))\"" }
            text += "{\(pairs.joined(separator: ","))}"
        }
        text += " \(Self.number(value))\n"
    }

    /// Escapes backslash, quotation mark and line feed, as in both formats.
    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
    }
}

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
