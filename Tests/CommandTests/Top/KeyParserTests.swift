import Testing

@testable import Top

struct KeyParserTests {
    private static func keys(_ text: String) -> [Key] {
        var parser = KeyParser()
        return parser.add(text.utf8)
    }

    @Test func letters() {
        let scalars: [Unicode.Scalar] = ["q", "é", "写", "\u{1F4F7}"]
        #expect(Self.keys("qé写\u{1F4F7}") == scalars.map { .character($0) })
        #expect(Self.keys("\r\n\t\u{7F}\u{8}") == [.enter, .enter, .tab, .backspace, .backspace])
        #expect(Self.keys("\u{1}\u{0}\u{13}") == [], "control characters are no keys")
    }

    @Test(arguments: [
        ("\u{1B}[A", Key.up), ("\u{1B}OB", .down), ("\u{1B}[C", .right), ("\u{1B}[D", .left), ("\u{1B}[5~", .pageUp),
        ("\u{1B}[6~", .pageDown), ("\u{1B}[H", .home), ("\u{1B}[4~", .end), ("\u{1B}[Z", .backTab),
    ]) func sequences(_ bytes: String, _ key: Key) {
        #expect(Self.keys(bytes + "x") == [key, .character("x")])
        // The same where each byte comes alone.
        var parser = KeyParser()
        #expect(bytes.utf8.flatMap { parser.add([$0]) } == [key])
        #expect(!parser.isWaiting)
    }

    @Test func unknownSequencesAreNoLetters() {
        #expect(Self.keys("\u{1B}[1;5Aq") == [.character("q")])
        #expect(Self.keys("\u{1B}[200~q") == [.character("q")])
        // One that never ends gives up in time.
        #expect(Self.keys("\u{1B}[" + String(repeating: "1", count: 40) + "q").last == .character("q"))
    }

    @Test func aLoneEscapeIsTheKey() {
        var parser = KeyParser()
        #expect(parser.add([0x1B]) == [] && parser.isWaiting)
        #expect(parser.flush() == [.escape])
        #expect(!parser.isWaiting && parser.flush() == [])
        #expect(Self.keys("\u{1B}q") == [.escape, .character("q")])
        #expect(Self.keys("\u{1B}\u{1B}[A") == [.escape, .up])
    }

    @Test func bytesThatAreNoText() {
        var parser = KeyParser()
        #expect(parser.add([0xFF, 0xFE, 0x80, UInt8(ascii: "q")]) == [.character("q")])
        #expect(parser.add([0xC3]) == [] && !parser.isWaiting)
        #expect(parser.add([0xA9]) == [.character("é")])
    }
}
