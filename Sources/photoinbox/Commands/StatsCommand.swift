import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Glibc
import Reporting

/// `photoinbox stats`: counts outcomes by day and inbox.
struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Count outcomes by day and inbox.",
        usage: "photoinbox stats [OPTION…]")

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

    func validate() throws {
        if SinceText(since)?.moment(now: 0) == nil {
            throw ValidationError("--since must be like 90s, 15m, 2h, 7d, 2026-11-21 or 2026-11-21T14:07.")
        }
    }

    func run() throws {
        let from = FileTime(seconds: SinceText(since)?.moment(now: Int64(time(nil))) ?? 0, nanoseconds: 0)
        let places = try Places(places, despiteMistakes: true)
        places.warnOfUnknown(inbox: inbox, asJSON: output.json)
        let days = try Records(places).ask { (catalogue) throws(CatalogueError) in
            try catalogue.countsByDay(since: from, inbox: inbox)
        }
        let total = days.reduce(into: Total()) { $0.add($1) }
        if output.json {
            let fields = [
                JSONField("since", from.json), JSONField("days", .array(days.map { $0.json() })),
                JSONField("total", .object(total.fields)),
            ]
            try printOut(JSONValue.document(fields).compact + "\n")
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
            table.add([day.day, shown(day.inbox)] + one.cells)
        }
        if days.count > 1 { table.add(["total", ""] + total.cells) }
        return table
    }
}

/// Sums of counts.
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
        OutcomeKind.allCases.map { JSONField($0.rawValue, .count(files[$0] ?? 0)) }
            + [JSONField("filed_bytes", .unsigned(bytes))]
    }

    private func count(_ kind: OutcomeKind) -> String { "\(files[kind] ?? 0)" }
}

extension DayCounts {
    fileprivate func json() -> JSONValue {
        var total = Total()
        total.add(self)
        return .object([JSONField("day", .string(day)), JSONField("inbox", .string(inbox))] + total.fields)
    }
}
