/// The way from the root of a TOML document to one value.
struct TOMLPath: Hashable {
    enum Step: Hashable {
        case key(String)
        case index(Int)
    }

    var steps: [Step] = []

    func appending(_ step: Step) -> TOMLPath { TOMLPath(steps: steps + [step]) }
}

/// A place where a text is not TOML, or not the part of TOML that is taken here.
struct TOMLSyntaxError: Error, Equatable {
    let position: TextPosition
    let message: String
}

/// Reads the syntax of a TOML document ahead of TOMLKit: where each key and value stands, and which statements are
/// not well formed.
///
/// TOMLKit alone would not do: it tells positions of syntax errors only, one at a time, and its parser aborts the
/// process on some malformed input (a header like `[=]`). What this scan lets through is well-formed TOML 1.0 without
/// the number notations that no key takes; whether keys are defined twice, and what the values are, TOMLKit says.
/// Never traps, whatever the bytes are; they should be valid UTF-8. Pure.
struct TOMLScanner {
    struct Place: Equatable {
        /// Of the key, or of the header's name, or of an array's element.
        var key: TextPosition
        /// Of the value.
        var value: TextPosition
        /// The value as it is written.
        var source: String
    }

    /// A header or a key with its value, over one line or several.
    struct Statement {
        /// Of the document's bytes, without the last newline.
        var range: Range<Int>
        /// From 1.
        var lines: ClosedRange<Int>
        var isHeader: Bool
        var error: TOMLSyntaxError?
    }

    private(set) var places: [TOMLPath: Place] = [:]
    private(set) var statements: [Statement] = []

    let bytes: [UInt8]
    var offset = 0
    private var line = 1
    private var lineStart = 0
    /// How many tables each array of tables has so far.
    private var tableCounts: [TOMLPath: Int] = [:]
    /// The table that the last header opened.
    private var table = TOMLPath()

