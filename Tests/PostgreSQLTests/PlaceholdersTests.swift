import Testing

@testable import PostgreSQL

@Suite("Placeholders")
struct PlaceholdersTests {
    @Test(
        "They are numbered outside what is quoted",
        arguments: [
            ("a = ? AND b = ?", "a = $1 AND b = $2"),
            ("'?' || ? || 'it''s ?'", "'?' || $1 || 'it''s ?'"),
            ("'\\' || ?", "'\\' || $1"),
            ("E'\\'?' || ?", "E'\\'?' || $1"),
            ("E'a''\\'?' || ?", "E'a''\\'?' || $1"),
            ("\"a?\"\"?\" = ?", "\"a?\"\"?\" = $1"),
            ("? -- ?\n?", "$1 -- ?\n$2"),
            ("/* ? /* ? */ ? */ ?", "/* ? /* ? */ ? */ $1"),
            ("$$ ? $$ ?", "$$ ? $$ $1"),
            ("$a$ ? $$ ? $a$ ?", "$a$ ? $$ ? $a$ $1"),
            ("a$b$ ?", "a$b$ $1"),
            ("'unended ?", "'unended ?"), ("/* ?", "/* ?"), ("$x$ ?", "$x$ ?"), ("$", "$"), ("$1 ?", "$1 $1"),
            ("ü = ?", "ü = $1"), ("", ""),
            ("a = ?2 AND b = ?1 AND c = ?2", "a = $2 AND b = $1 AND c = $2"),
            ("?12+?1::text||'?3 ?'", "$12+$1::text||'?3 ?'"), ("?65535", "$65535"), ("?01", "$1"),
        ])
    func rewriting(source: String, result: String) throws {
        #expect(try Placeholders(source).sql == result)
    }

    @Test(
        "Those that cannot be numbered are refused",
        arguments: [
            "? ?1", "?1 ?", "?2 + '?' + ?", "?0", "?65536", "?99999999999999999999",
        ])
    func refused(source: String) {
        let error = failure { _ = try Placeholders(source) }
        #expect(error?.message.contains("placeholder") == true, "\(String(describing: error))")
    }

    @Test("More than the protocol can count are refused")
    func many() throws {
        #expect(try Placeholders(String(repeating: "?", count: 65_535)).sql.hasSuffix("$65535"))
        #expect(failure { _ = try Placeholders(String(repeating: "?", count: 65_536)) } != nil)
    }
}
