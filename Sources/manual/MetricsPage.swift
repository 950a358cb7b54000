import Reporting

/// photoinbox-metrics(7).
func metricsPage() -> String {
    var page = Roff("photoinbox-metrics", section: 7, purpose: "the metrics of photoinboxd")
    page.heading("DESCRIPTION")
    page.paragraph(
        "\"photoinbox metrics\" gets them from the daemon by its control socket and writes them as OpenMetrics 1.0. All exist "
            + "from the start, at zero. Those of an inbox disappear when it is removed from the configuration. Counters are "
            + "reset when the daemon starts, those of the watch also on a reload. No label contains a file's name.")
    page.heading("COLLECTING")
    page.paragraph(
        "For the textfile collector of node_exporter, the daemon writes them to a file in the text format of Prometheus "
            + "(0.0.4), if photoinbox.toml(5) names one:")
    page.verbatim(["[metrics]", "textfile = \"/var/lib/prometheus/node-exporter/photoinbox.prom\""])
    page.paragraph(
        "The daemon must be able to create files there, and under systemd its unit must allow it (systemctl edit photoinboxd):"
    )
    page.verbatim(["[Service]", "ReadWritePaths=/var/lib/prometheus/node-exporter"])
    page.paragraph(
        "The file is replaced atomically, is readable by everybody, and is removed when the daemon stops cleanly; "
            + "photoinbox_sample_timestamp_seconds is the time at which it was written. alerts.yml has rules for alerts."
    )
    page.heading("METRICS")
    for metric in Metric.allCases {
        let row = metric.row
        let labels = row.labels.isEmpty ? "" : "{\(row.labels.joined(separator: ","))}"
        var words = "\(row.kind.word.capitalisedFirst). \(row.help)."
        if case .histogram(let bounds) = row.kind {
            let texts = bounds.map { bound in Int64(exactly: bound).map { "\($0)" } ?? "\(bound)" }
            words += " Bounds: \(texts.joined(separator: ", "))."
        }
        page.item("\(metric.sampleName)\(labels)", [words])
    }
    page.heading("SEE ALSO")
    page.paragraph("photoinbox(1), photoinbox.toml(5), photoinbox-problems(7), photoinbox-control(7), photoinboxd(8)")
    return page.text
}

extension String {
    fileprivate var capitalisedFirst: String { prefix(1).uppercased() + dropFirst() }
}
