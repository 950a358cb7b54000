import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import FileValues
import Glibc
import PhotoModel
import Reporting

struct ShowCommand: DaemonCommand {
    static let configuration = CommandConfiguration(
        "show", "Show everything recorded of an operation or a photo.", "[OPTION…] OPERATION")
    static let toleratesMistakes = true

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

    func run(at places: Places) throws {
        let catalogue = try places.openCatalogue()
        guard let newest = try operation.operations(places).first else {
            throw CommandFailure(
                .noMatch, "\(operation.subjectText) does not exist", action: "List what exists: photoinbox list")
        }
        let photo = try newest.outcome.photoID.flatMap { try catalogue.photo(id: $0) }
        // A number asks for the outcome of one file, everything else for a photo.
        let operation = photo == nil || self.operation.isNumber ? newest : nil
        let damage = try photo.flatMap { $0.supersededAt == nil ? try catalogue.damage(ofPhoto: $0.id) : nil }
        let sidecar = try photo.flatMap { try catalogue.sidecarRefusal(ofPhoto: $0.id) }
        let set = try photo.map { try catalogue.others(inSetOf: $0) } ?? []
        let description = try photo.flatMap { try catalogue.description(ofHash: $0.photo.sha256) }
        let metadata = try photo.flatMap { try catalogue.metadata(ofPhoto: $0.id) }
        let history = try photo.map { try catalogue.outcomes(ofPhoto: $0.id) } ?? []
        let renditions = try photo.map { try RenditionStanding.all(of: $0, in: catalogue, places) } ?? []
        let requests =
            if let operation {
                try catalogue.requests(ofOutcome: operation.id)
            } else {
                try photo.map { try catalogue.requests(ofPhoto: $0.id) } ?? []
            }
        if output.json {
            let fields = [
                JSONField("operation", operation), JSONField("photo", photo?.json(describedBy: description, metadata)),
                JSONField("damage", damage.map(damageJSON)), JSONField("sidecar_left", sidecar),
                JSONField("history", history), JSONField("requests", requests), JSONField("set", set),
                JSONField("renditions", renditions),
            ]
            return try printJSON(fields)
        }
        let now = Int64(time(nil))
        var text = LabelledText()
        if let operation { operation.describe(in: &text, now: now) }
        for request in requests { request.describe(in: &text, now: now) }
        if let photo {
            if operation != nil || !requests.isEmpty { text.addBlank() }
            photo.describe(in: &text, now: now)
            description?.describe(in: &text)
            metadata?.describe(in: &text, besides: description)
            if let damage { text.add("damage", damageText(damage, now: now), textPaint: .bad) }
            if let sidecar { text.add("sidecar", sidecarText(sidecar), textPaint: .bad) }
            for other in set { text.add("set", other.setMemberText) }
            for rendition in renditions { text.add(rendition.name, rendition.text) }
        }
        let others = history.filter { $0.id != operation?.id }
        if !others.isEmpty { text.addBlank() }
        for other in others {
            text.add(
                "\(other.id)",
                "\(shortTime(other.outcome.at, now: now))  \(printable(other.outcome.inbox))/\(other.outcome.path.escaped): "
                    + other.outcome.outcome.rawValue)
        }
        try printOut(text.rendered(Terminal.style(output.color)))
    }
}
