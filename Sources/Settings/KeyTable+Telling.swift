// What is told to others: metrics and the log.
extension Settings {
    static let metricsKeys: [KeyDescription] = [
        key(
            .metrics, "textfile", .path, fallback: .words("none is written"),
            example: "\"/var/lib/prometheus/node-exporter/photoinbox.prom\"",
            "A file that ends in .prom, for the textfile collector of node_exporter: see photoinbox-metrics(7). It is "
                + "replaced whole, and taken away when the daemon ends. The service may write there only once "
                + "ReadWritePaths= of its unit says so."),
        key(
            .metrics, "every", .span(least: .seconds(1), most: .seconds(3_600)), fallback: .text("15s"),
            example: "\"15s\"",
            "How often that is done: on the watchdog's tick, so seldom below 5s."),
    ]

    static let logKeys: [KeyDescription] = [
        key(
            .log, "level", .choice(["error", "warning", "notice", "info", "debug"]), fallback: .text("info"),
            example: "\"info\"", "The least important messages that are logged."),
        key(
            .log, "destination", .choice(["auto", "journal", "console"]), fallback: .text("auto"), example: "\"auto\"",
            "\"auto\" takes the journal where there is one, unless standard error is a terminal."),
    ]
}
