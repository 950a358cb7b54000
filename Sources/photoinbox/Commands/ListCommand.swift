import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Glibc
import LinuxKernel
import Reporting

struct ListCommand: DaemonCommand {
    static let configuration = CommandConfiguration("list", "List filed photos, newest first.")
    static let toleratesMistakes = true

    static let lesson = """
        EXAMPLES:
          photoinbox list                               the last 50 photos
          photoinbox list --inbox card --since 2h       those of an inbox, in the last two hours
          photoinbox list --outcome quarantined         files that wait for your decision, and why
          photoinbox list --outcome deferred            files that are retried by themselves, and why
          photoinbox list --json --limit 1000000 | jq -r '.photos[].path'

        Without --outcome, photos in the library are listed; with it, files by their outcome: filed, duplicate, quarantined,
        ignored, withdrawn. Quarantined files are listed until they are released or discarded. Deferred files have no outcome yet, and
        are listed as the daemon knows them.

        NUMBER is the operation that "show", "undo", "release" and "discard" accept.

        Files that are ignored by name or kind alone (.part, links) are not recorded; "photoinbox status" counts them as ignored.

        --since accepts a span (90s, 15m, 2h, 7d), yesterday, a date (2026-11-21) or a time (2026-11-21T14:07).

        EXIT STATUS:
          0   something is listed
          4   nothing matches
          69  there is no catalogue yet; with --outcome deferred, the daemon is not running
          64, 77, 78: see photoinbox --help
        """

    enum Outcome: String, CaseIterable, ExpressibleByArgument {
        case filed, duplicate, quarantined, ignored, withdrawn, deferred

        /// Nil where the catalogue has none yet.
        var recorded: OutcomeKind? { OutcomeKind(rawValue: rawValue) }
    }

    @OptionGroup var pager: PagerOption

    @Option(help: ArgumentHelp("Only those from this inbox.", valueName: "name"))
    var inbox: String?

    @Option(help: ArgumentHelp("Only since this time: 2h, 7d, 2026-11-21, 2026-11-21T14:07.", valueName: "time"))
    var since: String?

    @Option(help: ArgumentHelp("List files with this outcome instead of photos.", valueName: "outcome"))
    var outcome: Outcome?

    @Option(help: ArgumentHelp("Show at most this many.", valueName: "number"))
    var limit = 50

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit must be at least 1.") }
        try SinceText.check(since)
    }

    func run(at places: Places) throws {
        let now = Int64(time(nil))
        if outcome == .deferred { return try listDeferred(places, now: now) }
        let moment = SinceText.time(since, now: now)
        places.warnOfUnknown(inbox: inbox, asJSON: output.json)
        let catalogue = try places.openCatalogue()
        if let outcome = outcome?.recorded {
            let found = try catalogue.outcomes(outcome, inbox: inbox, since: moment, limit: limit)
            try show(found, under: "outcomes") { outcomeTable(found, now: now) }
        } else {
            let found = try catalogue.photos(inbox: inbox, since: moment, limit: limit)
            try show(found, under: "photos") { photoTable(found, now: now) }
        }
    }

    private func show(_ rows: [some JSONRepresentable], under name: String, _ table: () -> TextTable) throws {
        if output.json {
            try printJSON([JSONField(name, rows)])
        } else if !rows.isEmpty {
            try pager.print(table().rendered(Terminal.style(output.color)))
        } else {
            printRemark("nothing matches")
        }
        if rows.isEmpty { throw CommandEnd(status: .noMatch) }
    }

    private func listDeferred(_ places: Places, now: Int64) throws {
        let found = try DaemonContact(places: places).freshState().inHand.filter {
            $0.stage == "deferred" && (inbox == nil || $0.inbox == inbox)
        }.prefix(limit)
        let rows = found.map {
            JSONValue.object([
                JSONField("inbox", $0.inbox), JSONField("file", $0.file), JSONField("reason", $0.what),
                JSONField("first_seen", $0.firstSeen), JSONField("until", $0.until), JSONField("attempts", $0.attempts),
            ])
        }
        try show(rows, under: "deferred") {
            var table = TextTable([("FILE", .left), ("TRIES", .right), ("NEXT", .left), ("REASON", .left)])
            for file in found {
                let next = file.until.flatMap { FileTime(rfc3339: $0) }.map { shortTime($0, now: now) } ?? ""
                table.add([printable("\(file.inbox)/\(file.file)"), "\(file.attempts)", next, printable(file.what)])
            }
            return table
        }
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
                HumanText.bytes(photo.photo.size), printable(photo.photo.inbox), photo.photo.libraryPath.escaped,
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
                printable(record.inbox) + "/" + record.path.escaped, record.outcome.rawValue, printable(record.reason),
            ])
        }
        return table
    }
}
