/// Reads a TOML document: all of TOML 1.0 except notations of numbers and times that no key uses.
///
/// Never traps, for any bytes; the caller refuses those that are not UTF-8.
struct TOMLReader {
    /// The maximum number of reported errors.
    static let mostErrors = 20
    /// The maximum nesting, and length of dotted keys; bounds recursion.
    static let maximumDepth = 16

    let root = TOMLDefinition()
    private(set) var errors: [TOMLSyntaxError] = []
    /// An error in a value whose end is known, so that the next statement can be read.
    var valueError: TOMLSyntaxError?

    let bytes: [UInt8]
    private(set) var offset = 0
    private var line = 1
    private var column = 1

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: "\u{FEFF}".utf8) { offset = 3 }
    }

    // MARK: - Statements

    mutating func read() {
        var table = root
        skipBlanksAndLines()
        while let first = peek, errors.count < Self.mostErrors {
            // Following lines may belong to the statement until its end is found.
            var isOpen = first != "#"
            valueError = nil
            do throws(TOMLSyntaxError) {
                switch first {
                case "#": try skipComment()
                case "[":
                    let (key, isArray) = try readHeader()
                    try expectEndOfLine()
                    isOpen = false
                    table = try root.open(key, isArray: isArray)
                default:
                    let (key, value) = try readPair(depth: 0)
                    try expectEndOfLine()
                    isOpen = false
                    if let valueError { throw valueError }
                    try table.define(key, as: value)
                }
            } catch {
                errors.append(error)
                // Keys below a refused header do not belong to the previous section.
                if first == "[" { table = TOMLDefinition() }
                if isOpen { skipToNextStatement() }
            }
            skipBlanksAndLines()
        }
    }

    private mutating func readHeader() throws(TOMLSyntaxError) -> (TOMLKey, isArray: Bool) {
        advance()
        let isArray = skip("[")
        let key = try readKey()
        guard skip("]"), !isArray || skip("]") else {
            throw failure("expected \(isArray ? "]]" : "]") after the section's name")
        }
        return (key, isArray)
    }

    /// Reads a key, `=` and a value.
    mutating func readPair(depth: Int) throws(TOMLSyntaxError) -> (TOMLKey, TOMLNode) {
        let key = try readKey()
        guard skip("=") else { throw failure("expected = after the key \(quoted(key.source))") }
        skipBlanks()
        return (key, try readValue(depth: depth))
    }

    private mutating func readKey() throws(TOMLSyntaxError) -> TOMLKey {
        skipBlanks()
        var key = TOMLKey(position: position)
        let start = offset
        while true {
            key.name = try readName()
            skipBlanks()
            key.source = source(from: start)
            guard skip(".") else { return key }
            key.parents.append(key.name)
            guard key.parents.count < Self.maximumDepth else { throw failure("too many names in one key") }
            skipBlanks()
        }
    }

    private mutating func readName() throws(TOMLSyntaxError) -> String {
        if peek == "\"" || peek == "'" {
            if next(1) == peek, next(2) == peek { throw failure("a key must be on one line") }
            return try readString()
        }
        let start = offset
        while let byte = peek, Self.isBareKey(byte) { advance() }
        guard offset > start else { throw failure("expected a key; write KEY = VALUE, [section] or # comment") }
        return source(from: start)
    }

    private static func isBareKey(_ byte: Unicode.Scalar) -> Bool {
        switch byte {
        case "0"..."9", "A"..."Z", "a"..."z", "-", "_": true
        default: false
        }
    }

    private mutating func expectEndOfLine() throws(TOMLSyntaxError) {
        skipBlanks()
        if peek == "#" { try skipComment() }
        if peek != nil, !skipNewline() {
            throw failure("unexpected text after the value; write each setting on a line of its own")
        }
    }

    /// Skips, after an error, to the next line that seems to begin a statement, since lines in between may belong to a
    /// value.
    private mutating func skipToNextStatement() {
        while peek != nil {
            skipLine()
            advance()
            skipBlanks()
            switch peek {
            case nil, "\n", "\r", "#": return
            case "[": if let second = next(1), second == "[" || Self.isBareKey(second) { return }
            case let byte? where byte == "\"" || byte == "'" || Self.isBareKey(byte):
                if bytes[offset...].prefix(while: { $0 != 0x0A }).contains(UInt8(ascii: "=")) { return }
            default: break
            }
        }
    }

    // MARK: - Bytes

    /// The next byte as a scalar; bytes that are not ASCII match no comparison.
    var peek: Unicode.Scalar? { next(0) }

    func next(_ distance: Int) -> Unicode.Scalar? {
        offset + distance < bytes.count ? Unicode.Scalar(bytes[offset + distance]) : nil
    }

    mutating func advance(_ count: Int = 1) {
        var left = count
        while left > 0, offset < bytes.count {
            left -= 1
            offset += 1
            if bytes[offset - 1] == UInt8(ascii: "\n") {
                line += 1
                column = 1
            } else if bytes[offset - 1] & 0xC0 != 0x80 {
                // Continuation bytes of UTF-8 start no character.
                column += 1
            }
        }
    }

    mutating func skip(_ expected: Unicode.Scalar) -> Bool {
        guard peek == expected else { return false }
        advance()
        return true
    }

    mutating func skipNewline() -> Bool {
        if peek == "\r", next(1) == "\n" { advance() }
        return skip("\n")
    }

    mutating func skipBlanks() { while skip(" ") || skip("\t") {} }

    mutating func skipBlanksAndLines() { while skip(" ") || skip("\t") || skipNewline() {} }

    /// Skips to the end of this line.
    private mutating func skipLine() { while peek != nil, peek != "\n" { advance() } }

    /// Skips the rest of a line from `#` on.
    mutating func skipComment() throws(TOMLSyntaxError) {
        while let byte = peek, byte != "\n", byte != "\r" || next(1) != "\n" {
            if let error = controlCharacter() {
                skipLine()
                throw error
            }
            advance()
        }
    }

    /// Returns the error for a next byte that is not allowed in text; nil if it is.
    func controlCharacter() -> TOMLSyntaxError? {
        guard let code = peek?.value, code < 0x20 && code != 0x09 || code == 0x7F else { return nil }
        return failure("a control character (0x\(code < 0x10 ? "0" : "")\(String(code, radix: 16))); remove it")
    }

    var position: TextPosition { TextPosition(line: line, column: column) }

    /// Returns the source since `start`, without trailing blanks.
    func source(from start: Int) -> String {
        var end = offset
        while end > start, bytes[end - 1] == UInt8(ascii: " ") || bytes[end - 1] == UInt8(ascii: "\t") { end -= 1 }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    func failure(_ message: String, at position: TextPosition? = nil) -> TOMLSyntaxError {
        TOMLSyntaxError(position: position ?? self.position, message: message)
    }
}
