import ArgumentParser
import CommandSupport
import ControlProtocol
import Reporting

/// `photoinbox metrics`: the daemon's metrics, as OpenMetrics text.
struct MetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Write the daemon's metrics, as OpenMetrics text.",
        usage: "photoinbox metrics [OPTION…]")

    static let lesson = """
        EXAMPLES:
          photoinbox metrics
          photoinbox metrics | grep '^photoinbox_waiting_photos'

        Whoever may look may ask. They are described in photoinbox-metrics(7). For a collector that reads files, the
        daemon writes them by itself: [metrics] textfile in photoinbox.toml(5).

        EXIT STATUS:
          0   written
          69  the daemon is not running
          1, 64, 75, 77, 78: see photoinbox --help
        """

    @Flag(help: .hidden)
    var json = false

    @OptionGroup var places: PlaceOptions

    func run() throws {
        guard !json else { throw CommandFailure(.usage, "metrics are text", action: "See: photoinbox dump") }
        let answer = try ControlContact(places: Places(places)).ask(ControlRequest(.metrics))
        if let failure = CommandFailure(answer) { throw failure }
        guard let text = answer.text else {
            throw CommandFailure(
                .failed, "photoinboxd answered without its metrics",
                action: "Use the photoinbox that came with the daemon.")
        }
        try printOut(text)
    }
}
