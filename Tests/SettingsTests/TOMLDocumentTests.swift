import Glibc
import Testing

@testable import Settings

struct TOMLDocumentTests {
    /// Returns the entry at `steps`, names of keys or indices of arrays. Elements of arrays have no key.
    static func entry(_ text: String, _ steps: String...) -> TOMLEntry? {
        var found: TOMLEntry?
        var entries = TOMLDocument(Array(text.utf8)).entries
        for step in steps {
            found = entries.first { $0.key == step }
            switch found?.node.content {
            case .table(let inner): entries = inner
            case .array(let elements):
                entries = elements.enumerated().map {
                    TOMLEntry(key: "\($0.offset)", position: $0.element.position, node: $0.element)
                }
            default: entries = []
            }
        }
        return found
    }

    @Test func positionsOfKeysAndValues() throws {
        let text = """
            a = 1 # one
              "b.c" . 'd' = [ 10,
                # comment ]
                { x = "}", y.z = 1979-05-27 07:32:00 }, ]
            'ö'."ü" = 'ä'   \n\
            [t."\\u0061b"]
            long = \"\"\"
            x = 1
            \\\"\"\" ]\"\"\"\"\"
            after = true
            [[array]]
            n = 1
            [[array]]
            n = 2
            [array.sub]
            n = 3
            """
        func at(_ line: Int, _ column: Int) -> TextPosition { TextPosition(line: line, column: column) }
        let a = try #require(Self.entry(text, "a"))
        #expect(a.position == at(1, 1) && a.node.position == at(1, 5) && a.node.source == "1")
        let second = try #require(Self.entry(text, "b.c", "d", "1", "y", "z"))
        #expect(second.position == at(4, 16) && second.node.position == at(4, 22))
        #expect(second.node.source == "1979-05-27 07:32:00")
        #expect(Self.entry(text, "b.c", "d", "0")?.node.position == at(2, 19))
        #expect(Self.entry(text, "b.c")?.node.source == "\"b.c\" . 'd'")
        #expect(Self.entry(text, "ö", "ü")?.node.position == at(5, 11))
        #expect(Self.entry(text, "ö", "ü")?.node.source == "'ä'")
        #expect(Self.entry(text, "t", "ab", "after")?.node.position == at(10, 9))
        #expect(Self.entry(text, "t", "ab")?.node.source == "t.\"\\u0061b\"")
        #expect(Self.entry(text, "t", "ab", "x") == nil)
        #expect(Self.entry(text, "array")?.position == at(11, 3))
        #expect(Self.entry(text, "array", "0", "n")?.node.position == at(12, 5))
        #expect(Self.entry(text, "array", "1")?.position == at(13, 3))
        #expect(Self.entry(text, "array", "1", "n")?.node.position == at(14, 5))
        #expect(Self.entry(text, "array", "1", "sub", "n")?.node.position == at(16, 5))
        #expect(TOMLDocument(Array(text.utf8)).errors == [])
    }

    @Test func everySyntaxErrorIsReportedAtItsPosition() {
        let document = TOMLDocument(Array("a = 1\nb = \nc = 3\nd = \"open\ne = 5\n".utf8))
        #expect(document.errors.map(\.position.line) == [2, 4])
        #expect(document.entries.map(\.key) == ["a", "c", "e"])
    }

    @Test func statementsAfterABadOneAreRead() {
        let text = """
            # \u{1}
            a
            b = 1 # \u{1}
            [c] d
            a = 1
            a = 2
            [ e]
            list = [
              { x = 1, x = 2 },
              "y = 1", 1979-02-29,
            ]
            b = 1
            [[e]]
            b = 1
            [ f ]
            b = "open
            g = 1
            """
        let document = TOMLDocument(Array(text.utf8))
        #expect(document.errors.map(\.position.line) == [1, 2, 3, 4, 6, 9, 13, 16], "\(document.errors)")
        #expect(document.entries.map(\.key) == ["e", "f"])
        #expect(Self.entry(text, "e", "b")?.position.line == 12 && Self.entry(text, "f", "g")?.position.line == 17)
    }

    @Test func atMostTwentyErrorsAreReported() {
        let document = TOMLDocument(Array(String(repeating: "a = 1\n", count: 100).utf8))
        #expect(document.errors.map(\.position.line) == Array(2...21))
    }

