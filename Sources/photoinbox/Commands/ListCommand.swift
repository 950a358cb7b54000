import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Glibc
import LinuxKernel
import Reporting

/// `photoinbox list`: filed photos, or files with another outcome, newest first.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List filed photos, newest first.", usage: "photoinbox list [OPTION…]")

    static let lesson = """
        EXAMPLES:
          photoinbox list                               the last 50 photos
          photoinbox list --inbox card --since 2h       those of an inbox, in the last two hours
          photoinbox list --outcome quarantined         files that wait for your decision, and why
          photoinbox list --json --limit 1000000 | jq -r '.photos[].path'

        Without --outcome, photos in the library are listed; with it, files by their outcome: filed, duplicate, quarantined,
        ignored, withdrawn. Quarantined files are listed until they are released or discarded.

        NUMBER is the operation that "show", "undo", "release" and "discard" accept.

        Files that are ignored by name or kind alone (.part, links) are not recorded; "photoinbox status" counts them as ignored.

        --since accepts a span (90s, 15m, 2h, 7d), yesterday, a date (2026-11-21) or a time (2026-11-21T14:07).

        EXIT STATUS:
          0   something is listed
          4   nothing matches
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var pager: PagerOption

    @Option(help: ArgumentHelp("Only those from this inbox.", valueName: "name"))
    var inbox: String?

    @Option(help: ArgumentHelp("Only since this time: 2h, 7d, 2026-11-21, 2026-11-21T14:07.", valueName: "time"))
    var since: String?

    @Option(help: ArgumentHelp("List files with this outcome instead of photos.", valueName: "outcome"))
    var outcome: OutcomeKind?

    @Option(help: ArgumentHelp("Show at most this many.", valueName: "number"))
    var limit = 50

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit must be at least 1.") }
        if let since, SinceText(since)?.moment(now: 0) == nil {
            throw ValidationError("--since must be like 90s, 15m, 2h, 7d, 2026-11-21 or 2026-11-21T14:07.")
        }
    }

    func run() throws {
        let now = Int64(time(nil))
        let moment = since.flatMap { SinceText($0)?.moment(now: now) }.map { FileTime(seconds: $0, nanoseconds: 0) }
        let places = try Places(places, despiteMistakes: true)
        places.warnOfUnknown(inbox: inbox, asJSON: output.json)
        let records = try Records(places)
        if let outcome {
            let found = try records.outcomes(outcome, inbox: inbox, since: moment, limit: limit)
            try show(found.map { $0.json() }, under: "outcomes") { outcomeTable(found, now: now) }
        } else {
            let found = try records.photos(inbox: inbox, since: moment, limit: limit)
            try show(found.map { $0.json() }, under: "photos") { photoTable(found, now: now) }
        }
    }

    private func show(_ rows: [JSONValue], under name: String, _ table: () -> TextTable) throws {
        if output.json {
            try printOut(JSONValue.document([JSONField(name, .array(rows))]).compact + "\n")
        } else if !rows.isEmpty {
            try pager.print(table().rendered(Terminal.style(output.color)))
        } else {
            printRemark("nothing matches")
        }
        if rows.isEmpty { throw CommandEnd(status: .noMatch) }
    }

    private func photoTable(_ photos: [StoredPhoto], now: Int64) -> TextTable {
        var table = TextTable([
            ("NUMBER", .right), ("FILED", .left), ("TAKEN", .left), ("SIZE", .right), ("INBOX", .left),
            ("PLACE", .left),
        ])
        for photo in photos {
            table.add([
                photo.number, shortTime(photo.filedAt, now: now),
                photo.photo.captured.map { String($0.local.prefix(10)) } ?? "unknown",
                HumanText.bytes(photo.photo.size), shown(photo.photo.inbox), photo.photo.libraryPath.escaped,
            ])
        }
        return table
    }

    private func outcomeTable(_ outcomes: [StoredOutcome], now: Int64) -> TextTable {
        var table = TextTable([
            ("NUMBER", .right), ("TIME", .left), ("FILE", .left), ("OUTCOME", .left), ("REASON", .left),
        ])
        for outcome in outcomes {
            let record = outcome.outcome
            table.add([
                "\(outcome.id)", shortTime(record.at, now: now),
                shown(record.inbox) + "/" + record.path.escaped, record.outcome.rawValue, shown(record.reason),
            ])
        }
        return table
    }
}
