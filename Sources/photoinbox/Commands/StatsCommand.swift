import ArgumentParser
package import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Glibc
package import Reporting

struct StatsCommand: DaemonCommand {
    static let configuration = CommandConfiguration("stats", "Count outcomes by day and inbox.")
    static let toleratesMistakes = true

    static let lesson = """
        EXAMPLES:
          photoinbox stats                              the last 30 days
          photoinbox stats --since 2026-01-01 --inbox card
          photoinbox stats --since 1d --json | jq '.total.filed'

        Days are in local time. SIZE is that of filed photos. --since accepts a span (2h, 7d), a date or a time.

        Files that are ignored by name or kind alone (.part, links) are not recorded; "photoinbox status" counts them as ignored.

        EXIT STATUS:
          0   something is counted
          4   no file arrived
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @Option(help: ArgumentHelp("Only files from this inbox.", valueName: "name"))
    var inbox: String?

    @Option(help: ArgumentHelp("Only since this time: 2h, 7d, 2026-11-21, 2026-11-21T14:07.", valueName: "time"))
    var since = "30d"

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws { try SinceText.check(since) }

    func run(at places: Places) throws {
        let from = SinceText.time(since, now: Int64(time(nil))) ?? FileTime(seconds: 0, nanoseconds: 0)
        places.warnOfUnknown(inbox: inbox, asJSON: output.json)
        let days = try places.openCatalogue().countsByDay(since: from, inbox: inbox)
        let total = days.reduce(into: Total()) { $0.add($1) }
        if output.json {
            let fields = [JSONField("since", from), JSONField("days", days), JSONField("total", .object(total.fields))]
            try printJSON(fields)
        } else if days.isEmpty {
            printRemark("no file arrived")
        } else {
            try printOut(table(days, total).rendered(Terminal.style(output.color)))
        }
        if days.isEmpty { throw CommandEnd(status: .noMatch) }
    }

    private func table(_ days: [DayCounts], _ total: Total) -> TextTable {
        var table = TextTable(
            [("DAY", .left), ("INBOX", .left), ("FILED", .right), ("SIZE", .right)]
                + Total.others.map { ($0.rawValue.uppercased(), .right) })
        for day in days {
            var one = Total()
            one.add(day)
            table.add([day.day, printable(day.inbox)] + one.cells)
        }
        if days.count > 1 { table.add(["total", ""] + total.cells) }
        return table
    }
}

private struct Total {
    static let others = OutcomeKind.allCases.filter { $0 != .filed }

    private var files: [OutcomeKind: Int] = [:]
    private var bytes: UInt64 = 0

    mutating func add(_ day: DayCounts) {
        files.merge(day.files) { $0 + $1 }
        bytes += day.filedBytes
    }

    var cells: [String] {
        [count(.filed), HumanText.bytes(bytes)] + Self.others.map { count($0) }
    }

    var fields: [JSONField] {
        OutcomeKind.allCases.map { JSONField($0.rawValue, files[$0] ?? 0) }
            + [JSONField("filed_bytes", bytes)]
    }

    private func count(_ kind: OutcomeKind) -> String { "\(files[kind] ?? 0)" }
}

extension DayCounts: JSONRepresentable {
    package var json: JSONValue {
        var total = Total()
        total.add(self)
        return .object([JSONField("day", day), JSONField("inbox", inbox)] + total.fields)
    }
}