    private static let malformed: [(text: String, word: String)] = [
        ("a=1\nb\u{0}", "NUL"),
        (String(repeating: "a.", count: 40) + "a = 1", "too many"),
        ("a = \"\\u0000\"", "u0000"),
        ("a = \"\\\\\\U00000000\"", "u0000"),
        ("[[a]", "]]"),
        ("a = 0x10", "quotes"),
        ("a = /var/lib", "quotes: \"/var/lib\""),
        ("a = \"x", "closing \""),
        ("a = '''x\n", "closing '''"),
        ("a = [1,\n2\n", "closing ]"),
        ("a = ['1' '2']", "expected , or ]"),
        ("a = [1,\n", "closing ]"),
        ("a = [1 2]", "quotes"),
        ("a = {b = 1,\n}", "key"),
        ("a = 1 b = 2", "quotes"),
        ("a = 'x' b = 2", "line of its own"),
        ("a", "expected ="),
        ("a =", "expected a value"),
        ("a = \"\\q\"", "unknown escape"),
        ("a = \"\\uD800\"", "invalid Unicode escape"),
        ("a = '\u{1}'", "control"),
        ("# \u{1B}", "control"),
        ("a = \"\\", "escape"),
        ("\"\"\"a\"\"\" = 1", "one line"),
        ("a = 1\na = 2", "twice"),
        ("[a]\n[a]", "twice"),
        ("a = 1979-13-40", "invalid date or time"),
        ("a = 24:00:00", "invalid date or time"),
    ]

    @Test(arguments: malformed)
    func malformedDocumentIsRefused(text: String, word: String) { expectRefusal(of: text, word) }

    /// Not an argument of the test above, since arguments are printed.
    @Test func tooLargeDocumentIsRefused() { expectRefusal(of: String(repeating: "\n", count: 1 << 21), "larger") }

    private func expectRefusal(of text: String, _ word: String) {
        let document = TOMLDocument(Array(text.utf8))
        #expect(document.errors.count == 1 && document.errors.allSatisfy { $0.message.contains(word) }, "\(document)")
    }

    @Test func invalidUTF8IsRefusedAtItsPosition() {
        let document = TOMLDocument(Array("a = 1\nb = \"ä".utf8) + [0xC3, 0x22])
        #expect(document.errors.map(\.position) == [TextPosition(line: 2, column: 7)])
        #expect(document.errors.first?.message.contains("UTF-8") == true)
    }

    @Test func escapedBackslashBeforeU0000IsAccepted() {
        #expect(TOMLDocument(Array("a = \"\\\\u0000\"".utf8)).errors == [])
    }

    @Test func byteOrderMarkAndCarriageReturnsAreAccepted() {
        let document = TOMLDocument([0xEF, 0xBB, 0xBF] + Array("a = \"x\"\r\n\r\n[b]\r\nc = 'y'\r\n".utf8))
        #expect(document.errors == [])
        #expect(
            document.entries.map(\.node.position)
                == [.first, TextPosition(line: 3, column: 2)].map { position in
                    position == .first ? TextPosition(line: 1, column: 5) : position
                })
        #expect(document.entries.first?.node.source == "\"x\"")
    }

    @Test func deepNestingIsRefused() {
        for text in ["a = " + String(repeating: "[", count: 4000), String(repeating: "a = [\n", count: 3000)] {
            #expect(!TOMLDocument(Array(text.utf8)).errors.isEmpty)
        }
        let inline = "a = " + String(repeating: "{a=", count: 200) + "1" + String(repeating: "}", count: 200)
        #expect(!TOMLDocument(Array(inline.utf8)).errors.isEmpty)
        let balanced = "a = " + String(repeating: "[", count: 250) + String(repeating: "]", count: 250)
        #expect(!mistakes(balanced).isEmpty)
    }

    @Test("Reading many different texts leaks no memory")
    func memory() async {
        await #expect(processExitsWith: .success) {
            func mostKilobytes() -> Int {
                var usage = rusage()
                getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
                return usage.ru_maxrss
            }
            func entries(_ number: Int) -> Int {
                let timer = "[[timer]]\nname = \"n\(number)\"\nevery = \"1h\"\naction = \"dump\"\n"
                return TOMLDocument(Array(String(repeating: timer, count: 20).utf8)).entries.count
            }
            for number in 0..<50 where entries(number) != 1 { exit(1) }
            let before = mostKilobytes()
            for number in 0..<1_000 where entries(number) != 1 { exit(1) }
            exit(mostKilobytes() - before < 1_000 ? 0 : 1)
        }
    }
}
