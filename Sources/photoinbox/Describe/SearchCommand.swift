import ArgumentParser
import Catalogue
import CommandSupport
import FileValues
import Glibc
import Reporting

/// `photoinbox search`: finds photos by what is known and said of them.
struct SearchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "Find photos by date, camera, keyword, place or words.",
        usage: "photoinbox search [OPTION…] [WORD…]")

    static let lesson = """
        EXAMPLES:
          photoinbox search harbour
              words, or beginnings of words, of title, keywords or place
          photoinbox search --from 2026-08 --until 2026-09 --camera canon
          photoinbox search --keyword "fishing boat" --rating 4
          photoinbox search --outcome quarantined --name IMG_20

        All conditions hold together. Case does not count, nor do accents in words.
        --from and --until take the beginning of a local time: 2026, 2026-08,
        2026-08-21T14. With --outcome, files that came and had that outcome are found,
        instead of photos that are filed. What is found is of one moment, also while
        photos are filed.

        EXIT STATUS:
          0   something is found
          4   nothing matches
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var pager: PagerOption

    @Option(help: "Taken at this time or later.")
    var from: String?

    @Option(help: "Taken no later than this.")
    var until: String?

    @Option(help: "Part of the camera's name.")
    var camera: String?

    @Option(help: "A keyword; may be given several times.")
    var keyword: [String] = []

    @Option(help: "Words of the place.")
    var place: String?

    @Option(help: "Words of the title.")
    var title: String?

    @Option(help: "Part of the name that the file came with.")
    var name: String?

    @Option(help: ArgumentHelp("At least so many stars.", valueName: "stars"))
    var rating: Int?

    @Option(help: "Only those that came to this inbox.")
    var inbox: String?

    @Option(help: ArgumentHelp("Files with this outcome, instead of photos.", valueName: "outcome"))
    var outcome: OutcomeKind?

    @Option(help: "At most so many.")
    var limit = 50

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("Words of title, keywords or place.", valueName: "word"))
    var words: [String] = []

    func validate() throws {
        if limit < 1 { throw ValidationError("--limit takes a number from 1 on.") }
        if let rating, !(0...5).contains(rating) { throw ValidationError("--rating takes a number from 0 to 5.") }
        for (name, time) in [("--from", from), ("--until", until)] {
            if let time, !Self.isBeginningOfTime(time) {
                throw ValidationError("\(name): write 2026, 2026-08, 2026-08-21 or 2026-08-21T14:07.")
            }
        }
    }

    /// Whether a time may begin so: digits where it has digits.
    private static func isBeginningOfTime(_ text: String) -> Bool {
        let pattern = Array("dddd-dd-ddTdd:dd:dd".utf8)
        let bytes = Array(text.utf8)
        guard [4, 7, 10, 13, 16, 19].contains(bytes.count) else { return false }
        let isOfDigits = zip(bytes, pattern).allSatisfy { byte, wanted in
            wanted == UInt8(ascii: "d") ? (0x30...0x39).contains(byte) : byte == wanted
        }
        // A month and a day that there may be; else nothing would ever match, without a word why.
        let number = { (place: Int) in Int(bytes[place] - 0x30) * 10 + Int(bytes[place + 1] - 0x30) }
        return isOfDigits && (bytes.count < 7 || (1...12).contains(number(5)))
            && (bytes.count < 10 || (1...31).contains(number(8)))
    }

    func run() throws {
        var query = SearchQuery()
        query.words = words.flatMap { $0.split(separator: " ").map(String.init) }
        (query.keywords, query.place, query.title) = (keyword, place, title)
        (query.camera, query.name, query.rating) = (camera, name, rating)
        (query.takenFrom, query.takenUntil, query.inbox) = (from, until, inbox)
        (query.outcome, query.limit) = (outcome, limit)
        let now = Int64(time(nil))
        let places = try Places(places)
        places.remarkOnUnknown(inbox: inbox, asJSON: output.json)
        let hits = try Records(places).ask { [query] (catalogue) throws(CatalogueError) in
            try catalogue.search(query)
        }
        if output.json {
            let name = outcome == nil ? "photos" : "outcomes"
            try printOut(JSONValue.document([JSONField(name, .array(hits.map(json)))]).compact + "\n")
        } else if hits.isEmpty {
            printRemark("nothing matches")
        } else {
            let table = outcome == nil ? photos(hits) : outcomes(hits, now)
            try pager.print(table.rendered(Terminal.style(output.color)))
        }
        if hits.isEmpty { throw CommandEnd(status: .noMatch) }
    }

    private func json(_ hit: SearchHit) -> JSONValue {
        let photo = hit.photo.map { $0.json(describedBy: hit.description) }
        guard let outcome = hit.outcome else { return photo ?? .null }
        guard case .object(let fields) = outcome.json() else { return outcome.json() }
        return .object(fields + [JSONField("filed_photo", photo ?? .null)])
    }

    private func photos(_ hits: [SearchHit]) -> TextTable {
        var table = TextTable([
            ("NUMBER", .right), ("TAKEN", .left), ("STARS", .right), ("CAMERA", .left), ("TITLE", .left),
            ("KEYWORDS", .left), ("PLACE", .left), ("FILE", .left),
        ])
        for hit in hits {
            guard let stored = hit.photo else { continue }
            let (photo, said) = (stored.photo, hit.description)
            table.add([
                stored.number, String((photo.captured?.local ?? said?.taken ?? "unknown").prefix(10)),
                said?.rating.map { "\($0)" } ?? "", photo.camera ?? "", shown(said?.title ?? ""),
                shown(said?.keywords.joined(separator: "; ") ?? ""), shown(said?.place ?? ""),
                photo.libraryPath.escaped,
            ])
        }
        return table
    }

    private func outcomes(_ hits: [SearchHit], _ now: Int64) -> TextTable {
        var table = TextTable([("NUMBER", .right), ("TIME", .left), ("FILE", .left), ("REASON", .left)])
        for hit in hits {
            guard let outcome = hit.outcome else { continue }
            table.add([
                "\(outcome.id)", shortTime(outcome.outcome.at, now: now),
                shown(outcome.outcome.inbox) + "/" + outcome.outcome.path.escaped, shown(outcome.outcome.reason),
            ])
        }
        return table
    }
}
