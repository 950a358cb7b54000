import Foundation
import TestSupport
import Testing

@Suite("Code in the documentation", .timeLimit(.minutes(60)))
struct SnippetTests {
    struct Snippet: CustomTestStringConvertible, Sendable {
        let place: String
        let code: String
        var testDescription: String { place }
    }

    /// The code of the documentation's pages: every ```swift block, except manifests.
    static let snippets: [Snippet] = {
        do {
            var pages = try Checkout.files(below: "docs", suffix: "library.md")
            for product in ["SystemMonitor", "DirectoryWatch", "Systemd"] {
                pages.merge(try Checkout.files(below: "Sources/\(product)", suffix: ".md")) { $1 }
            }
            return pages.sorted { $0.key < $1.key }.flatMap { snippets(in: $0.value, of: $0.key) }
        } catch {
            fatalError("the documentation cannot be read: \(error)")
        }
    }()

    @Test("Each snippet is part of a compiled example", arguments: snippets)
    func isCompiled(snippet: Snippet) throws {
        let examples = try Checkout.files(below: "Examples", suffix: ".swift")
        let wanted = Self.unindented(snippet.code.split(separator: "\n", omittingEmptySubsequences: false))
        let isFound = examples.values.contains { text in
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            return lines.indices.contains { start in
                let end = start + wanted.count
                return end <= lines.count && Self.unindented(lines[start..<end]) == wanted
            }
        }
        #expect(isFound, "no example has these lines:\n\(snippet.code)")
    }

    @Test("There are snippets")
    func count() { #expect(Self.snippets.count >= 10) }

    private static func snippets(in page: String, of path: String) -> [Snippet] {
        var found: [Snippet] = []
        var code: [Substring]?
        for (number, line) in page.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line == "```swift" {
                code = []
            } else if line == "```", let lines = code {
                code = nil
                guard lines.first?.hasPrefix("// swift-tools-version") != true else { continue }
                found.append(
                    Snippet(place: "\(path):\(number + 1 - lines.count)", code: lines.joined(separator: "\n")))
            } else {
                code?.append(line)
            }
        }
        return found
    }

    /// The lines without their common indentation.
    private static func unindented(_ lines: some Collection<Substring>) -> [Substring] {
        let indentation = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
        return lines.map { $0.dropFirst(min(indentation, $0.count)) }
    }
}
