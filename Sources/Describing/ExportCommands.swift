package import ArgumentParser
import CSV
import Catalogue
package import CommandContact
package import CommandSupport
import FileValues
import PhotoFormats
import PhotoModel
import Reporting

package struct ExportCSVCommand: DaemonCommand {
    package static let configuration = CommandConfiguration(
        "export-csv", "Write all photos with titles, keywords etc. as CSV.", "[OPTION…] > FILE")

    package static let lesson = """
        EXAMPLES:
          photoinbox export-csv > photos.csv
              to read, to edit, and to import again with import-csv

        The table is a snapshot of one moment, even while photos are filed. The columns
        that import-csv reads come first; "captured" is the date in the photo itself, and
        the columns from "file_title" on are metadata of the photo and its sidecars;
        "nearby_place" is the town nearest to its position, by GeoNames.
        Control characters in titles and names are left out. A cell that a spreadsheet
        would treat as a formula is prefixed with an apostrophe, which import-csv
        removes. A path that is not UTF-8 is escaped; use the sha256 to identify the
        photo.

        EXIT STATUS:
          0   done
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    package init() {}

    @OptionGroup package var places: PlaceOptions

    private static let columns = [
        "sha256", "path", "title", "keywords", "rating", "taken", "place", "captured", "camera", "inbox", "filed_at",
        "library",
        "original_name", "file_title", "file_caption", "file_keywords", "people", "file_rating", "file_place",
        "latitude", "longitude", "lens", "creator", "copyright", "nearby_place",
    ]

    package func run(at places: Places) throws {
        var text = CSVText()
        for column in Self.columns { text.field(column) }
        text.endRecord()
        try places.openCatalogue().eachPhoto { photo, description, metadata in
            Self.write(photo, description, metadata ?? MetadataDecision([:]), to: &text)
            if text.bytes.count > 60_000 { try printOut(text.removeAll()) }
        }
        try printOut(text.removeAll())
    }

    private static func write(
        _ photo: StoredPhoto, _ description: PhotoDescription?, _ decision: MetadataDecision, to text: inout CSVText
    ) {
        let metadata = decision.chosen
        let record = photo.photo
        text.field(hexadecimal(record.sha256))
        text.field(record.libraryPath.escaped)
        text.field(plain(description?.title ?? ""))
        text.field(plain(description?.keywords.joined(separator: ";") ?? ""))
        text.field(description?.rating.map { "\($0)" } ?? "")
        text.field(plain(description?.taken ?? ""))
        text.field(plain(description?.place ?? ""))
        // A column of its own: in "taken", import-csv would import it as a person's statement.
        text.field(record.captured?.local ?? "")
        text.field(plain(record.camera ?? ""))
        text.field(record.inbox)
        text.field(photo.filedAt.rfc3339)
        text.field(record.library.escaped)
        text.field(record.originalName.escaped)
        text.field(plain(metadata.title ?? ""))
        text.field(plain(metadata.caption ?? ""))
        text.field(plain(metadata.keywords.joined(separator: ";")))
        text.field(plain(metadata.people.joined(separator: ";")))
        text.number(metadata.rating.map { "\($0)" } ?? "")
        text.field(plain(metadata.place.names.joined(separator: ", ")))
        text.number(metadata.position.map { HumanText.decimal($0.latitude, places: 7) } ?? "")
        text.number(metadata.position.map { HumanText.decimal($0.longitude, places: 7) } ?? "")
        text.field(plain(metadata.lens ?? ""))
        text.field(plain(metadata.creators.joined(separator: ";")))
        text.field(plain(metadata.copyright ?? ""))
        text.field(plain(decision.nearby?.text ?? ""))
        text.endRecord()
    }
}

/// Without control characters and those that change the direction of text; newlines and tabs stay.
private func plain(_ text: String) -> String {
    func isKept(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\n", "\t": true
        case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{061C}", "\u{200E}", "\u{200F}", "\u{2028}", "\u{2029}",
            "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
            false
        default: true
        }
    }
    guard !text.unicodeScalars.allSatisfy(isKept) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.filter(isKept)))
}

package struct ExportJSONCommand: DaemonCommand {
    package static let configuration = CommandConfiguration(
        "export-json", "Write all photos with titles, keywords etc. as JSON.", "[OPTION…] > FILE")

    package static let lesson = """
        EXAMPLES:
          photoinbox export-json > photos.json
          photoinbox export-json | jq -r '.photos[] | select(.description.rating == 5) | .path'

        One document, a snapshot of one moment, with one line for each photo: the fields
        of "list --json", "description" with the title, keywords, rating, date and place
        that were imported, or null, and "metadata" of the file and its sidecars, or null.

        EXIT STATUS:
          0   done
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    package init() {}

    @OptionGroup package var places: PlaceOptions

    package func run(at places: Places) throws {
        var (text, isFirst) = ("{\"format\":1,\"photos\":[", true)
        try places.openCatalogue().eachPhoto { photo, description, metadata in
            text += (isFirst ? "\n" : ",\n") + photo.json(describedBy: description, metadata).compact
            isFirst = false
            if text.utf8.count > 60_000 {
                try printOut(text)
                text = ""
            }
        }
        try printOut(text + "\n]}\n")
    }
}
