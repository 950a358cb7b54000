import TestSupport
import Testing

@testable import CSV

/// The fields of each record of `text`, read `block` bytes at a time; of a faulty record only its line and fault.
private func records(_ text: [UInt8], block: Int = .max, separator: UInt8 = UInt8(ascii: ",")) -> [[String]] {
    var rest = text[...]
    var reader = CSVReader<Never>(separator: separator) { buffer in
        let part = rest.prefix(min(block, buffer.count))
        rest = rest.dropFirst(part.count)
        buffer.copyBytes(from: part)
        return part.count
    }
    var (record, all) = (CSVRecord(), [[String]]())
    while reader.next(&record) {
        all.append(
            record.fault.map { ["\(record.line): \($0)"] }
                ?? (0..<record.count).map { String(decoding: record[field: $0], as: UTF8.self) })
    }
    return all
}

private func records(_ text: String, separator: UInt8 = UInt8(ascii: ",")) -> [[String]] {
    let whole = records(Array(text.utf8), separator: separator)
    // Wherever the blocks end.
    for block in [1, 2, 3, 7] where records(Array(text.utf8), block: block, separator: separator) != whole {
        return [["differs in blocks of \(block)"]]
    }
    return whole
}

@Suite("Reading CSV") struct CSVReaderTests {
    @Test(
        "Valid records are read",
        arguments: [
            ("a,b\r\nc,d\r\n", [["a", "b"], ["c", "d"]]),
            ("a,b\nc,d", [["a", "b"], ["c", "d"]]),
            ("\"a\"\"b\",\"c,d\"\n", [["a\"b", "c,d"]]),
            ("\"two\r\nlines\",x\n", [["two\r\nlines", "x"]]),
            ("\n\r\n\na\n\n", [["a"]]),
            ("a,,\n,,\n", [["a", "", ""], ["", "", ""]]),
            ("\"\"\n", [[""]]),
            ("a b\"c,d\n", [["a b\"c", "d"]]),
            ("a\"", [["a\""]]),
            ("\"a\"", [["a"]]),
            ("\"a\"\r", [["a"]]),
            ("a\rb,c\n", [["a\rb", "c"]]),
            ("", []),
        ])
    func valid(_ text: String, _ wanted: [[String]]) { #expect(records(text) == wanted) }

    @Test(
        "A faulty record is reported, and reading continues after its first line",
        arguments: [
            ("\"a\"b,c\nd,e\n", [["1: textAfterQuote"], ["d", "e"]]),
            ("a,b\n\"never,closed\nd,e\nf,g\n", [["a", "b"], ["2: unclosedQuote"], ["d", "e"], ["f", "g"]]),
            ("\"a\"\rb\nc\n", [["1: textAfterQuote"], ["c"]]),
            ("a\u{0}b\nc\n", [["1: zeroByte"], ["c"]]),
            ("\"a\u{0}b\"\nc\n", [["1: zeroByte"], ["c"]]),
        ])
    func faulty(_ text: String, _ wanted: [[String]]) { #expect(records(text) == wanted) }

    @Test("A byte order mark is skipped, and another separator can be set")
    func byteOrderMark() {
        #expect(records(Array("\u{FEFF}a,b\n".utf8)) == [["a", "b"]])
        #expect(records("a;b;\"c;d\"\n", separator: UInt8(ascii: ";")) == [["a", "b", "c;d"]])
    }

    @Test("A record that is too long loses only its first line")
    func tooLong() {
        let long =
            Array("x,".utf8) + Array(repeating: UInt8(ascii: "y"), count: 3 << 20) + [lineFeed] + Array("a,b\n".utf8)
        #expect(records(long, block: 100_000) == [["1: tooLong"], ["a", "b"]])
        let unclosed = Array("\"".utf8) + Array(repeating: lineFeed, count: 2 << 20) + Array("a,b\n".utf8)
        #expect(records(unclosed, block: 100_000) == [["1: tooLong"], ["a", "b"]])
    }

    @Test("Records have their offsets and lines")
    func positions() {
        let text = Array("h\n\"a\nb\",c\n\n\"x\"y\nlast\n".utf8)
        var (rest, record) = (text[...], CSVRecord())
        var reader = CSVReader<Never> { buffer in
            let part = rest.prefix(4)
            rest = rest.dropFirst(4)
            buffer.copyBytes(from: part)
            return part.count
        }
        var told: [String] = []
        while reader.next(&record) {
            told.append("\(record.line) \(record.offset)-\(record.end) \(String(decoding: reader.raw, as: UTF8.self))")
            // A reader that starts there must read the same.
            #expect(record.end >= record.offset && record.nextLine > record.line)
        }
        #expect(told == ["1 0-2 h\n", "2 2-10 \"a\nb\",c\n", "5 11-16 \"x\"y\n", "6 16-21 last\n"])
    }

    @Test("Written records are read back unchanged", arguments: 0..<300) func roundTrip(_ seed: UInt64) {
        var numbers = SeededGenerator(seed: seed)
        let alphabet = Array("ab,\"\n\r'=+-@\t ;é".utf8)
        let wanted = (0..<Int.random(in: 1...20, using: &numbers)).map { _ in
            (0..<Int.random(in: 2...5, using: &numbers)).map { _ in
                (0..<Int.random(in: 0...8, using: &numbers)).map { _ in alphabet.randomElement(using: &numbers) ?? 0 }
            }
        }
        var text = CSVText()
        for record in wanted {
            for field in record { text.field(field) }
            text.endRecord()
        }
        let written = text.removeAll()
        #expect(text.removeAll().isEmpty)
        var (rest, record, read) = (written[...], CSVRecord(), [[[UInt8]]]())
        let block = Int.random(in: 1...64, using: &numbers)
        var reader = CSVReader<Never> { buffer in
            let part = rest.prefix(block)
            rest = rest.dropFirst(part.count)
            buffer.copyBytes(from: part)
            return part.count
        }
        while reader.next(&record) {
            #expect(record.fault == nil)
            read.append(
                (0..<record.count).map { field in
                    let bytes = record[field: field]
                    // Spreadsheets would not treat it as a formula.
                    #expect(bytes.first.map { !"=+-@\t\r".utf8.contains($0) } ?? true)
                    return Array(CSVText.isGuarded(bytes) ? bytes.dropFirst() : bytes)
                })
        }
        #expect(read == wanted)
    }
}
