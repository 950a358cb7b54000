import Testing

@testable import Settings

/// Definitions of names that are already defined.
struct TOMLDefinitionTests {
    private static func errors(_ text: String) -> [String] {
        TOMLDocument(Array(text.utf8)).errors.map { "\($0.position.line):\($0.position.column): \($0.message)" }
    }

    @Test(arguments: [
        ("a = 1\n\nquiet = 2\n 'quiet' = 3", "4:2: the key \"quiet\" is defined twice; first on line 3"),
        ("a.b = 1\na.b = 2", "2:1: the key \"a.b\" is defined twice; first on line 1"),
        ("a.b = 1\na = 2", "2:1: the key \"a\" is defined twice; first on line 1"),
        ("[x]\na = 1\na = 2", "3:1: the key \"a\" is defined twice; first on line 2"),
        ("[a.b]\n[a]\nb = 1", "3:1: the key \"b\" is defined twice; first on line 1"),
        ("[[a.b]]\n[a]\nb = []", "3:1: the key \"b\" is defined twice; first on line 1"),
        ("a = { b = 1, b = 2 }", "1:14: the key \"b\" is defined twice; first on line 1"),
        ("[a.b]\n[a]\n[ a ]", "3:3: the table \"a\" is defined twice; first on line 2"),
        ("a = 1\n[a]", "2:2: the table \"a\" is defined twice; first on line 1"),
        ("a = { }\n[a]", "2:2: the table \"a\" is defined twice; first on line 1"),
        ("a = []\n[[a]]", "2:3: the table \"a\" is defined twice; first on line 1"),
        ("[a]\n[[a]]", "2:3: the table \"a\" is defined twice; first on line 1"),
        ("[[a]]\n[a]", "2:2: the table \"a\" is defined twice; first on line 1"),
        ("[a.b]\n[[a]]", "2:3: the table \"a\" is defined twice; first on line 1"),
        ("[x]\na.b.c = 1\n[x.a]", "3:2: the table \"x.a\" is defined twice; first on line 2"),
        ("[x]\na.b.c = 1\n[x.a.b]", "3:2: the table \"x.a.b\" is defined twice; first on line 2"),
        ("[a.b.c]\n[a]\nb.d = 1\n[a.b]", "4:2: the table \"a.b\" is defined twice; first on line 1"),
        ("a = 1\na.b = 2", "2:1: \"a\" is defined on line 1 as an integer; nothing can be added to it"),
        ("a.b = 'x'\na.b.c = 2", "2:1: \"a.b\" is defined on line 1 as a string; nothing can be added to it"),
        ("a = {b = 1}\na.c = 2", "2:1: \"a\" is defined on line 1 as an inline table; nothing can be added to it"),
        ("a = {b = {}, b.c = 2}", "1:14: \"b\" is defined on line 1 as an inline table; nothing can be added to it"),
        ("a.b = {}\n[a.b.c]", "2:2: \"a.b\" is defined on line 1 as an inline table; nothing can be added to it"),
        ("a = [{}]\n[a.b]", "2:2: \"a\" is defined on line 1 as an array; nothing can be added to it"),
        ("[x]\na = true\n[[x.a.b]]", "3:3: \"x.a\" is defined on line 2 as a boolean; nothing can be added to it"),
        ("[a.b.c]\nz = 9\n[a]\nb.c.t = 1", "4:1: \"b.c\" has a header, on line 1; write the key below it"),
        ("[[a.b]]\n[a]\nb.y = 2", "3:1: \"b\" has a header, on line 1; write the key below it"),
    ])
    func secondDefinitionIsRefused(text: String, error: String) { #expect(Self.errors(text) == [error]) }

    @Test(arguments: [
        "a.b = 1\na.c.d = 1\na.c.e = 2", "[a.b]\n[a]", "[a.b]\n[a]\nc = 1\n[a.d]", "[x]\na.b = 1\n[x.a.c]\nd = 1",
        "[[a]]\n[a.b]\n[[a]]\n[a.b]\n[[a.c]]\n[[a.c]]", "[a.b.c]\n[a]\nb.d = 1", "[[a]]\nb = 1\n[[a]]\nb = 1",
        "a = {b.c = 1, b.d = 2}", "'' = 1\n\"a.b\" = 1\na.b = 1",
        "'\u{E9}' = 1\n'e\u{301}' = 1",
    ])
    func additionToATableIsAccepted(text: String) { #expect(Self.errors(text) == []) }

    @Test func refusedStatementDefinesNothing() {
        let text = "[a.b.c]\n[a]\nb.c.x.y = 1\n[a.b]\n[a]\n[a.b.c.x]\nz = 1\n[q\na = 1\n[q]\na = 1\na.b = 1"
        #expect(TOMLDocument(Array(text.utf8)).errors.map(\.position.line) == [3, 5, 8, 12])
    }
}
