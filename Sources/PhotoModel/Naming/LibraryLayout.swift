package import FileValues

/// The pattern of a photo's path in the library: a template of directories, ending in the photo's name.
package struct LibraryLayout: Hashable, Sendable {
    /// A field of a template, in braces.
    package enum Field: String, CaseIterable, Sendable {
        /// Of the capture date: four, two and two digits, and all with hyphens.
        case year, month, day, date
        /// The camera's model, made safe; `unknown-camera` if unknown.
        case camera
        /// The photo's own name, made safe; only at the end.
        case name
    }

    private enum Piece: Hashable, Sendable {
        case text([UInt8])
        case field(Field)
    }

    /// The directories, each a list of pieces; the name follows.
    private let directories: [[Piece]]

    /// The template's text: `{year}/{month}/{date}/{name}`.
    package var template: String {
        let rows = directories.map { pieces in
            pieces.map { piece in
                switch piece {
                case .text(let bytes): String(decoding: bytes, as: UTF8.self)
                case .field(let field): "{\(field.rawValue)}"
                }
            }.joined()
        }
        return (rows + ["{name}"]).joined(separator: "/")
    }

    /// `YYYY/MM/YYYY-MM-DD/` and the photo's own name.
    package static let standard = LibraryLayout(directories: [
        [.field(.year)], [.field(.month)], [.field(.date)],
    ])

    /// The directory for photos without a credible date.
    package static let undated: BytePath = "undated"

    private init(directories: [[Piece]]) { self.directories = directories }

    /// The path beneath the library of a photo named `original`; without a date in ``undated``. A `number` above 0
    /// gives the next name to try if that many are in use.
    package func path(
        for original: BytePath, date: CivilDate?, camera: String? = nil, candidate number: UInt64 = 0
    ) -> BytePath {
        let name = SafeName(original).candidate(number)
        guard let date else { return Self.undated.appending(name) }
        var path = BytePath("")
        for pieces in directories {
            let bytes = pieces.flatMap { piece in
                switch piece {
                case .text(let bytes): bytes
                case .field(let field): Self.value(of: field, date: date, camera: camera)
                }
            }
            // Each directory is made safe as a whole: its fields must not make it `..`, hidden or too long.
            path = path.appending(SafeName(BytePath(bytes)).candidate())
        }
        return path.appending(name)
    }

    private static func value(of field: Field, date: CivilDate, camera: String?) -> [UInt8] {
        switch field {
        case .year: Array(padded(date.year, 4).utf8)
        case .month: Array(padded(date.month, 2).utf8)
        case .day: Array(padded(date.day, 2).utf8)
        case .date: Array(date.description.utf8)
        // A separator in the camera's name would add a directory.
        case .camera: (camera ?? "unknown-camera").utf8.map { $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }
        case .name: []
        }
    }
}

extension LibraryLayout {
    /// An error in a template.
    package struct TemplateError: Error, Equatable, Sendable {
        /// The byte of the error in the template, from 1.
        package let column: Int
        /// One clause for people.
        package let reason: String
    }

    /// Parses a template such as `{year}/{month}/{date}/{name}`: fields in braces, other text unchanged.
    package init(template: String) throws(TemplateError) {
        var rows: [[Piece]] = [[]]
        var text: [UInt8] = []
        let bytes = Array(template.utf8)
        var position = 0
        func endText(_ rows: inout [[Piece]], _ text: inout [UInt8]) {
            if !text.isEmpty { rows[rows.count - 1].append(.text(text)) }
            text = []
        }
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "{"):
                guard let end = bytes[position...].firstIndex(of: UInt8(ascii: "}")) else {
                    throw TemplateError(column: position + 1, reason: "a brace is never closed")
                }
                let word = String(decoding: bytes[(position + 1)..<end], as: UTF8.self)
                guard let field = Field(rawValue: word) else {
                    let known = Field.allCases.map { "{\($0.rawValue)}" }.joined(separator: ", ")
                    throw TemplateError(
                        column: position + 1,
                        reason: "unknown field \(escapeForDisplay(Array("{\(word)}".utf8))); use \(known)")
                }
                guard field != .name || (end == bytes.count - 1 && text.isEmpty && rows[rows.count - 1].isEmpty) else {
                    throw TemplateError(column: position + 1, reason: "{name} must be the whole last part")
                }
                endText(&rows, &text)
                rows[rows.count - 1].append(.field(field))
                position = end
            case UInt8(ascii: "/"):
                endText(&rows, &text)
                guard !rows[rows.count - 1].isEmpty else {
                    throw TemplateError(column: position + 1, reason: "a directory has no name")
                }
                guard rows[rows.count - 1] != [.text([0x2E])], rows[rows.count - 1] != [.text([0x2E, 0x2E])] else {
                    throw TemplateError(column: position + 1, reason: "a directory may not be . or ..")
                }
                rows.append([])
            case UInt8(ascii: "}"): throw TemplateError(column: position + 1, reason: "a brace was never opened")
            case 0..<0x20, 0x7F: throw TemplateError(column: position + 1, reason: "a control character")
            default: text.append(byte)
            }
            position += 1
        }
        guard rows.removeLast() == [.field(.name)] else {
            throw TemplateError(column: max(bytes.count, 1), reason: "the template must end with /{name}")
        }
        guard rows.count <= 16 else { throw TemplateError(column: 1, reason: "more than 16 directories") }
        self.init(directories: rows)
    }
}
