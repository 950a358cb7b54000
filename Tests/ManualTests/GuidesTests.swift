import Foundation
import Testing

/// The pages of docs/guides, whose commands are run by Tests/ServiceTests.
struct GuidesTests {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func files(_ directory: String, _ suffix: String) throws -> [String: String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: project.appending(path: directory).path())
        return try names.filter { $0.hasSuffix(suffix) }.reduce(into: [:]) { texts, name in
            texts[name] = try String(contentsOf: project.appending(path: "\(directory)/\(name)"), encoding: .utf8)
        }
    }

    /// A block of commands: the `number`th below a heading.
    private struct Block: Hashable {
        var page: String
        var heading: String
        var number: Int
    }

    private static func blocks(_ page: String, _ text: String) -> [Block] {
        var (blocks, heading, number, isFence) = ([Block](), "", 0, false)
        for line in text.split(separator: "\n") {
            if line.hasPrefix("```") {
                isFence.toggle()
                let language = line.dropFirst(3)
                if isFence, language == "sh" {
                    number += 1
                    blocks.append(Block(page: page, heading: heading, number: number))
                } else if isFence {
                    // What is not run is marked as something else than commands.
                    #expect(["console", "toml", "ini", "fstab"].contains(language), "\(page): \(line)")
                }
            } else if !isFence, line.hasPrefix("#") {
                (heading, number) = (String(line.drop { "# ".contains($0) }), 0)
            }
        }
        #expect(!isFence, "\(page)")
        return blocks
    }

    @Test("Each block of commands in a guide is followed by a script that a test runs")
    func followed() throws {
        let scripts = try Self.files("Tests/ServiceTests/Scripts", ".sh")
        let tests = try Self.files("Tests/ServiceTests", ".swift").values.joined()
        var followed: Set<Block> = []
        for (name, script) in scripts where tests.contains("\"\(name)\"") {
            for match in script.matches(of: /(?:^|\n) *follow (\S+) "([^"]+)"(?: (\d+))?/) {
                let (page, heading) = (String(match.1), String(match.2))
                let numbers = match.3.flatMap { Int($0) }.map { $0...$0 } ?? 1...9
                followed.formUnion(numbers.map { Block(page: page, heading: heading, number: $0) })
            }
        }
        let pages = try Self.files("docs/guides", ".md")
        let blocks = pages.flatMap { Self.blocks($0.key, $0.value) }
        #expect(pages.count > 9 && blocks.count > 40)
        #expect(Set(blocks).count == blocks.count, "two headings of one page are the same")
        #expect(blocks.filter { !followed.contains($0) } == [])
    }

    @Test("Each guide is in the list of guides")
    func listed() throws {
        let pages = try Self.files("docs/guides", ".md")
        let list = try #require(pages["README.md"])
        #expect(pages.keys.filter { $0 != "README.md" && !list.contains("](\($0))") } == [])
    }
}
