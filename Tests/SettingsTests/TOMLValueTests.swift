import Testing

@testable import Settings

/// Values by their notation.
struct TOMLValueTests {
    private static func content(_ source: String) -> TOMLNode.Content? {
        let document = TOMLDocument(Array("a = \(source) # comment\n".utf8))
        return document.errors.isEmpty ? document.entries.first?.node.content : nil
    }

    @Test(arguments: [
        (#""""#, ""), ("''", ""), (#""""""""#, ""), ("''''''", ""),
        (#""\b\t\n\f\r\"\\""#, "\u{8}\t\n\u{C}\r\"\\"),
        (#""\u00e9\u00E9\U0001F600""#, "éé😀"),
        (#"'\n "x" #'"#, #"\n "x" #"#),
        ("\"\tä\"", "\tä"),
        ("\"\"\"\nfirst\n\nthird\"\"\"", "first\n\nthird"),
        ("'''\r\nfirst\r\nsecond\\\n'''", "first\nsecond\\\n"),
        ("\"\"\"\n\nx\"\"\"", "\nx"),
        ("\"\"\"one \\\n   \n\r\n\t two\\  \n  three\\\r\n\"\"\"", "one twothree"),
        (#""""a "quoted" ""word"" \"""\u0021""""#, #"a "quoted" ""word"" """!"#),
        ("'''it''s'''''", "it''s''"),
        (#"""""""""#, "\""),
        ("\"\"\"a = 1\n[b]\"\"\"", "a = 1\n[b]"),
    ])
    func strings(source: String, text: String) { #expect(Self.content(source) == .string(text)) }

    @Test(arguments: [
        ("0", 0), ("-0", 0), ("+7", 7), ("-12", -12), ("123456789012345678", 123_456_789_012_345_678),
        ("-999999999999999999", -999_999_999_999_999_999),
    ])
    func integers(source: String, number: Int) { #expect(Self.content(source) == .integer(number)) }

    @Test(arguments: [("1.5", 1.5), ("-0.25", -0.25), ("+0.0", 0), ("10.01", 10.01)])
    func fractions(source: String, number: Double) { #expect(Self.content(source) == .number(number)) }

    @Test func booleans() {
        #expect(Self.content("true") == .boolean(true))
        #expect(Self.content("false") == .boolean(false))
    }

    @Test(arguments: [
        "1979-05-27", "07:32:00", "23:59:59", "1979-05-27T07:32:00", "1979-05-27 07:32:00Z", "2024-02-29", "2000-02-29",
    ])
    func datesAndTimes(source: String) { #expect(Self.content(source) == .date) }

    @Test(arguments: [
        "01", "1.", ".5", "1.2.3", "+-1", "1234567890123456789", "1e5", "1_000", "0x1F", "inf", "nan", "True", "yes",
        "2023-02-29", "1900-02-29", "2024-04-31", "2024-00-01", "2024-01-00", "23:60:00", "23:59:60", "07:32",
        "1979-05-27T24:00:00Z", "1979-05-27x07:32:00", #""""a"""""""#, "'''a''''''", "\"a\nb\"", "'a\rb'", "\"\u{7F}\"",
        #""\x41""#, #""\u12""#, #""\u+123""#, #""\U00110000""#,
    ])
    func invalidNotationIsRefused(source: String) { #expect(Self.content(source) == nil) }

    @Test func arraysAndTables() throws {
        func node(_ content: TOMLNode.Content, _ column: Int, _ source: String) -> TOMLNode {
            TOMLNode(content: content, position: TextPosition(line: 1, column: column), source: source)
        }
        let one = node(.integer(1), 13, "1")
        let key = TextPosition(line: 1, column: 9)
        let inner = node(.table([TOMLEntry(key: "c", position: key, node: one)]), 9, "b.c")
        let table = node(.table([TOMLEntry(key: "b", position: key, node: inner)]), 7, "{ b.c=1 }")
        #expect(Self.content("[ { b.c=1 },'x'\t,]") == .array([table, node(.string("x"), 17, "'x'")]))
        #expect(Self.content("[]") == .array([]) && Self.content("[\n# ]\n]") == .array([]))
        #expect(Self.content("{}") == .table([]) && Self.content("{\n}") == nil)
    }
}
