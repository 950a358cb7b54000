import ArgumentParser
import CSV
import Catalogue
import CommandSupport
import FileValues
import Reporting

/// `photoinbox export-csv`: every filed photo with what is said of it, as a table.
struct ExportCSVCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export-csv", abstract: "Write all photos, and what is said of them, as CSV.",
        usage: "photoinbox export-csv [OPTION…] > FILE")

    static let lesson = """
        EXAMPLES:
          photoinbox export-csv > photos.csv
              to look at, to change, and to bring back with import-csv

        The table is of one moment, also while photos are filed. The columns that
        import-csv reads come first; "captured" is the date that the photo itself bears.
        Control characters of titles and names are left out. A cell that a program for tables would take for a
        formula has an apostrophe in front, which import-csv takes away. A path that is
        no UTF-8 is written escaped; the sha256 says which photo is meant.

        EXIT STATUS:
          0   done
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var places: PlaceOptions

    private static let columns = [
        "sha256", "path", "title", "keywords", "rating", "taken", "place", "captured", "camera", "inbox", "filed_at",
        "library",
        "original_name",
    ]

    func run() throws {
        let records = try Records(try Places(places))
        let output = Output()
        var text = CSVText()
        for column in Self.columns { text.field(column) }
        text.endRecord()
        try records.ask { (catalogue) throws(CatalogueError) in
            try catalogue.eachPhoto { photo, said in
                Self.write(photo, said, to: &text)
                if text.bytes.count > 60_000 { try output.write(text.removeAll()) }
            }
        }
        try output.write(text.removeAll())
    }

    private static func write(_ photo: StoredPhoto, _ said: PhotoDescription?, to text: inout CSVText) {
        let record = photo.photo
        text.field(hexadecimal(record.sha256))
        text.field(record.libraryPath.escaped)
        text.field(plain(said?.title ?? ""))
        text.field(plain(said?.keywords.joined(separator: ";") ?? ""))
        text.field(said?.rating.map { "\($0)" } ?? "")
        text.field(plain(said?.taken ?? ""))
        text.field(plain(said?.place ?? ""))
        // Of its own: in "taken" it would come back with import-csv as if somebody had said it.
        text.field(record.captured?.local ?? "")
        text.field(plain(record.camera ?? ""))
        text.field(record.inbox)
        text.field(photo.filedAt.rfc3339)
        text.field(record.library.escaped)
        text.field(record.originalName.escaped)
        text.endRecord()
    }
}

/// Without the characters that a terminal obeys, or that turn the direction of text; lines and tabs stay.
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

/// `photoinbox export-json`: the same for programs.
struct ExportJSONCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export-json", abstract: "Write all photos, and what is said of them, as JSON.",
        usage: "photoinbox export-json [OPTION…] > FILE")

    static let lesson = """
        EXAMPLES:
          photoinbox export-json > photos.json
          photoinbox export-json | jq -r '.photos[] | select(.description.rating == 5) | .path'

        One document, of one moment, with a line for each photo: the fields of "list
        --json", and "description" with what is said of it, or null.

        EXIT STATUS:
          0   done
          69  there is no catalogue yet
          64, 77, 78: see photoinbox --help
        """

    @OptionGroup var places: PlaceOptions

    func run() throws {
        let records = try Records(try Places(places))
        let output = Output()
        var (text, isFirst) = (Array("{\"format\":1,\"photos\":[".utf8), true)
        try records.ask { (catalogue) throws(CatalogueError) in
            try catalogue.eachPhoto { photo, said in
                text += Array((isFirst ? "\n" : ",\n").utf8)
                isFirst = false
                text += Array(photo.json(describedBy: said).compact.utf8)
                if text.count > 60_000 {
                    try output.write(text)
                    text.removeAll(keepingCapacity: true)
                }
            }
        }
        try output.write(text + Array("\n]}\n".utf8))
    }
}

/// Standard output for long answers.
private struct Output {
    func write(_ bytes: [UInt8]) throws {
        var buffer = OutputBuffer(descriptor: 1)
        buffer.append(bytes)
        switch buffer.flush() {
        case .written: return
        case .closed: throw CommandEnd(status: .ok)
        case .failed(let code): throw CommandFailure(.failed, "standard output: \(code)")
        }
    }
}

extension StoredPhoto {
    /// The fields of a photo, and what is said of it.
    func json(describedBy said: PhotoDescription?) -> JSONValue {
        guard case .object(let fields) = json() else { return json() }
        return .object(fields + [JSONField("description", said?.json ?? .null)])
    }
}

extension PhotoDescription {
    var json: JSONValue {
        .object([
            JSONField("title", title.map { .string($0) } ?? .null),
            JSONField("keywords", .array(keywords.map { .string($0) })),
            JSONField("rating", rating.map { .integer(Int64($0)) } ?? .null),
            JSONField("taken", taken.map { .string($0) } ?? .null),
            JSONField("place", place.map { .string($0) } ?? .null),
        ])
    }
}
