import Foundation
import HTTPValues
import TestSupport
import Testing
import WebAccounts

@testable import WebPages

@Suite("Addresses of the pages")
struct RouteTests {
    static let hash = [UInt8](repeating: 0xAB, count: 32)

    static func route(_ target: String) -> Route? { RequestTarget(target).flatMap { Route($0) } }

    @Test("Each address has one meaning")
    func meanings() {
        let all: [(String, Route)] = [
            ("/", .page), ("/?x=1", .page), ("/session", .session), ("/link", .link), ("/person", .person),
            ("/live", .live), ("/decisions", .decisions), ("/action", .action),
            ("/quarantined/7?download=1", .quarantined(7)),
            ("/t/" + String(repeating: "ab", count: 32), .thumbnail(Self.hash)),
            ("/s/\(PageAssets.version)/app.js", .asset("app.js")),
        ]
        for (target, route) in all { #expect(Self.route(target) == route, "\(target)") }
    }

    @Test(
        "Every other address has none: no unknown one gets a page",
        arguments: [
            "/index.html", "/live/", "/live/x", "/t/", "/t/ab", "/t/zz", "/quarantined/0", "/quarantined/-1",
            "/quarantined/x",
            "/quarantined/1/2",
            "/s/0000000000000000/app.js", "/s/app.js", "/session/x", "/Live", "/favicon.ico", "/api", "/t/../live",
        ])
    func unknown(target: String) { #expect(Self.route(target) == nil) }

    @Test("Only the page, its parts and signing in are for whoever comes; only operators act")
    func roles() {
        let routes: [Route] = [
            .page, .asset("a"), .person, .session, .link, .live, .decisions, .similar, .thumbnail(Self.hash),
            .quarantined(1), .action,
        ]
        #expect(routes.filter { $0.role == nil } == [.page, .asset("a"), .session, .link])
        #expect(routes.filter { $0.role == .operator } == [.action])
        for route in routes where route.methods.contains(where: { !$0.isSafe }) {
            #expect([.session, .link, .action].contains(route))
        }
    }
}

@Suite("Parts of the page")
struct PageAssetsTests {
    static let directory = "Sources/WebPages/Resources"

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
        for (name, text) in parts where name != "page.html" {
            let isEqual = PageAssets.asset(named: name)?.bytes == Array(text.utf8)
            #expect(isEqual, "\(name)")
            for match in text.matches(of: #/from "\.\/([^"]+)"/#) {
                #expect(PageAssets.asset(named: String(match.1)) != nil, "\(name) imports \(match.1)")
            }
        }
        #expect(PageAssets.asset(named: "page.html") == nil)
        let page = String(decoding: PageAssets.page, as: UTF8.self)
        #expect(page.contains("s/\(PageAssets.version)/app.js") && !page.contains("VERSION"))
        #expect(parts.values.reduce(0) { $0 + $1.utf8.count } < 60_000)
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
