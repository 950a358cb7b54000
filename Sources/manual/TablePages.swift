import Reporting
import Settings

/// photoinbox-problems(7).
func problemsPage() -> String {
    var page = Roff(
        "photoinbox-problems", section: 7, purpose: "the problems that photo-inbox reports, and what to do")
    page.heading("DESCRIPTION")
    page.paragraph(
        "\"photoinbox status\", the journal and the state dump identify each problem by a code, which is never reused. A "
            + "problem goes away by itself when its cause does. Words in capitals are placeholders.")
    page.item("notice", ["No action is needed."])
    page.item("warning", ["Something needs a person; everything else continues."])
    page.item("stopped", ["No photo is filed until it is over."])
    page.heading("PROBLEMS")
    for code in ProblemCode.allCases {
        let row = code.row
        page.subheading("\(code.rawValue) (\(row.severity.rawValue))")
        page.paragraph(row.title.generalText)
        page.item("Effect", [row.effect.generalText])
        page.item("Action", [row.action.generalText])
        if row.showAfter > 0 { page.item("Shown", ["when it has lasted for \(row.showAfter) seconds"]) }
        if !row.hiddenBy.isEmpty {
            let causes = row.hiddenBy.map {
                $0.code.rawValue + ($0.scope == .sameSubject ? " of the same subject" : "")
            }
            page.item("Hidden by", [causes.joined(separator: ", ")])
        }
    }
    page.heading("SEE ALSO")
    page.paragraph("photoinbox(1), photoinbox.toml(5), photoinboxd(8)")
    return page.text
}

/// photoinbox.toml(5).
func settingsPage() -> String {
    var page = Roff("photoinbox.toml", section: 5, purpose: "configuration of photoinboxd")
    page.heading("DESCRIPTION")
    page.paragraph(
        "photoinboxd(8) reads /etc/photoinbox/photoinbox.toml, or the file that --config names, when it starts and on "
            + "reload. The file is TOML. An unknown key or a wrong value is an error, reported with its line and column; "
            + "\"photoinboxd --check\" reports every error at once. A wrong file never replaces a running configuration."
    )
    page.paragraph("Durations are written \"500ms\", \"5s\", \"2m\", \"1h30m\", \"7d\".")
    for section in SettingsSection.allCases {
        page.heading(section == .top ? "KEYS BEFORE THE FIRST HEADER" : section.header)
        if !section.explanation.isEmpty { page.paragraph(section.explanation) }
        for key in Settings.keyTable where key.section == section {
            let fallback = key.fallback.map { "Default: \($0)." } ?? (key.isRequired ? "Required." : "No default.")
            page.item(
                "\(key.name) = \(key.kind.description)",
                [
                    key.explanation + (key.explanation.isEmpty ? "" : " ") + fallback,
                    "Example: \(key.name) = \(key.example)",
                ])
        }
    }
    page.heading("FILES")
    page.item("/etc/photoinbox/photoinbox.toml", ["of photoinboxd.service"])
    page.item("/etc/photoinbox/NAME.toml", ["of photoinboxd@NAME.service"])
    page.item("~/.config/photoinbox/photoinbox.toml", ["of a user's own photoinboxd.service"])
    page.heading("SEE ALSO")
    page.paragraph("photoinbox(1), photoinbox-problems(7), photoinboxd(8)")
    return page.text
}

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
