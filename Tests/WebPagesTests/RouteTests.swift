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
