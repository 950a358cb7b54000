import ArgumentParser
import CommandContact
import CommandSupport
import ControlProtocol
import Reporting

/// `photoinbox metrics`: the daemon's metrics, as OpenMetrics text.
struct MetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Write the daemon's metrics as OpenMetrics text.",
        usage: "photoinbox metrics [OPTION…]")

    static let lesson = """
        EXAMPLES:
          photoinbox metrics
          photoinbox metrics | grep '^photoinbox_waiting_photos'

        photoinbox-metrics(7) describes them. For a collector that reads files, the daemon can write them to one: textfile in
        [metrics] of photoinbox.toml(5). No privilege is needed beyond access to the control socket.

        EXIT STATUS:
          0   written
          69  the daemon is not running
          1, 64, 75, 77, 78: see photoinbox --help
        """

    @Flag(help: .hidden)
    var json = false

    @OptionGroup var places: PlaceOptions

    func run() throws {
        guard !json else {
            throw CommandFailure(.usage, "metrics has no JSON output", action: "For JSON: photoinbox dump")
        }
        let answer = try ControlContact(places: Places(places)).ask(ControlRequest(.metrics))
        if let failure = CommandFailure(answer) { throw failure }
        guard let text = answer.text else {
            throw CommandFailure(
                .failed, "photoinboxd answered without metrics",
                action: "Use the photoinbox of the same version as the daemon.")
        }
        try printOut(text)
    }
}
