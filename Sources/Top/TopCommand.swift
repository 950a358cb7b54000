package import ArgumentParser
package import CommandContact
package import CommandSupport
import Glibc
import Reporting

package struct TopCommand: DaemonCommand {
    package static let configuration = CommandConfiguration("top", "Show live what the daemon does.")
    package static let toleratesMistakes = true

    package static let lesson = """
        EXAMPLES:
          photoinbox top
          photoinbox top --view monitors --interval 5
          photoinbox top --once --json | jq '.queues[] | select(.stuck_seconds)'

        Keys: 1 to 8 or Tab choose a view (inboxes, files, monitors, queues, decoders,
        hooks, problems, outcomes), Enter shows all fields of a row, s sorts, r reverses
        the order, / finds, z freezes the view, + and - change the interval, ? shows
        help, q quits. Filing never waits for it. If standard output is no terminal, one
        frame is written.

        EXIT STATUS:
          0   done
          69  the daemon is not running (--once)
          1, 64, 75, 77, 78: see photoinbox --help
        """

    package init() {}

    @Option(name: .shortAndLong, help: ArgumentHelp("Seconds between two samples: 0.2 to 3600.", valueName: "seconds"))
    var interval = 1.0

    @Option(
        help: ArgumentHelp(
            "Start with inboxes (default), files, monitors, queues, decoders, hooks, problems or outcomes.",
            valueName: "view"))
    var view: TopView?

    @Flag(help: "Write one frame, made of two samples, and exit.")
    var once = false

    @OptionGroup package var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    package func validate() throws {
        // The daemon makes a new answer each tenth of a second; not a number fails, too.
        guard interval >= 0.2, interval <= 3600 else {
            throw ValidationError("--interval must be 0.2 to 3600 seconds.")
        }
    }

    package func run(at places: Places) throws {
        let contact = ControlContact(places: places)
        let style = Terminal.style(output.color)
        var model = TopModel(interval: interval, view: view ?? .inboxes)
        let isDumb = ["", "dumb"].contains(Terminal.variable("TERM") ?? "")
        if !once, !output.json, Terminal.isOutput, !isDumb, let screen = TerminalScreen() {
            try TopSession(contact: contact, screen: screen, style: style, model: model).run()
        }
        guard let sample = try sample(contact) else { return }
        if output.json { return try printOut(sample.json.compact + "\n") }
        model.received(sample)
        // A reader that is no terminal gets every column.
        let page = TopScreen(columns: Terminal.isOutput ? TerminalScreen.size.columns : Int(Int16.max), rows: 0)
        try printOut(page.page(model).map { $0.painted(style).trimmed + "\n" }.joined())
    }

    /// A sample with rates, from two answers an interval apart; nil if it was interrupted.
    private func sample(_ contact: ControlContact) throws -> TopSample? {
        let interruption = Interruption { _ in }
        var history = TopHistory()
        _ = history.add(try contact.daemonState(within: 5), at: TopClock.now, load: TopClock.load)
        let nanoseconds = Int(interval * 1e9)
        interruption.wait(atMost: timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000))
        if interruption.isStopRequested { return nil }
        return history.add(try contact.daemonState(within: 5), at: TopClock.now, load: TopClock.load)
    }
}

extension TopView: ExpressibleByArgument {}

extension String {
    /// Without the blanks at its end.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
