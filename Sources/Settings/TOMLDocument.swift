/// A place in a text that is not TOML, or not the part of TOML that is taken here.
struct TOMLSyntaxError: Error, Equatable {
    let position: TextPosition
    let message: String
}

/// A configuration file's text as a tree of values with their places, together with its errors.
///
/// Never traps, whatever the bytes are.
struct TOMLDocument: Sendable {
    /// In file order; without the statements that have errors.
    let entries: [TOMLEntry]
    /// In file order; nothing is read after the last one of `TOMLReader.mostErrors`.
    let errors: [TOMLSyntaxError]

    /// Bytes; larger is no configuration.
    static let largest = 1 << 20

    init(_ bytes: [UInt8]) {
        if let error = Self.refusal(of: bytes) {
            (entries, errors) = ([], [error])
        } else {
            var reader = TOMLReader(bytes)
            reader.read()
            (entries, errors) = (reader.root.entries, reader.errors)
        }
    }

    /// What is no text, or too large to be read at all.
    private static func refusal(of bytes: [UInt8]) -> TOMLSyntaxError? {
        if bytes.count > largest {
            return TOMLSyntaxError(position: .first, message: "larger than \(largest) bytes; this is no configuration")
        }
        if String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) { return nil }
        // An invalid sequence becomes U+FFFD of another length, so the first difference is where it stands.
        let repaired = String(decoding: bytes, as: UTF8.self).utf8
        let sound = zip(bytes, repaired).prefix { $0 == $1 && $0 != 0 }.count
        let lines = bytes[..<sound].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let position = TextPosition(line: lines.count, column: 1 + (lines.last?.count { $0 & 0xC0 != 0x80 } ?? 0))
        let isNUL = bytes[sound...].first == 0
        return TOMLSyntaxError(
            position: position,
            message: isNUL ? "a NUL byte; this is no text file" : "not valid UTF-8; save the file as UTF-8")
    }
}
