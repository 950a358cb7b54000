/// A position in a text that is not TOML, or not in the supported part of TOML.
struct TOMLSyntaxError: Error, Equatable {
    let position: TextPosition
    let message: String
}

/// The text of a configuration file as a tree of values with their positions, and its errors.
///
/// Never traps, for any bytes.
struct TOMLDocument: Sendable {
    /// In file order, without the statements that have errors.
    let entries: [TOMLEntry]
    /// In file order; `TOMLReader.mostErrors` at most.
    let errors: [TOMLSyntaxError]

    /// The largest file, in bytes.
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

    /// Returns why `bytes` are not read at all.
    private static func refusal(of bytes: [UInt8]) -> TOMLSyntaxError? {
        if bytes.count > largest {
            return TOMLSyntaxError(
                position: .first, message: "larger than \(largest) bytes; this is not a configuration file")
        }
        if String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) { return nil }
        // An invalid sequence becomes U+FFFD, so the first difference is its position.
        let repaired = String(decoding: bytes, as: UTF8.self).utf8
        let sound = zip(bytes, repaired).prefix { $0 == $1 && $0 != 0 }.count
        let lines = bytes[..<sound].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let position = TextPosition(line: lines.count, column: 1 + (lines.last?.count { $0 & 0xC0 != 0x80 } ?? 0))
        let isNUL = bytes[sound...].first == 0
        return TOMLSyntaxError(
            position: position,
            message: isNUL ? "a NUL byte; this is not a text file" : "not valid UTF-8; save the file as UTF-8")
    }
}
