import Foundation
import TestSupport
import Testing

@Suite("Links of the documentation")
struct LinkTests {
    /// Each page by its path in the repository.
    static let pages: [String: String] = {
        do {
            var pages = try Checkout.files(below: "docs", suffix: ".md")
            for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
                pages[name] = try String(contentsOf: Checkout.directory.appending(path: name), encoding: .utf8)
            }
            return pages
        } catch {
            fatalError("the documentation cannot be read: \(error)")
        }
    }()

    @Test("Every relative link leads to a file and an existing heading", arguments: pages.keys.sorted())
    func links(page: String) throws {
        let text = try #require(Self.pages[page])
        for link in Self.links(in: text) where !link.contains("://") {
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let target = parts[0].isEmpty ? page : Self.resolved(parts[0], from: page)
            let file = Checkout.directory.appending(path: target)
            #expect(FileManager.default.fileExists(atPath: file.path(percentEncoded: false)), "\(link)")
            guard parts.count == 2, target.hasSuffix(".md") else { continue }
            let headings = Self.anchors(in: try String(contentsOf: file, encoding: .utf8))
            #expect(headings.contains(parts[1]), "\(link): \(target) has \(headings)")
        }
    }

    @Test("The README is short and links every page")
    func readme() throws {
        let readme = try #require(Self.pages["README.md"])
        #expect(readme.utf8.count < 12_000)
        let links = Set(Self.links(in: readme))
        let pages = Self.pages.keys.filter { $0.wholeMatch(of: /docs\/[^\/]+\.md/) != nil }
        #expect(pages.count > 10)
        #expect(pages.filter { !links.contains($0) } == [])
    }

    @Test("A broken link is found")
    func parsing() {
        let text = "# A & b-c\n[x](a.md#b) and ![y](../i.jpg)\n```\n# no\n[z](z.md)\n```\n## `D` E's\n"
        #expect(Self.links(in: text) == ["a.md#b", "../i.jpg"])
        #expect(Self.anchors(in: text) == ["a--b-c", "d-es"])
        #expect(Self.resolved("../i.jpg", from: "docs/a.md") == "i.jpg")
        #expect(Self.resolved("man/b.1", from: "docs/a.md") == "docs/man/b.1")
    }

    private static func links(in page: String) -> [String] {
        prose(of: page).flatMap { line in line.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) } }
    }

    /// The anchors of the headings, as on GitHub.
    private static func anchors(in page: String) -> [String] {
        prose(of: page).filter { $0.hasPrefix("#") }.map { line in
            let title = line.drop { $0 == "#" }.dropFirst().lowercased()
            return String(title.compactMap { $0 == " " ? "-" : $0.isLetter || $0.isNumber || $0 == "-" ? $0 : nil })
        }
    }

    /// The lines outside code blocks.
    private static func prose(of page: String) -> [Substring] {
        var isCode = false
        return page.split(separator: "\n").filter { line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode && !line.hasPrefix("```")
        }
    }

    private static func resolved(_ link: String, from page: String) -> String {
        var names = page.split(separator: "/").dropLast().map(String.init)
        for name in link.split(separator: "/") {
            if name == ".." { _ = names.popLast() } else { names.append(String(name)) }
        }
        return names.joined(separator: "/")
    }
}
