import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import Glibc
import Reporting

struct StatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration("status", "Show whether everything is filed, and if not, why.")
    static let toleratesMistakes = true

    static let lesson = """
        EXAMPLES:
          photoinbox status
          photoinbox status -x || notify-send "Look at the photo inbox"
          photoinbox status --json | jq -r '.problems[] | .code + " " + .action'

        Each problem says what is wrong, what that means for photos, and what to do. It goes away by itself when its cause
        does. See photoinbox-problems(7).

        EXIT STATUS:
          0   all is well; there may be notices
          1   the daemon does not answer
          3   there is a warning
          5   filing is stopped
          69  the daemon is not running
          64, 77, 78: see photoinbox --help
        """

    @Flag(name: .customShort("x"), help: "Show only the verdict and the problems.")
    var problemsOnly = false

    @Flag(help: "Also show problems that other problems cause.")
    var all = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run(at places: Places) throws {
        let state: DaemonState
        do throws(CommandFailure) { state = try DaemonContact(places: places).freshState() } catch {
            if !output.json { Self.printTotals(places) }
            throw error
        }
        let report = StateReport(state)
        if output.json {
            try printOut(report.json.compact + "\n")
        } else {
            let detail: StateReport.Detail = problemsOnly ? .problemsOnly : all ? .all : .normal
            let now = Int64(time(nil))
            try printOut(report.text(Terminal.style(output.color), detail: detail, now: now))
        }
        if report.exitStatus != .ok { throw CommandEnd(status: report.exitStatus) }
    }

    /// The catalogue's totals, which need no daemon.
    private static func printTotals(_ places: Places) {
        guard let totals = try? places.openCatalogueIfPresent()?.totals() else { return }
        printRemark(
            "\(HumanText.count(totals.photos, "photo is", "photos are")) filed, \(HumanText.bytes(totals.bytes))")
    }
}
