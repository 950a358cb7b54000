import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Glibc
import Reporting

/// `photoinbox show OPERATION`: everything that is recorded of one operation, or of one photo.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show everything recorded of an operation or a photo.",
        usage: "photoinbox show [OPTION…] OPERATION")

    static let lesson = """
        EXAMPLES:
          photoinbox show 8841              an operation, by the number that list, explain and the journal show
          photoinbox show /srv/photos/2026/11/2026-11-21/IMG_0412.CR3
                                            a photo in the library, and every operation on its content
          photoinbox show e3b0c442          the same, by the beginning of the SHA-256 of the whole file
          photoinbox show photo:7712        the same, by "id" of JSON
          photoinbox show --json 8841

        EXIT STATUS:
          0   shown
          4   nothing is known of it
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var places: PlaceOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: OperationArgument.help)
    var operation: OperationArgument

    func run() throws {
        let found = try Places(places, despiteMistakes: true)
        let records = try Records(found)
        let operations = try operation.operations(found)
        guard let newest = operations.first else {
            throw CommandFailure(
                .noMatch, "\(self.operation.words) does not exist", action: "List what exists: photoinbox list")
        }
        var photo: StoredPhoto?
        if let id = newest.outcome.photoID {
            photo = try records.ask { (catalogue) throws(CatalogueError) in try catalogue.photo(id: id) }
        }
        // A number asks for the outcome of one file, everything else for a photo.
        var operation: StoredOutcome? = newest
        if photo != nil, !self.operation.isNumber { operation = nil }
        var history: [StoredOutcome] = []
        var set: [StoredPhoto] = []
        var description: PhotoDescription?
        var damage: (since: FileTime, reason: String)?
        if let photo {
            if photo.supersededAt == nil {
                damage = try records.ask { (catalogue) throws(CatalogueError) in try catalogue.damage(ofPhoto: photo.id)
                }
            }
            set = try records.others(inSetOf: photo)
            description = try records.ask { (catalogue) throws(CatalogueError) in
                try catalogue.description(ofHash: photo.photo.sha256)
            }
        }
        if let id = photo?.id {
            history = try records.ask { (catalogue) throws(CatalogueError) in try catalogue.outcomes(ofPhoto: id) }
        }
        var renditions: [RenditionStanding] = []
        if let photo { renditions = try records.renditions(of: photo, found) }
        var requests: [StoredRequest] = []
        if let id = operation?.id {
            requests = try records.ask { (catalogue) throws(CatalogueError) in try catalogue.requests(ofOutcome: id) }
        } else if let id = photo?.id {
            requests = try records.ask { (catalogue) throws(CatalogueError) in try catalogue.requests(ofPhoto: id) }
        }
        if output.json {
            let fields = [
                JSONField("operation", operation?.json() ?? .null),
                JSONField("photo", photo?.json(describedBy: description) ?? .null),
                JSONField("damage", damage.map { damageJSON($0) } ?? .null),
                JSONField("history", .array(history.map { $0.json() })),
                JSONField("requests", .array(requests.map { $0.json() })),
                JSONField("set", .array(set.map { $0.json() })),
                JSONField("renditions", .array(renditions.map { $0.json() })),
            ]
            try printOut(JSONValue.document(fields).compact + "\n")
        } else {
            try printOut(
                text(operation, photo, description, damage, set, renditions, history, requests).rendered(
                    Terminal.style(output.color)))
        }
    }

    private func text(
        _ operation: StoredOutcome?, _ photo: StoredPhoto?, _ description: PhotoDescription?,
        _ damage: (since: FileTime, reason: String)?, _ set: [StoredPhoto], _ renditions: [RenditionStanding],
        _ history: [StoredOutcome], _ requests: [StoredRequest]
    ) -> LabelledText {
        let now = Int64(time(nil))
        var text = LabelledText()
        if let operation { operation.describe(in: &text, now: now) }
        for request in requests { request.describe(in: &text, now: now) }
        if let photo {
            if operation != nil || !requests.isEmpty { text.addBlank() }
            photo.describe(in: &text, now: now)
            description?.describe(in: &text)
            if let damage { text.add("damage", damageWords(damage, now: now), textPaint: .bad) }
            for other in set { text.add("set", other.setWords) }
            for rendition in renditions { text.add(rendition.name, rendition.words) }
        }
        let others = history.filter { $0.id != operation?.id }
        if !others.isEmpty { text.addBlank() }
        for other in others {
            text.add(
                "\(other.id)",
                "\(shortTime(other.outcome.at, now: now))  \(shown(other.outcome.inbox))/\(other.outcome.path.escaped): "
                    + other.outcome.outcome.rawValue)
        }
        return text
    }
}
