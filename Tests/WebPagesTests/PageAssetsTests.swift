import Foundation
import Glibc
import TestSupport
import Testing

@testable import WebPages

@Suite("Parts of the page")
struct PageAssetsTests {
    static let directory = "Sources/WebPages/Resources"
    static let pages = ["page.html", "guest.html", "missing.html"]

    private func parts() throws -> [String: String] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: Self.directory)
        let names = try FileManager.default.contentsOfDirectory(atPath: root.path(percentEncoded: false))
        return try Dictionary(
            uniqueKeysWithValues: names.map { ($0, try String(contentsOf: root.appending(path: $0), encoding: .utf8)) })
    }

    @Test("Every file is in the program, and every import leads to one")
    func complete() throws {
        let parts = try parts()
        for (name, text) in parts where !Self.pages.contains(name) {
            let isEqual = PageAssets.asset(named: name)?.bytes == Array(text.utf8)
            #expect(isEqual, "\(name)")
            for match in text.matches(of: #/(?:from |import\(|new URL\()"(?:\.\/)?([a-z0-9-]+\.js)"/#) {
                #expect(PageAssets.asset(named: String(match.1)) != nil, "\(name) imports \(match.1)")
            }
        }
        for (name, bytes, script) in [
            ("page.html", PageAssets.page, "app.js"), ("guest.html", PageAssets.guestPage, "guest.js"),
        ] {
            #expect(PageAssets.asset(named: name) == nil)
            let page = String(decoding: bytes, as: UTF8.self)
            #expect(page.contains("s/\(PageAssets.version)/\(script)") && !page.contains("VERSION"))
        }
    }

    @Test("What a page loads at first is small, and so is what photos and sending need beside it")
    func sizes() throws {
        let parts = try parts()
        func loaded(from start: String) -> Set<String> {
            var found: Set<String> = []
            var open = [start]
            while let name = open.popLast() {
                guard found.insert(name).inserted, let text = parts[name] else { continue }
                open += text.matches(of: #/from "\.\/([^"]+)"/#).map { String($0.1) }
            }
            return found
        }
        func bytes(_ names: Set<String>) -> Int { names.reduce(0) { $0 + (parts[$1]?.utf8.count ?? 0) } }
        let first = loaded(from: "app.js").union(["page.html", "style.css", "icon.svg"])
        #expect(!first.contains("drop.js") && bytes(first) < 46_000)
        #expect(!first.contains("photos.js"))
        #expect(bytes(loaded(from: "photos.js").subtracting(first)) < 75_000)
        let photo = loaded(from: "viewer.js").subtracting(loaded(from: "photos.js")).subtracting(first)
        #expect(photo.contains("viewer.js") && bytes(photo) < 20_000)
        // Asked for at once, not one after the other.
        func preloaded(_ text: String?, _ pattern: Regex<(Substring, Substring)>) -> Set<String> {
            Set((text ?? "").matches(of: pattern).map { String($0.1) })
        }
        let asked = preloaded(
            parts["page.html"], #/rel="modulepreload" href="s\/VERSION\/([^"]+)"/#)
        #expect(asked == loaded(from: "app.js").subtracting(["app.js"]))
        func early(_ pattern: Regex<(Substring, Substring)>) -> Set<String> {
            let list = parts["app.js"]?.firstMatch(of: pattern).map { String($0.1) }
            return Set(preloaded(list, #/"([a-z]+)"/#).map { "\($0).js" })
        }
        #expect(early(#/ photos: \[([^\]]+)\]/#) == loaded(from: "photos.js").subtracting(first))
        #expect(early(#/ photo: \[([^\]]+)\]/#) == photo)
        #expect(
            early(#/ now: \[([^\]]+)\]/#)
                == loaded(from: "now.js").union(loaded(from: "decisions.js")).subtracting(first))
        #expect(bytes(loaded(from: "drop.js").union(["reader.js"]).subtracting(first)) < 80_000)
    }

    @Test("No part has an absolute address, or makes markup or code of text")
    func content() throws {
        for (name, text) in try parts() {
            let addresses = text.matches(of: #/https?:\/\/[^"' ]*/#).map { String($0.output) }
            #expect(addresses.allSatisfy { $0 == "http://www.w3.org/2000/svg" }, "\(name): \(addresses)")
            for word in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "=\"/",
            ] {
                #expect(!text.contains(word), "\(name): \(word)")
            }
        }
    }
}

@Suite("Modules of the pages", .timeLimit(.minutes(60)))
struct ModuleTests {
    private static let node: String? = ["/usr/bin/node", "/usr/local/bin/node"].first { access($0, X_OK) == 0 }

    @Test(
        "What needs no browser passes its own tests",
        .enabled(if: node != nil, "skipped: node is not installed"))
    func modules() async throws {
        let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Modules")
        let files = try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
            .map { $0.path(percentEncoded: false) }.filter { $0.hasSuffix(".test.mjs") }.sorted()
        #expect(!files.isEmpty)
        let run = try RunningProgram([try #require(Self.node), "--test"] + files)
        #expect(try await run.ending() == .status(0), "\(run.lines.suffix(40).joined(separator: "\n"))")
    }
}
