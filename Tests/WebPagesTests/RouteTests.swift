import HTTPValues
import PhotoModel
import TestSupport
import Testing
import WebAccounts

@testable import WebPages

@Suite("Addresses of the pages")
struct RouteTests {
    static let hash = [UInt8](repeating: 0xAB, count: 32)

    static let key = PhotoKey(id: 7, hash: hash)

    static func route(_ target: String) -> Route? { RequestTarget(target).flatMap { Route($0) } }

    @Test("Each address has one meaning")
    func meanings() {
        let all: [(String, Route)] = [
            ("/", .page), ("/?x=1", .page), ("/session", .session), ("/link", .link), ("/person", .person),
            ("/live", .live), ("/decisions", .decisions), ("/action", .action),
            ("/quarantined/7?download=1", .quarantined(7)),
            ("/t/" + String(repeating: "ab", count: 32), .thumbnail(Self.hash)),
            ("/s/\(PageAssets.version)/app.js", .asset("app.js")), ("/days", .wall(.days)),
            ("/tiles?day=1&from=0&count=1", .wall(.tiles)), ("/search?words=a", .wall(.search)),
            ("/places", .wall(.places)), ("/leaflet/leaflet.js", .wall(.leaflet(.script))),
            ("/t/7-abababab", .wall(.picture(Self.key, .tile))), ("/t?of=7-abababab", .wall(.pictures)),
            ("/p/7-abababab", .wall(.picture(Self.key, .largest))),
            ("/r/7-abababab/tilt-shift", .wall(.picture(Self.key, .rendition(.tiltShift)))),
            ("/o/7-abababab", .wall(.original(Self.key))), ("/f/7-abababab", .wall(.film(Self.key))),
            ("/photo/7-abababab", .wall(.photo(Self.key))),
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
            "/t/7", "/t/7-", "/t/-abababab", "/t/07-abababab", "/t/+7-abababab", "/t/0-abababab", "/t/7-ABABABAB",
            "/t/7-ababab", "/t/7-ababababab", "/t/7-abababab-", "/t/7--abababab", "/t/4294967296-abababab",
            "/t/7-abababag",
            "/t/7-abababab/", "/t/7-abababab/x", "/r/7-abababab", "/r/7-abababab/hash", "/r/7-abababab/x", "/days/1",
            "/leaflet", "/leaflet/leaflet.esm.js", "/leaflet/leaflet.js/x", "/places/1", "/photo", "/photo/7", "/o",
            "/o/7", "/f/7", "/tiles/", "/search/x", "/x/7-abababab",
        ])
    func unknown(target: String) { #expect(Self.route(target) == nil) }

    @Test("Only the page, its parts and signing in are for whoever comes; only operators act")
    func roles() {
        let routes: [Route] = [
            .page, .asset("a"), .person, .session, .link, .live, .decisions, .similar, .thumbnail(Self.hash),
            .quarantined(1), .action, .wall(.days), .wall(.tiles), .wall(.search), .wall(.places),
            .wall(.leaflet(.style)),
            .wall(.picture(Self.key, .tile)), .wall(.pictures), .wall(.original(Self.key)), .wall(.film(Self.key)),
            .wall(.photo(Self.key)),
        ]
        #expect(routes.filter { $0.role == nil } == [.page, .asset("a"), .session, .link])
        #expect(routes.filter { $0.role == .operator } == [.action])
        #expect(routes.filter { $0.role == .viewer }.count == 16 && routes.filter { $0.role == .sender }.isEmpty)
        for route in routes where route.methods.contains(where: { !$0.isSafe }) {
            #expect([.session, .link, .action].contains(route))
        }
    }
}
