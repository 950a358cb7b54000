import Glibc
import Testing

@testable import Settings

struct TOMLDocumentTests {
    static func place(_ text: String, _ steps: TOMLPath.Step...) -> TOMLScanner.Place? {
        TOMLScanner(Array(text.utf8)).places[TOMLPath(steps: steps)]
    }

    @Test func placesOfKeysAndValues() throws {
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
        let a = try #require(Self.place(text, .key("a")))
        #expect(a == TOMLScanner.Place(key: at(1, 1), value: at(1, 5), source: "1"))
        let second = try #require(Self.place(text, .key("b.c"), .key("d"), .index(1), .key("y"), .key("z")))
        #expect(second == TOMLScanner.Place(key: at(4, 16), value: at(4, 22), source: "1979-05-27 07:32:00"))
        #expect(Self.place(text, .key("b.c"), .key("d"), .index(0))?.value == at(2, 19))
        #expect(Self.place(text, .key("ö"), .key("ü"))?.value == at(5, 11))
        #expect(Self.place(text, .key("ö"), .key("ü"))?.source == "'ä'")
        #expect(Self.place(text, .key("t"), .key("ab"), .key("after"))?.value == at(10, 9))
        #expect(Self.place(text, .key("t"), .key("ab"), .key("x")) == nil)
        #expect(Self.place(text, .key("array"), .index(0), .key("n"))?.value == at(12, 5))
        #expect(Self.place(text, .key("array"), .index(1), .key("n"))?.value == at(14, 5))
        #expect(Self.place(text, .key("array"), .index(1), .key("sub"), .key("n"))?.value == at(16, 5))
        #expect(TOMLDocument(Array(text.utf8)).errors == [])
    }

    @Test func syntaxErrorsHaveTheirPlacesAndDoNotHideOneAnother() {
        let document = TOMLDocument(Array("a = 1\nb = \nc = 3\nd = \"open\ne = 5\n".utf8))
        #expect(document.errors.map(\.position.line) == [2, 4])
        #expect(document.entries.map(\.key) == ["a", "c", "e"])
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
        ("a = \"\\q\"", "no such escape"),
        ("a = \"\\uD800\"", "no such character"),
        ("a = '\u{1}'", "control"),
        ("# \u{1B}", "control"),
        ("a = \"\\", "escape"),
        ("\"\"\"a\"\"\" = 1", "one line"),
        ("a = 1\na = 2", "redefine"),
        ("[a]\n[a]", "redefine"),
        ("a = 1979-13-40", "month"),
    ]

    @Test(arguments: malformed)
    func whatIsNotWellFormedIsRefused(text: String, word: String) { expectRefusal(of: text, word) }

    /// Not an argument, which would be printed with all its lines.
    @Test func whatIsTooLargeIsRefused() { expectRefusal(of: String(repeating: "\n", count: 1 << 21), "larger") }

    private func expectRefusal(of text: String, _ word: String) {
        let document = TOMLDocument(Array(text.utf8))
        #expect(document.errors.count == 1 && document.errors.allSatisfy { $0.message.contains(word) }, "\(document)")
    }

    @Test func otherEncodingsAreRefusedWhereTheyStand() {
        let document = TOMLDocument(Array("a = 1\nb = \"ä".utf8) + [0xC3, 0x22])
        #expect(document.errors.map(\.position) == [TextPosition(line: 2, column: 7)])
        #expect(document.errors.first?.message.contains("UTF-8") == true)
    }

    @Test func anEscapedBackslashBeforeU0000IsHarmless() {
        #expect(TOMLDocument(Array("a = \"\\\\u0000\"".utf8)).errors == [])
    }

    @Test func byteOrderMarksAndCarriageReturnsAreTolerated() {
        let document = TOMLDocument([0xEF, 0xBB, 0xBF] + Array("a = \"x\"\r\n\r\n[b]\r\nc = 'y'\r\n".utf8))
        #expect(document.errors == [])
        #expect(
            document.entries.map(\.node.position)
                == [.first, TextPosition(line: 3, column: 2)].map { position in
                    position == .first ? TextPosition(line: 1, column: 5) : position
                })
        #expect(document.entries.first?.node.source == "\"x\"")
    }

    @Test func deepNestingEnds() {
        for text in ["a = " + String(repeating: "[", count: 4000), String(repeating: "a = [\n", count: 3000)] {
            #expect(!TOMLDocument(Array(text.utf8)).errors.isEmpty)
        }
        let inline = "a = " + String(repeating: "{a=", count: 200) + "1" + String(repeating: "}", count: 200)
        #expect(!TOMLDocument(Array(inline.utf8)).errors.isEmpty)
        let balanced = "a = " + String(repeating: "[", count: 250) + String(repeating: "]", count: 250)
        #expect(!mistakes(balanced).isEmpty)
    }

    @Test("A text that is read again and again costs memory once")
    func textsThatAreReadAgain() async {
        await #expect(processExitsWith: .success) {
            func mostKilobytes() -> Int {
                var usage = rusage()
                getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
                return usage.ru_maxrss
            }
            let timer = "[[timer]]\nname = \"n\"\nevery = \"1h\"\naction = \"dump\"\n"
            let text = Array(String(repeating: timer, count: 20).utf8)
            let first = TOMLDocument.reading(text)
            let before = mostKilobytes()
            for _ in 0..<1_000 where TOMLDocument.reading(text).entries != first.entries { exit(1) }
            // TOMLKit keeps ten times as much.
            exit(mostKilobytes() - before < 1_000 ? 0 : 1)
        }
    }

    @Test func theTextThatNobodyAskedForIsForgotten() {
        var recent = RecentTexts<Int>()
        for number in 0..<RecentTexts<Int>.most { recent.keep(number, of: [UInt8(number)]) }
        #expect(recent.made(of: [0]) == 0)
        recent.keep(100, of: [100])
        #expect(recent.made(of: [0]) == 0 && recent.made(of: [1]) == nil && recent.made(of: [100]) == 100)
        recent.keep(101, of: [100])
        #expect(recent.made(of: [2]) == 2 && recent.made(of: [100]) == 101)
    }
}
