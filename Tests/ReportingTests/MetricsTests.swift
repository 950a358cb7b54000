import TestSupport
import Testing

@testable import Reporting

@Suite("Metrics as text")
struct MetricsTests {
    private static func whole(_ dialect: MetricsText.Dialect, label: String) -> String {
        var text = MetricsText(dialect)
        for metric in Metric.allCases {
            let labels = metric.row.labels.map { _ in label }
            guard case .histogram = metric.row.kind else {
                text.add(metric, [(labels, 1.5)])
                continue
            }
            var histogram = MetricHistogram(metric)
            for value in [0, 1, 1.001, 1e12] { histogram.add(value) }
            text.add(metric, histograms: [(labels, histogram)])
        }
        return text.finished()
    }

    @Test("Every metric of the table is valid in both formats", arguments: [true, false])
    func table(isOpenMetrics: Bool) throws {
        let text = Self.whole(isOpenMetrics ? .openMetrics : .prometheus, label: "a\\b\"c\nd é")
        let metrics = try MetricsReader(text, isOpenMetrics: isOpenMetrics)
        #expect(metrics.families.count == Metric.allCases.count)
        #expect(metrics.value("photoinbox_paused", ["inbox": "a\\b\"c\nd é"]) == 1.5)
        #expect(text.contains("a\\\\b\\\"c\\nd é"))
    }

    @Test("A bound belongs to its bucket, and buckets add up")
    func histogram() throws {
        let metrics = try MetricsReader(Self.whole(.openMetrics, label: "card"))
        let name = "photoinbox_filing_delay_seconds"
        #expect(metrics.value(name + "_bucket", ["inbox": "card", "le": "1.0"]) == 2)
        #expect(metrics.value(name + "_bucket", ["inbox": "card", "le": "5.0"]) == 3)
        #expect(metrics.value(name + "_bucket", ["inbox": "card", "le": "+Inf"]) == 4)
        #expect(metrics.value(name + "_sum", ["inbox": "card"]) == 1e12 + 2.001)
    }

    @Test("Names and help are fit for people and machines", arguments: Metric.allCases)
    func rows(metric: Metric) {
        #expect(metric.rawValue.hasPrefix("photoinbox_") && !metric.rawValue.hasSuffix("_total"))
        #expect(!metric.row.help.hasSuffix(".") && !metric.row.help.contains { "\\\"\n".contains($0) })
        #expect(!metric.row.labels.contains { ["file", "path", "le"].contains($0) }, "a label is never a file's name")
    }

    @Test(
        "The strict reader takes none of these",
        arguments: [
            "# TYPE a gauge\n# HELP a b.\na 1\n", "# TYPE a gauge\n# HELP a b.\na 1\n# EOF",
            "# TYPE a counter\n# HELP a b.\na 1\n# EOF\n", "# TYPE a gauge\n# HELP a b.\na 1 \n# EOF\n",
            "# TYPE a gauge\n# HELP a b.\na{x=\"1} 1\n# EOF\n", "# TYPE a gauge\n# HELP a b.\na 1\na 2\n# EOF\n",
            "# TYPE a gauge\n# HELP a b.\na{x=\"\\t\"} 1\n# EOF\n", "# TYPE a gauge\na 1\n# EOF\n",
            "# TYPE a_seconds gauge\n# HELP a_seconds b.\na_seconds 1\n# EOF\n", "a 1\n# EOF\n",
            "# TYPE a gauge\n# HELP a b.\n\na 1\n# EOF\n",
            "# TYPE a counter\n# HELP a b.\na_total -1\n# EOF\n",
            "# TYPE a histogram\n# HELP a b.\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n# EOF\n",
            "# TYPE a histogram\n# HELP a b.\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n# EOF\n",
            "# TYPE a histogram\n# HELP a b.\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 2\n# EOF\n",
        ])
    func strictness(text: String) {
        #expect(throws: MetricsReader.Mistake.self) { try MetricsReader(text) }
    }
}
