import Foundation
import Testing

/// Large types are named in ARCHITECTURE.md, each with the reason why it is not split.
@Suite("Types above 25 methods or 12 stored properties are explained", .timeLimit(.minutes(60)))
struct TypeSizeTests {
    struct Size: Equatable {
        var methods = 0
        var properties = 0

        var isLarge: Bool { methods > 25 || properties > 12 }
    }

    @Test func everyLargeTypeIsExplainedAndNoOther() throws {
        let sizes = Self.sizes(of: try Checkout.files(below: "Sources", suffix: ".swift"))
        let text = try String(contentsOf: Checkout.directory.appending(path: "ARCHITECTURE.md"), encoding: .utf8)
        let section = text.components(separatedBy: "\n## Large types\n").last?.components(separatedBy: "\n## ").first
        let explained = try #require(section).matches(of: #/`(\w+(?:\.\w+)+)`/#).map { String($0.1) }
        #expect(Set(explained).count == explained.count)
        let large = sizes.filter { $0.value.isLarge }
        let missing = large.filter { !explained.contains($0.key) }
            .map { "\($0.key): \($0.value.methods) methods, \($0.value.properties) stored properties" }
        #expect(missing.isEmpty)
        #expect(explained.filter { large[$0] == nil } == [], "explained, but not large")
    }

    @Test func methodsAndStoredPropertiesAreCountedOverAllExtensions() {
        let sizes = Self.sizes(of: [
            "Sources/M/A.swift": """
            struct A: B {
                let (a, b): (Int, Int)
                private(set) var c = [1: { $0 }]
                static let shared = A()
                var computed: Int { a }
                @Sendable package nonisolated func f() {
                    let local = 1
                }
                enum Inner {
                    case one
                    func g() {}
                }
            }
            """,
            "Sources/M/B.swift": "extension A {\n    mutating func h() {}\n    var d: Int {\n        1\n    }\n}",
            "Sources/N/A.swift": "protocol A {\n    func f()\n}\nextension A.Inner {\n    func k() {}\n}",
        ])
        #expect(
            sizes == [
                "M.A": Size(methods: 2, properties: 3), "M.A.Inner": Size(methods: 1), "N.A.Inner": Size(methods: 1),
            ])
    }

    /// What each type in `files` declares, by module and name. `files` are formatted Swift, by path below `Sources`.
    private static func sizes(of files: [String: String]) -> [String: Size] {
        let types: Set<Substring> = ["struct", "class", "actor", "enum", "extension", "protocol"]
        let members: Set<Substring> = ["func", "let", "var"]
        var sizes: [String: Size] = [:]
        for (path, text) in files {
            let module = path.split(separator: "/")[1]
            var isText = false
            // The types whose braces are open, with their indentation; a protocol has no name.
            var open: [(indentation: Int, name: String?)] = []
            for line in text.split(separator: "\n") {
                let code = line.drop { $0 == " " }
                let indentation = line.utf8.count - code.utf8.count
                if code.hasPrefix("//") { continue }
                if line.components(separatedBy: "\"\"\"").count == 2 { isText.toggle() }
                if isText { continue }
                while let last = open.last, indentation <= last.indentation { open.removeLast() }
                guard let (modifiers, keyword, rest) = declaration(code, types.union(members)) else { continue }
                if types.contains(keyword) {
                    let own = String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." })
                    let isOutermost = keyword == "extension" || open.isEmpty
                    let name = isOutermost ? own : open.last?.name.map { "\($0).\(own)" }
                    if !code.hasSuffix("}") { open.append((indentation, keyword == "protocol" ? nil : name)) }
                    continue
                }
                guard let (outer, name) = open.last, let name, indentation == outer + 4 else { continue }
                if keyword == "func" {
                    sizes["\(module).\(name)", default: Size()].methods += 1
                } else if !modifiers.contains("static"), !rest.prefix(while: { $0 != "=" }).contains("{") {
                    let names = rest.hasPrefix("(") ? rest.prefix { $0 != ")" } : ""
                    sizes["\(module).\(name)", default: Size()].properties += names.count { $0 == "," } + 1
                }
            }
        }
        return sizes
    }

    /// The words before the first of `keywords`, that one, and what follows it; nil for a line that declares nothing.
    private static func declaration(
        _ line: Substring, _ keywords: Set<Substring>
    ) -> (modifiers: [Substring], keyword: Substring, rest: Substring)? {
        var (rest, modifiers): (Substring, [Substring]) = (line, [])
        // An attribute may have arguments.
        if rest.hasPrefix("@"), rest.prefix(while: { $0 != " " }).contains("("), let end = rest.range(of: ") ") {
            rest = rest[end.upperBound...]
        }
        while let space = rest.firstIndex(of: " "), modifiers.count < 8 {
            let word = rest[..<space]
            rest = rest[rest.index(after: space)...]
            if keywords.contains(word) { return (modifiers, word, rest) }
            guard word.allSatisfy({ $0.isLetter || "@()".contains($0) }) else { return nil }
            modifiers.append(word)
        }
        return nil
    }
}
