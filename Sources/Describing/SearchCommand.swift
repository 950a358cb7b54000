package import ArgumentParser
import Catalogue
package import CommandContact
package import CommandSupport
import FileValues
import Glibc
import PhotoFormats
import PhotoModel
import Reporting

package struct SearchCommand: DaemonCommand {
    package static let configuration = CommandConfiguration(
        "search", "Find photos by date, camera, keyword, place or words.", "[OPTION…] [WORD…]")

    package static let lesson = """
        EXAMPLES:
          photoinbox search harbour
              words, or beginnings of words, of any text: name, title, caption, keywords,
              people, place, camera and lens
          photoinbox search --from 2026-08 --until 2026-09 --camera canon
          photoinbox search --keyword "fishing boat" --rating 4
          photoinbox search --near 54.32,10.12,5km --person ada
          photoinbox search --bbox 9.9,53.4,10.3,53.7
              between west, south, east and north, in degrees
          photoinbox search --outcome quarantined --name IMG_20

        All conditions must match. Case is ignored, and accents in words are too. Titles,
        keywords, ratings and places are those imported with import-csv or else those in
        the photo and its sidecars, which are read shortly after it is filed. Where these do
        not name a place, the town nearest to the photo's position counts, if the table of
        place names is installed.

        --from and --until accept the beginning of a local time: 2026, 2026-08,
        2026-08-21T14. With --outcome, files with that outcome are found instead of filed
        photos. The result is a snapshot of one moment, even while photos are filed.

        EXIT STATUS:
          0   something is found
          4   nothing matches
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    package init() {}

    @OptionGroup var pager: PagerOption

    @Option(help: ArgumentHelp("Taken at this time or later.", valueName: "time"))
    var from: String?

    @Option(help: ArgumentHelp("Taken at this time or earlier.", valueName: "time"))
    var until: String?

    @Option(help: ArgumentHelp("Part of the camera's name.", valueName: "text"))
    var camera: String?

    @Option(help: ArgumentHelp("A keyword; may be given several times.", valueName: "text"))
    var keyword: [String] = []

    @Option(help: ArgumentHelp("The name of a person; may be given several times.", valueName: "text"))
    var person: [String] = []

    @Option(help: ArgumentHelp("Part of the lens's name.", valueName: "text"))
    var lens: String?

    @Option(help: ArgumentHelp("Near a position: LATITUDE,LONGITUDE,DISTANCE in m or km.", valueName: "area"))
    var near: CircleArgument?

    @Option(help: ArgumentHelp("In a box: WEST,SOUTH,EAST,NORTH in degrees.", valueName: "area"))
    var bbox: BoxArgument?

    @Option(help: ArgumentHelp("Words of the place.", valueName: "text"))
    var place: String?

    @Option(help: ArgumentHelp("Words of the title.", valueName: "text"))
    var title: String?

    @Option(help: ArgumentHelp("Part of the file's original name.", valueName: "text"))
    var name: String?

    @Option(help: ArgumentHelp("At least this many stars, 0 to 5.", valueName: "stars"))
    var rating: Int?

    @Option(help: ArgumentHelp("Only those from this inbox.", valueName: "name"))
    var inbox: String?

    @Option(help: ArgumentHelp("Find files with this outcome instead of photos.", valueName: "outcome"))
    var outcome: OutcomeKind?

    @Option(help: ArgumentHelp("Show at most this many.", valueName: "number"))
    var limit = 50

    @OptionGroup package var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("Words, or beginnings of words, of any text.", valueName: "word"))
    var words: [String] = []

    package func validate() throws {
        if limit < 1 { throw ValidationError("--limit must be at least 1.") }
        if let rating, !SearchQuery.ratings.contains(rating) { throw ValidationError("--rating must be from 0 to 5.") }
        if near != nil, bbox != nil { throw ValidationError("--near and --bbox exclude each other.") }
        try Self.requireTimes(from, until)
    }

    /// Throws unless the values of `--from` and `--until` are beginnings of times.
    package static func requireTimes(_ from: String?, _ until: String?) throws {
        for (name, time) in [("--from", from), ("--until", until)] {
            if let time, !SearchQuery.isBeginningOfTime(time) {
                throw ValidationError("\(name) must be like 2026, 2026-08, 2026-08-21 or 2026-08-21T14:07.")
            }
        }
    }

    package func run(at places: Places) throws {
        var query = SearchQuery()
        query.words = words.flatMap { SearchQuery.words($0) }
        (query.keywords, query.people, query.place, query.title) = (keyword, person, place, title)
        (query.camera, query.lens, query.name, query.rating) = (camera, lens, name, rating)
        query.area = near?.area ?? bbox?.area
        (query.takenFrom, query.takenUntil, query.inbox) = (from, until, inbox)
        (query.outcome, query.limit) = (outcome, limit)
        let now = Int64(time(nil))
        places.warnOfUnknown(inbox: inbox, asJSON: output.json)
        let hits = try places.openCatalogue().search(query)
        if output.json {
            let name = outcome == nil ? "photos" : "outcomes"
            try printJSON([JSONField(name, hits.map(json))])
        } else if hits.isEmpty {
            printRemark("nothing matches")
        } else {
            let table = outcome == nil ? photos(hits) : outcomes(hits, now)
            try pager.print(table.rendered(Terminal.style(output.color)))
        }
        if hits.isEmpty { throw CommandEnd(status: .noMatch) }
    }

    private func json(_ hit: SearchHit) -> JSONValue {
        let photo = hit.photo?.json(describedBy: hit.description, hit.metadata) ?? .null
        return hit.outcome.map { .object($0.fields + [JSONField("filed_photo", photo)]) } ?? photo
    }

    private func photos(_ hits: [SearchHit]) -> TextTable {
        var table = TextTable([
            ("NUMBER", .right), ("TAKEN", .left), ("STARS", .right), ("CAMERA", .left), ("TITLE", .left),
            ("KEYWORDS", .left), ("PLACE", .left), ("FILE", .left),
        ])
        for hit in hits {
            guard let stored = hit.photo else { continue }
            let (photo, description, found) = (stored.photo, hit.description, hit.metadata?.chosen)
            let keywords = description.flatMap { $0.keywords.isEmpty ? nil : $0.keywords } ?? found?.keywords ?? []
            let title = description?.title ?? found?.title ?? found?.headline
            let place = description?.place ?? hit.metadata?.placeText
            table.add([
                stored.number, String((photo.captured?.local ?? description?.taken ?? "unknown").prefix(10)),
                (description?.rating ?? found?.rating).map { "\($0)" } ?? "", photo.camera ?? "",
                printable(title ?? ""), printable(keywords.joined(separator: "; ")), printable(place ?? ""),
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
                printable(outcome.outcome.inbox) + "/" + outcome.outcome.path.escaped,
                printable(outcome.outcome.reason),
            ])
        }
        return table
    }
}
