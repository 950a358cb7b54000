import ArgumentParser
import Catalogue
import CommandSupport
import ControlProtocol
import Glibc
import Reporting

/// `photoinbox status`: is everything filed, and if not, why.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Say whether everything is filed, and if not, why.",
        usage: "photoinbox status [OPTION…]")

    static let lesson = """
        EXAMPLES:
          photoinbox status
          photoinbox status -x || notify-send "Look at the photo inbox"
          photoinbox status --json | jq -r '.problems[] | .code + " " + .action'

        Each problem says what is the case, what follows from it for the photos, and what to do; problems go away by
        themselves when their reason does. See photoinbox-problems(7).

        EXIT STATUS:
          0   all is well, with notices or without
          1   the daemon does not answer
          3   there is a warning
          5   filing is stopped
          69  it is not running
          64, 77, 78: see photoinbox --help
        """

    @Flag(name: .customShort("x"), help: "Only the verdict and the problems.")
    var problemsOnly = false

    @Flag(help: "Problems that others explain, too.")
    var all = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let places = try Places(places, despiteMistakes: true)
        let state: DaemonState
        do throws(CommandFailure) { state = try DaemonContact(places: places).freshState() } catch {
            if !output.json { Self.tellTotals(places) }
            throw error
        }
        let report = StateReport(state)
        if output.json {
            try printOut(report.json().compact + "\n")
        } else {
            let detail: StateReport.Detail = problemsOnly ? .problemsOnly : all ? .all : .normal
            let now = Int64(time(nil))
            try printOut(report.text(Terminal.style(output.color), detail: detail, now: now))
        }
        if report.exitStatus != .ok { throw CommandEnd(status: report.exitStatus) }
    }

    /// What can be said without the daemon.
    private static func tellTotals(_ places: Places) {
        guard let records = try? Records.ifPresent(places),
            let totals = try? records.ask({ (catalogue) throws(CatalogueError) in try catalogue.totals() })
        else { return }
        printRemark(
            "\(HumanText.count(totals.photos, "photo is", "photos are")) filed, \(HumanText.bytes(totals.bytes))")
    }
}
