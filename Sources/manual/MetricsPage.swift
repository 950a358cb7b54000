import Reporting

/// photoinbox-metrics(7).
func metricsPage() -> String {
    var page = Roff("photoinbox-metrics", section: 7, purpose: "the numbers that photoinboxd tells")
    page.heading("DESCRIPTION")
    page.paragraph(
        "\"photoinbox metrics\" writes them as OpenMetrics 1.0, which it asks of the daemon by its control socket; whoever "
            + "may look may ask. All are there from the start, at zero. Those of an inbox go with it when it is taken out "
            + "of the configuration. Counters begin anew when the daemon does, those of the watch also on a reload. No "
            + "label is ever a file's name.")
    page.heading("COLLECTING")
    page.paragraph(
        "The textfile collector of node_exporter reads what the daemon writes where photoinbox.toml(5) says so, in the text "
            + "format of Prometheus (0.0.4):")
    page.verbatim(["[metrics]", "textfile = \"/var/lib/prometheus/node-exporter/photoinbox.prom\""])
    page.paragraph(
        "The daemon must be able to make files there, and under systemd its unit must let it (systemctl edit photoinboxd):"
    )
    page.verbatim(["[Service]", "ReadWritePaths=/var/lib/prometheus/node-exporter"])
    page.paragraph(
        "The file is replaced whole, everybody may read it, and it is taken away when the daemon ends in good order; "
            + "photoinbox_sample_timestamp_seconds tells when it was written. Rules for alerts come along: alerts.yml.")
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
