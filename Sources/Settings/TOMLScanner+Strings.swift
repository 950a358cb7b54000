extension TOMLScanner {
    /// Any of the four kinds of strings; its text with escapes resolved, as far as keys need it: what stands on
    /// several lines is no key, so its text is not put together.
    mutating func scanString() throws(TOMLSyntaxError) -> String {
        let opening = position
        guard let mark = peek else { throw failure("expected a string") }
        if next(1) == mark, next(2) == mark {
            advance(3)
            try scanLines(to: mark, opening: opening)
            return ""
        }
        advance()
        var text = ""
        var start = offset
        while let byte = peek, byte != ASCII.newline, byte != ASCII.carriageReturn {
            if byte == mark {
                text += self.text(from: start)
                advance()
                return text
            }
            if byte == ASCII.backslash, mark == ASCII.quote {
                text += self.text(from: start)
                text.unicodeScalars.append(try scanEscape())
                start = offset
            } else {
                guard byte >= 0x20 && byte != 0x7F || byte == ASCII.tab else { throw controlCharacter() }
                advance()
            }
        }
        throw failure("the string has no closing \(mark == ASCII.quote ? "\"" : "'")", at: opening)
    }

    /// The rest of a string over several lines.
    private mutating func scanLines(to mark: UInt8, opening: TextPosition) throws(TOMLSyntaxError) {
        while let byte = peek {
            if byte == mark, next(1) == mark, next(2) == mark {
                advance(3)
                // Up to two more marks belong to the string itself.
                for _ in 0..<2 where peek == mark { advance() }
                return
            }
            if byte == ASCII.backslash, mark == ASCII.quote {
                if try !skipLineEnding() { _ = try scanEscape() }
            } else {
                let isPlain = byte >= 0x20 && byte != 0x7F || byte == ASCII.tab || byte == ASCII.newline
                guard isPlain || byte == ASCII.carriageReturn && next(1) == ASCII.newline else {
                    throw controlCharacter()
                }
                advance()
            }
        }
        let marks = mark == ASCII.quote ? "\"\"\"" : "'''"
        throw failure("the string has no closing \(marks)", at: opening)
    }

    /// A backslash at the end of a line joins it with the next text; false if this is none.
    private mutating func skipLineEnding() throws(TOMLSyntaxError) -> Bool {
        var distance = 1
        while next(distance) == ASCII.space || next(distance) == ASCII.tab { distance += 1 }
        if next(distance) == ASCII.carriageReturn { distance += 1 }
        guard next(distance) == ASCII.newline else { return false }
        advance(distance + 1)
        return true
    }

    private mutating func scanEscape() throws(TOMLSyntaxError) -> Unicode.Scalar {
        let place = position
        advance()
        guard let letter = peek else { throw failure("an escape without its letter", at: place) }
        switch letter {
        case UInt8(ascii: "b"): return simple("\u{8}")
        case UInt8(ascii: "t"): return simple("\t")
        case UInt8(ascii: "n"): return simple("\n")
        case UInt8(ascii: "f"): return simple("\u{C}")
        case UInt8(ascii: "r"): return simple("\r")
        case ASCII.quote: return simple("\"")
        case ASCII.backslash: return simple("\\")
        case UInt8(ascii: "u"), UInt8(ascii: "U"):
            advance()
            let length = letter == UInt8(ascii: "u") ? 4 : 8
            let digits = bytes[offset...].prefix(length)
            let isHex = digits.count == length && digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
            guard isHex, let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16),
                let scalar = Unicode.Scalar(code)
            else { throw failure("no such character", at: place) }
            // The parser's interface takes C strings: it would cut the text there, without a word.
            guard code != 0 else { throw failure("\\u0000 can stand in no path, name or argument", at: place) }
            advance(length)
            return scalar
        default:
            throw failure("no such escape; write \\\\ for one backslash, or use 'single quotes'", at: place)
        }
    }

    private mutating func simple(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        advance()
        return scalar
    }
}