    /// Deeper nesting, and longer dotted keys, than any configuration needs; bounds recursion here and in the parser.
    static let deepest = 16

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            offset = 3
            lineStart = 3
        }
        while skipToStatement() {
            let start = offset
            let firstLine = line
            let isHeader = peek == ASCII.bracket
            var failure: TOMLSyntaxError?
            do throws(TOMLSyntaxError) {
                if isHeader { try scanHeader() } else { try scanPair(in: table, depth: 0) }
                try expectEndOfLine()
            } catch {
                failure = error
                skipToNextStatement()
            }
            // The last line was consumed up to its end, or the next statement's first line has begun.
            let end = failure == nil || offset == bytes.count ? offset : max(start, lineStart - 1)
            let lastLine = failure == nil || offset == bytes.count ? line : max(firstLine, line - 1)
            statements.append(
                Statement(range: start..<end, lines: firstLine...lastLine, isHeader: isHeader, error: failure))
        }
    }

    // MARK: - Statements

    private mutating func scanHeader() throws(TOMLSyntaxError) {
        advance()
        let isArray = peek == ASCII.bracket
        if isArray { advance() }
        skipBlanks()
        let position = self.position
        let start = offset
        let keys = try scanKeys()
        let source = text(from: start).trimmingTrailingBlanks
        guard peek == ASCII.closingBracket, !isArray || next(1) == ASCII.closingBracket else {
            throw failure("expected \(isArray ? "]]" : "]") after the section's name")
        }
        advance(isArray ? 2 : 1)
        var path = TOMLPath()
        for (number, key) in keys.enumerated() {
            path = path.appending(.key(key))
            if number == keys.count - 1, isArray {
                let index = tableCounts[path, default: 0]
                tableCounts[path] = index + 1
                note(path, key: position, value: position, source: source)
                path = path.appending(.index(index))
            } else if let count = tableCounts[path] {
                path = path.appending(.index(count - 1))
            }
            note(path, key: position, value: position, source: source)
        }
        table = path
    }

    /// A key, `=`, a value.
    mutating func scanPair(in table: TOMLPath, depth: Int) throws(TOMLSyntaxError) {
        let keyPosition = position
        let keyStart = offset
        let keys = try scanKeys()
        let keySource = text(from: keyStart).trimmingTrailingBlanks
        guard peek == ASCII.equals else { throw failure("expected = after the key \(quoted(keySource))") }
        advance()
        skipBlanks()
        var path = table
        for key in keys.dropLast() {
            path = path.appending(.key(key))
            note(path, key: keyPosition, value: keyPosition, source: keySource)
        }
        if let last = keys.last { path = path.appending(.key(last)) }
        try scanValue(at: path, key: keyPosition, depth: depth)
    }

    private mutating func scanKeys() throws(TOMLSyntaxError) -> [String] {
        var keys: [String] = []
        while true {
            skipBlanks()
            if peek == ASCII.quote || peek == ASCII.apostrophe {
                if next(1) == peek, next(2) == peek { throw failure("a key stands on one line") }
                keys.append(try scanString())
            } else {
                let start = offset
                while let byte = peek, ASCII.isBareKey(byte) { advance() }
                guard offset > start else {
                    throw failure("expected a key; write KEY = VALUE, [section] or # comment")
                }
                keys.append(text(from: start))
            }
            guard keys.count <= Self.deepest else { throw failure("too many names in one key") }
            skipBlanks()
            guard peek == ASCII.dot else { return keys }
            advance()
        }
    }

    private mutating func expectEndOfLine() throws(TOMLSyntaxError) {
        skipBlanks()
        switch peek {
        case nil, ASCII.newline: return
        case ASCII.carriageReturn where next(1) == ASCII.newline: advance()
        case ASCII.hash: try skipComment()
        default: throw failure("unexpected text after the value; a second setting begins on a line of its own")
        }
    }

    /// Skips blank lines and comments; false at the end of the document.
    private mutating func skipToStatement() -> Bool {
        while let byte = peek {
            switch byte {
            case ASCII.space, ASCII.tab, ASCII.newline: advance()
            case ASCII.carriageReturn where next(1) == ASCII.newline: advance()
            case ASCII.hash:
                let start = offset
                let position = self.position
                do throws(TOMLSyntaxError) { try skipComment() } catch {
                    while let byte = peek, byte != ASCII.newline { _ = byte; advance() }
                    statements.append(
                        Statement(
                            range: start..<offset, lines: position.line...position.line, isHeader: false, error: error))
                }
            default: return true
            }
        }
        return false
    }

    /// After an error: goes to the next line on which a statement seems to begin, past what may be the rest of a
    /// value over several lines.
    private mutating func skipToNextStatement() {
        while peek != nil {
            while let byte = peek, byte != ASCII.newline { _ = byte; advance() }
            advance()
            let lineBegin = offset
            var look = offset
            while look < bytes.count, bytes[look] == ASCII.space || bytes[look] == ASCII.tab { look += 1 }
            guard look < bytes.count else { continue }
            switch bytes[look] {
            case ASCII.newline, ASCII.carriageReturn, ASCII.hash: return
            case ASCII.bracket where look + 1 < bytes.count:
                if ASCII.isBareKey(bytes[look + 1]) || bytes[look + 1] == ASCII.bracket { return }
            case let byte where ASCII.isBareKey(byte) || byte == ASCII.quote || byte == ASCII.apostrophe:
                let rest = bytes[lineBegin...].prefix { $0 != ASCII.newline }
                if rest.contains(ASCII.equals) { return }
            default: break
            }
        }
    }

    /// The rest of a line from `#` on.
    mutating func skipComment() throws(TOMLSyntaxError) {
        while let byte = peek, byte != ASCII.newline {
            if byte == ASCII.carriageReturn, next(1) == ASCII.newline { return advance() }
            guard byte >= 0x20 && byte != 0x7F || byte == ASCII.tab else { throw controlCharacter() }
            advance()
        }
    }

    // MARK: - Bytes

    mutating func note(_ path: TOMLPath, key: TextPosition, value: TextPosition, source: String) {
        // A table may be named by several headers and dotted keys; the first one is its place.
        if places[path] == nil { places[path] = Place(key: key, value: value, source: source) }
    }

    var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    func next(_ distance: Int) -> UInt8? { offset + distance < bytes.count ? bytes[offset + distance] : nil }

    mutating func advance(_ count: Int = 1) {
        for _ in 0..<count where offset < bytes.count {
            if bytes[offset] == ASCII.newline {
                line += 1
                lineStart = offset + 1
            }
            offset += 1
        }
    }

    mutating func skipBlanks() { while peek == ASCII.space || peek == ASCII.tab { advance() } }

    var position: TextPosition {
        // Continuation bytes of UTF-8 start no character.
        TextPosition(line: line, column: 1 + bytes[lineStart..<offset].count { $0 & 0xC0 != 0x80 })
    }

    func text(from start: Int) -> String { String(decoding: bytes[start..<offset], as: UTF8.self) }

    func failure(_ message: String, at position: TextPosition? = nil) -> TOMLSyntaxError {
        TOMLSyntaxError(position: position ?? self.position, message: message)
    }

    func controlCharacter() -> TOMLSyntaxError {
        let code = String(peek ?? 0, radix: 16)
        return failure("a control character (0x\(code.count < 2 ? "0" : "")\(code)); take it out")
    }
}

/// The bytes that TOML's syntax is made of.
enum ASCII {
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")
    static let newline = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let hash = UInt8(ascii: "#")
    static let bracket = UInt8(ascii: "[")
    static let closingBracket = UInt8(ascii: "]")
    static let brace = UInt8(ascii: "{")
    static let closingBrace = UInt8(ascii: "}")
    static let equals = UInt8(ascii: "=")
    static let dot = UInt8(ascii: ".")
    static let comma = UInt8(ascii: ",")
    static let quote = UInt8(ascii: "\"")
    static let apostrophe = UInt8(ascii: "'")
    static let backslash = UInt8(ascii: "\\")

    static func isBareKey(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
            || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}

extension String {
    var trimmingTrailingBlanks: String {
        var text = self[...]
        while text.utf8.last == ASCII.space || text.utf8.last == ASCII.tab { text.removeLast() }
        return String(text)
    }
}
