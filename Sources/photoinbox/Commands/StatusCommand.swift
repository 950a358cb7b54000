import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import Glibc
import PhotoModel
import Reporting

struct StatusCommand: DaemonCommand {
    static let configuration = CommandConfiguration("status", "Show whether everything is filed, and if not, why.")
    static let toleratesMistakes = true

    static let lesson = """
        EXAMPLES:
          photoinbox status
          photoinbox status -x || notify-send "Look at the photo inbox"
          photoinbox status --all
          photoinbox status --json | jq -r '.problems[] | .code + " " + .action'

        Each problem says what is wrong, what that means for photos, and what to do. It goes away by itself when its cause
        does. See photoinbox-problems(7).

        With --all and a catalogue in PostgreSQL, it also shows the server, the library's totals and every host that was not
        forgotten, and ends with the worst exit status of all of them. A host that has said nothing for thirty seconds is
        silent, which is a warning. A standby shows the hosts as they were when it last heard of one, which is a warning,
        too.

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

    @Flag(help: "Also show problems that other problems cause and, with a catalogue in PostgreSQL, all hosts.")
    var all = false

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func run(at places: Places) throws {
        if all, places.catalogue.file == nil { return try showHosts(places) }
        let state: DaemonState
        do throws(CommandFailure) { state = try DaemonContact(places: places).freshState() } catch {
            if !output.json { Self.printTotals(places) }
            throw error
        }
        let report = StateReport(state)
        if output.json { try printOut(report.json.compact + "\n") } else { try show(report) }
        if report.exitStatus != .ok { throw CommandEnd(status: report.exitStatus) }
    }

    private func show(_ report: StateReport) throws {
        let detail: StateReport.Detail = problemsOnly ? .problemsOnly : all ? .all : .normal
        try printOut(report.text(Terminal.style(output.color), detail: detail, now: Int64(time(nil))))
    }

    /// The daemon of this machine, if it is a host, and all hosts of the catalogue.
    private func showHosts(_ places: Places) throws {
        var own: StateReport?
        var status = ExitStatus.ok
        do throws(CommandFailure) { own = StateReport(try DaemonContact(places: places).freshState()) } catch {
            if places.isHost {
                printRemark(error.text, asJSON: output.json)
                status = error.status
            }
        }
        // First, since the server may be out of reach.
        if let own, !output.json { try show(own) }
        let (hosts, server, totals):
            (
                HostsReport, (version: String, roundTrip: Duration, isStandby: Bool)?, (photos: Int, bytes: UInt64)
            )
        do {
            let catalogue = try places.openCatalogue()
            let rows = try catalogue.hosts()
            hosts = HostsReport(rows, own: places.ownHost(among: rows))
            (server, totals) = (try catalogue.serverFacts(), try catalogue.totals())
        } catch {
            // The daemon has shown why it cannot use the catalogue either.
            guard let own, own.exitStatus == .stopped else { throw error }
            printRemark("the other hosts are unknown: \(error)", asJSON: output.json)
            if output.json { try printOut(own.json.compact + "\n") }
            throw CommandEnd(status: own.exitStatus)
        }
        if output.json {
            guard case .object(let fields) = own?.json ?? .document([]) else { return }
            let facts = JSONValue.object([
                JSONField("place", places.catalogue.description), JSONField("version", server?.version),
                JSONField("round_trip_seconds", server.map { $0.roundTrip / .seconds(1) }),
                JSONField("standby", server?.isStandby), JSONField("photos", totals.photos),
                JSONField("bytes", totals.bytes),
            ])
            let all = [
                JSONField("catalogue", facts), JSONField("hosts", hosts.json.map { JSONValue.object($0) }),
                JSONField("hosts_verdict", hosts.verdict),
            ]
            try printOut(JSONValue.object(fields + all).compact + "\n")
        } else {
            let style = Terminal.style(output.color)
            let now = Int64(time(nil))
            var text = LabelledText()
            if own != nil { text.addBlank() }
            if !problemsOnly {
                let away = server.map { HumanText.decimal($0.roundTrip / .milliseconds(1), places: 1) } ?? "?"
                text.add(
                    "catalogue",
                    "PostgreSQL \(printable(server?.version ?? "?")), \(printable(places.catalogue.description)); \(away) ms away"
                )
                if server?.isStandby == true { text.add("", hosts.standbyText(now: now)) }
                text.add(
                    "library",
                    "\(HumanText.count(totals.photos, "photo", "photos")), \(HumanText.bytes(totals.bytes))")
                text.addBlank()
            }
            var silent = LabelledText()
            let shown =
                own?.state.problems.filter { $0.code == ProblemCode.hostSilent.rawValue }.compactMap(\.subject) ?? []
            hosts.addSilent(to: &silent, now: now, shown: Set(shown))
            try printOut(
                text.rendered(style) + hosts.table(style, now: now, withForgotten: false) + silent.rendered(style)
                    + "\n\(hosts.verdict)\n")
        }
        // What it shows may have changed since.
        if server?.isStandby == true { status = status.combined(with: .someLeft) }
        status = status.combined(with: own?.exitStatus ?? .ok).combined(with: hosts.exitStatus)
        if status != .ok { throw CommandEnd(status: status) }
    }

    /// The catalogue's totals, which need no daemon.
    private static func printTotals(_ places: Places) {
        guard let totals = try? places.openCatalogueIfPresent()?.totals() else { return }
        printRemark(
            "\(HumanText.count(totals.photos, "photo is", "photos are")) filed, \(HumanText.bytes(totals.bytes))")
    }
}
