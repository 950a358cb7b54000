extension TOMLScanner {
    mutating func scanValue(at path: TOMLPath, key: TextPosition, depth: Int) throws(TOMLSyntaxError) {
        let valuePosition = position
        let start = offset
        switch peek {
        case ASCII.quote, ASCII.apostrophe: _ = try scanString()
        case ASCII.bracket:
            guard depth < Self.deepest else { throw failure("nested too deeply") }
            try scanArray(at: path, depth: depth + 1)
        case ASCII.brace:
            guard depth < Self.deepest else { throw failure("nested too deeply") }
            try scanInlineTable(at: path, depth: depth + 1)
        default: try scanBareValue()
        }
        note(path, key: key, value: valuePosition, source: text(from: start).trimmingTrailingBlanks)
    }

    private mutating func scanArray(at path: TOMLPath, depth: Int) throws(TOMLSyntaxError) {
        let opening = position
        advance()
        var index = 0
        while true {
            try skipBlanksAndLines(opening: opening)
            if peek == ASCII.closingBracket { return advance() }
            try scanValue(at: path.appending(.index(index)), key: position, depth: depth)
            index += 1
            try skipBlanksAndLines(opening: opening)
            if peek == ASCII.comma {
                advance()
            } else if peek != ASCII.closingBracket {
                throw failure("expected , or ] in the array")
            }
        }
    }

    private mutating func skipBlanksAndLines(opening: TextPosition) throws(TOMLSyntaxError) {
        while let byte = peek {
            switch byte {
            case ASCII.space, ASCII.tab, ASCII.newline: advance()
            case ASCII.carriageReturn where next(1) == ASCII.newline: advance()
            case ASCII.hash: try skipComment()
            default: return
            }
        }
        throw failure("the array has no closing ]", at: opening)
    }

    private mutating func scanInlineTable(at path: TOMLPath, depth: Int) throws(TOMLSyntaxError) {
        advance()
        skipBlanks()
        if peek == ASCII.closingBrace { return advance() }
        while true {
            skipBlanks()
            try scanPair(in: path, depth: depth)
            skipBlanks()
            switch peek {
            case ASCII.comma: advance()
            case ASCII.closingBrace: return advance()
            default: throw failure("expected , or } in the table, on the same line")
            }
        }
    }

    /// Booleans, decimal integers and fractions, dates and times. All else is most often text without quotes.
    private mutating func scanBareValue() throws(TOMLSyntaxError) {
        let start = offset
        let begin = position
        while let byte = peek, !Self.endsBareValue.contains(byte) { advance() }
        let word = text(from: start).trimmingTrailingBlanks
        if word.isEmpty { throw failure("expected a value; text stands in quotes", at: begin) }
        guard Self.isPlainValue(Array(word.utf8)) else {
            throw failure("put the value in quotes: \(excerpt(tomlString(word)))", at: begin)
        }
    }

    private static let endsBareValue = Set("\r\n#,]}".utf8)

    private static func isPlainValue(_ word: [UInt8]) -> Bool {
        if word == Array("true".utf8) || word == Array("false".utf8) { return true }
        let shape = word.map { (0x30...0x39).contains($0) ? UInt8(ascii: "0") : $0 }
        let date = Array("0000-00-00".utf8)
        let time = Array("00:00:00".utf8)
        if shape == date || shape == time { return true }
        if shape.starts(with: date) {
            let rest = shape.dropFirst(date.count + 1)
            let separator = shape[date.count]
            return (separator == UInt8(ascii: "T") || separator == ASCII.space)
                && (rest.elementsEqual(time) || rest.elementsEqual(time + [UInt8(ascii: "Z")]))
        }
        var digits = word[...]
        if digits.first == UInt8(ascii: "+") || digits.first == UInt8(ascii: "-") { digits.removeFirst() }
        let parts = digits.split(separator: ASCII.dot, maxSplits: 2, omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let whole = parts.first, whole.count == 1 || whole.first != 0x30 else {
            return false
        }
        return parts.allSatisfy { (1...18).contains($0.count) && $0.allSatisfy { (0x30...0x39).contains($0) } }
    }
}
