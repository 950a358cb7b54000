import ArgumentParser
import Catalogue
import CommandContact
import CommandSupport
import Explaining
import Glibc
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
        let account = try Account(of: photo, operation, in: catalogue, places)
        if output.json { return try printJSON(account.fields) }
        let text = account.text(now: Int64(time(nil)))
        try printOut(text.rendered(Terminal.style(output.color)))
    }
}
