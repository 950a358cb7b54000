import FileValues

extension TOMLReader {
    mutating func readValue(depth: Int) throws(TOMLSyntaxError) -> TOMLNode {
        let position = self.position
        let start = offset
        if depth == Self.maximumDepth, peek == "[" || peek == "{" { throw failure("nested too deeply") }
        let content: TOMLNode.Content =
            switch peek {
            case "\"", "'": .string(try readString())
            case "[": .array(try readArray(depth: depth + 1))
            case "{": .table(try readInlineTable(depth: depth + 1))
            default: try readBareValue()
            }
        return TOMLNode(content: content, position: position, source: source(from: start))
    }

    private mutating func readArray(depth: Int) throws(TOMLSyntaxError) -> [TOMLNode] {
        let opening = position
        var elements: [TOMLNode] = []
        advance()
        while true {
            try skipBlanksLinesAndComments(opening: opening)
            if skip("]") { return elements }
            elements.append(try readValue(depth: depth))
            try skipBlanksLinesAndComments(opening: opening)
            guard skip(",") || peek == "]" else { throw failure("expected , or ] in the array") }
        }
    }

    private mutating func skipBlanksLinesAndComments(opening: TextPosition) throws(TOMLSyntaxError) {
        skipBlanksAndLines()
        while peek == "#" {
            try skipComment()
            skipBlanksAndLines()
        }
        if peek == nil { throw failure("the array has no closing ]", at: opening) }
    }

    private mutating func readInlineTable(depth: Int) throws(TOMLSyntaxError) -> [TOMLEntry] {
        let table = TOMLDefinition()
        advance()
        skipBlanks()
        if skip("}") { return [] }
        repeat {
            let (key, value) = try readPair(depth: depth)
            do throws(TOMLSyntaxError) { try table.define(key, as: value) } catch { valueError = valueError ?? error }
            skipBlanks()
        } while skip(",")
        guard skip("}") else { throw failure("expected , or } in the table, on the same line") }
        return table.entries
    }

    /// Reads any of the four kinds of strings.
    mutating func readString() throws(TOMLSyntaxError) -> String {
        let opening = position
        let mark = peek
        let isLong = next(1) == mark && next(2) == mark
        var text: [UInt8] = []
        advance(isLong ? 3 : 1)
        if isLong { _ = skipNewline() }
        while let byte = peek {
            if byte == mark, !isLong || next(1) == mark && next(2) == mark {
                // Up to two more marks belong to the text.
                for _ in 0..<2 where isLong && next(3) == mark {
                    text.append(bytes[offset])
                    advance()
                }
                advance(isLong ? 3 : 1)
                return String(decoding: text, as: UTF8.self)
            }
            if byte == "\\", mark == "\"" {
                if !isLong || !skipLineEnding() { text += try readEscape() }
            } else if !isLong, byte == "\n" || byte == "\r" {
                break
            } else if skipNewline() {
                text.append(UInt8(ascii: "\n"))
            } else {
                if let error = controlCharacter() { throw error }
                text.append(bytes[offset])
                advance()
            }
        }
        let marks = String(repeating: mark == "\"" ? "\"" : "'", count: isLong ? 3 : 1)
        throw failure("the string has no closing \(marks)", at: opening)
    }

    /// Skips a backslash that joins its line with the next. Returns false if it does not.
    private mutating func skipLineEnding() -> Bool {
        var ahead = self
        ahead.advance()
        ahead.skipBlanks()
        guard ahead.skipNewline() else { return false }
        ahead.skipBlanksAndLines()
        self = ahead
        return true
    }

    private mutating func readEscape() throws(TOMLSyntaxError) -> [UInt8] {
        let place = position
        advance()
        let letter = peek
        if let letter, let byte = Self.escapes[letter] {
            advance()
            return [byte]
        }
        guard letter == "u" || letter == "U" else {
            throw failure("unknown escape; write \\\\ for one backslash, or use 'single quotes'", at: place)
        }
        advance()
        let length = letter == "u" ? 4 : 8
        let digits = String(decoding: bytes[offset...].prefix(length), as: UTF8.self)
        guard digits.utf8.count == length, digits.allSatisfy(\.isHexDigit), let code = UInt32(digits, radix: 16),
            let scalar = Unicode.Scalar(code)
        else { throw failure("invalid Unicode escape", at: place) }
        guard code != 0 else { throw failure("\\u0000 is not allowed in paths, names and arguments", at: place) }
        advance(length)
        return Array(String(scalar).utf8)
    }

    private static let escapes: [Unicode.Scalar: UInt8] = [
        "b": 0x08, "t": 0x09, "n": 0x0A, "f": 0x0C, "r": 0x0D, "\"": 0x22, "\\": 0x5C,
    ]

    /// Reads booleans, decimal integers and fractions, dates and times. Anything else is usually text without quotes.
    private mutating func readBareValue() throws(TOMLSyntaxError) -> TOMLNode.Content {
        let begin = position
        let start = offset
        loop: while let byte = peek {
            switch byte {
            case "\r", "\n", "#", ",", "]", "}": break loop
            default: advance()
            }
        }
        let word = source(from: start)
        if word.isEmpty { throw failure("expected a value; write text in quotes", at: begin) }
        if let truth = Bool(word) { return .boolean(truth) }
        if let number = Self.number(word) { return number }
        guard let isPossible = Self.isPossibleTime(word) else {
            throw failure("put the value in quotes: \(excerpt(tomlString(word)))", at: begin)
        }
        if !isPossible { valueError = valueError ?? failure("invalid date or time", at: begin) }
        return .date
    }

    private static func number(_ word: String) -> TOMLNode.Content? {
        let digits = word.utf8.drop { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }
        let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard let whole = parts.first, whole.count == 1 || whole.first != UInt8(ascii: "0"),
            parts.allSatisfy({ (1...18).contains($0.count) && $0.allSatisfy(\.isASCIIDigit) })
        else { return nil }
        return parts.count == 1 ? Int(word).map { .integer($0) } : Double(word).map { .number($0) }
    }

    /// Returns whether a date or time is valid; nil if `word` is not a date or time.
    private static func isPossibleTime(_ word: String) -> Bool? {
        let shape = String(decoding: word.utf8.map { $0.isASCIIDigit ? UInt8(ascii: "0") : $0 }, as: UTF8.self)
        let (date, time) = ("0000-00-00", "00:00:00")
        let both = ["T", " "].flatMap { [date + $0 + time, date + $0 + time + "Z"] }
        guard shape == date || shape == time || both.contains(shape) else { return nil }
        let numbers = word.utf8.split { !$0.isASCIIDigit }.compactMap { Int(String(decoding: $0, as: UTF8.self)) }
        let isOfDay = zip(numbers.suffix(3), [23, 59, 59]).allSatisfy { $0 <= $1 }
        if shape == time { return isOfDay }
        let (year, month) = (numbers[0], numbers[1])
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let days = month == 2 ? isLeap ? 29 : 28 : [4, 6, 9, 11].contains(month) ? 30 : 31
        return (1...12).contains(month) && (1...days).contains(numbers[2]) && (shape == date || isOfDay)
    }
}
