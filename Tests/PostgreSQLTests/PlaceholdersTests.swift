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
        ])
    func rewriting(source: String, result: String) {
        #expect(Placeholders(source).sql == result)
    }
}
