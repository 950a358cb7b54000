import Catalogue
import CommandContact
import CommandSupport
import FileValues
import HTTPValues
import LinuxKernel
import Reporting
import SystemPackage
import TestSupport
import Testing
import WebAccounts
import WebServing

@testable import PhotoFormats
@testable import PhotoModel
@testable import WebPages

@Suite("Who may ask for what")
struct PageServerTests {
    /// A server without a daemon, of which ana is an operator and vera a viewer.
    final class World: Sendable {
        let scratch: ScratchDirectory
        let accounts: Accounts
        private let links: [String: Secret]

        private let sessions = Locked<[String: Secret]>([:])

        init(roles: [String: Role] = ["ana": .operator, "vera": .viewer]) throws {
            scratch = try ScratchDirectory()
            links = roles.mapValues { _ in Secret() }
            var people = People()
            for (name, link) in links {
                let invitation = Person.Invitation(link: link.hash, end: Int64.max)
                people.put(Person(name: name, role: roles[name] ?? .viewer, invitation: invitation))
            }
            let directory = try openDirectory(scratch.bytePath)
            try directory.put(Array(people.text.utf8), as: "web.users")
            accounts = Accounts(peopleFile: BytePath(scratch.appending("web.users")), state: scratch.bytePath)
        }

        func server(proxy: UInt32? = nil) throws -> PageServer {
            var options = PageServer.Options()
            options.proxy = proxy
            return try server(options)
        }

        func server(_ options: PageServer.Options) throws -> PageServer {
            let places = PlaceOptions(config: nil, state: RawArgument(path: scratch.bytePath))
            let views = PhotoViews { _, _ throws(SystemCallError) in
                throw SystemCallError("open", .noSuchFileOrDirectory)
            } tell: { _, _, _ throws(CatalogueError) in
                PhotoViews.Account(record: .null, why: .null, renditions: [])
            }
            return PageServer(try Places(places, remarks: false), accounts: accounts, options: options, views: views)
        }

        func session(of name: String) async throws -> Secret {
            if let session = sessions.withLock({ $0[name] }) { return session }
            let session = try await accounts.setPassword("a long password", by: try #require(links[name]))
            sessions.withLock { $0[name] = session }
            return session
        }
    }

    private func request(
        _ method: String, _ path: String, peer: WebPeer = .network, session: Secret? = nil,
        _ fields: [(name: String, value: String)] = [], body: String = ""
    ) throws -> WebRequest {
        var all = [(name: "Host", value: "x")] + fields
        if let session { all.append((name: "Cookie", value: "photoinbox=\(session.text)")) }
        if !body.isEmpty { all.append((name: "Content-Length", value: "\(body.utf8.count)")) }
        return WebRequest(
            head: try RequestHead(method: method, target: path, version: .http11, fields: all),
            body: Array(body.utf8), peer: peer)
    }

    static let own = [(name: "X-Photo-Inbox", value: "1"), (name: "Content-Type", value: "application/json")]

    @Test("A proxy's header counts for a trusted proxy's user on a local socket, once, and for names that exist")
    func remoteUser() async throws {
        let world = try World()
        let server = try world.server(proxy: 33)
        func status(_ peer: WebPeer, _ names: String..., server: PageServer) async throws -> HTTPStatus {
            let fields = names.map { (name: "Remote-User", value: $0) }
            return await server.answer(to: try request("GET", "/person", peer: peer, fields)).status
        }
        #expect(try await status(.local(user: 33), "ana", server: server) == .ok)
        for names in [["eve"], [""], ["ana", "ana"], ["ana", "vera"], ["Ana"], []] {
            let fields = names.map { (name: "Remote-User", value: $0) }
            let answer = await server.answer(to: try request("GET", "/person", peer: .local(user: 33), fields))
            #expect(answer.status == .unauthorized, "\(names)")
        }
        #expect(try await status(.local(user: 34), "ana", server: server) == .unauthorized)
        #expect(try await status(.local(user: 0), "ana", server: server) == .unauthorized)
        #expect(try await status(.network, "ana", server: server) == .unauthorized)
        #expect(try await status(.local(user: 33), "ana", server: try world.server()) == .unauthorized)
    }

    @Test("A viewer looks, an operator acts, nobody does neither")
    func roles() async throws {
        let world = try World()
        let server = try world.server()
        let (ana, vera) = (try await world.session(of: "ana"), try await world.session(of: "vera"))
        func status(_ method: String, _ path: String, _ session: Secret?) async throws -> HTTPStatus {
            let body = method == "POST" ? "{}" : ""
            return await server.answer(to: try request(method, path, session: session, Self.own, body: body)).status
        }
        for (session, looks, acts) in [
            (ana, HTTPStatus.ok, HTTPStatus.badRequest), (vera, .ok, .forbidden), (nil, .unauthorized, .unauthorized),
        ] {
            #expect(try await status("GET", "/person", session) == looks)
            #expect(try await status("POST", "/action", session) == acts)
        }
        #expect(try await status("GET", "/", nil) == .ok)
        #expect(try await status("POST", "/", ana) == .methodNotAllowed)
        #expect(try await status("GET", "/action", ana) == .methodNotAllowed)
        #expect(try await status("GET", "/nothing", ana) == .notFound)
        #expect(try await status("POST", "/nothing", nil) == .notFound)
    }

    @Test("Where there is nothing, a browser gets a page with a link to the pages, and a program a value")
    func missing() async throws {
        let server = try World().server()
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
        func answer(_ path: String, _ accept: String, _ method: String = "GET") async throws -> (WebResponse, String) {
            let answer = await server.answer(to: try request(method, path, [(name: "Accept", value: accept)]))
            guard case .bytes(let bytes) = answer.body else { return (answer, "") }
            return (answer, String(decoding: bytes, as: UTF8.self))
        }
        for (path, root) in [
            ("/nothere", "./"), ("/not/here", "../"), ("/not/here/", "../../"), ("/s/old/app.js", "../../"),
        ] {
            let (found, text) = try await answer(path, browser)
            #expect(
                found.status == .notFound && found.fields.contains { $0 == ("Content-Type", MediaType.html.rawValue) })
            #expect(
                found.fields.contains { $0.name == "Content-Security-Policy" && $0.value.contains("style-src 'self'") })
            #expect(
                text.contains("href=\"\(root)\"") && text.contains("href=\"\(root)s/\(PageAssets.version)/style.css\""))
            #expect(!text.contains("ROOT") && !text.contains("VERSION") && !text.contains("here\""))
        }
        for (accept, method) in [("*/*", "GET"), ("application/json, text/html", "GET"), (browser, "POST")] {
            let (found, text) = try await answer("/nothere", accept, method)
            #expect(found.status == .notFound && text.contains("there is nothing at this address"), "\(accept)")
        }
    }

    @Test("What changes something comes from the page: by its field, its site and its type")
    func forged() async throws {
        let world = try World()
        let server = try world.server()
        let ana = try await world.session(of: "ana")
        let body = "{\"version\":1,\"do\":\"format\"}"
        func status(_ fields: [(name: String, value: String)]) async throws -> HTTPStatus {
            await server.answer(to: try request("POST", "/action", session: ana, fields, body: body)).status
        }
        #expect(try await status(Self.own) == .badRequest)
        #expect(try await status(Self.own + [("Sec-Fetch-Site", "same-origin")]) == .badRequest)
        #expect(try await status(Array(Self.own.dropFirst())) == .forbidden)
        #expect(try await status([("X-Photo-Inbox", "2")] + Self.own.dropFirst()) == .forbidden)
        #expect(try await status(Self.own + [("X-Photo-Inbox", "1")]) == .forbidden)
        for site in ["cross-site", "same-site", ""] {
            #expect(try await status(Self.own + [("Sec-Fetch-Site", site)]) == .forbidden)
        }
        #expect(try await status(Array(Self.own.prefix(1))) == .unsupportedMediaType)
        #expect(try await status(Self.own.prefix(1) + [("Content-Type", "text/plain")]) == .unsupportedMediaType)
    }

    @Test("The page of guests and its parts are the pages' own; everything else below a link is asked for elsewhere")
    func guestPage() throws {
        func answer(_ method: String, _ path: String) throws -> [String: String]? {
            PageServer.guestPage(try request(method, path).head)
                .map { Dictionary(uniqueKeysWithValues: $0.fields.map { ($0.name, $0.value) }) }
        }
        let page = try answer("GET", "/d/x/")
        #expect(page?["Content-Type"] == MediaType.html.rawValue)
        #expect(page?["Content-Security-Policy"]?.contains("script-src 'self'") == true)
        #expect(try answer("GET", "/d/x%2Cy")?["Location"] == "x%2Cy/")
        #expect(
            try answer("HEAD", "/d/x/s/\(PageAssets.version)/guest.js")?["Content-Type"] == MediaType.script.rawValue)
        for path in [
            "s/\(PageAssets.version)/other.js", "s/0/guest.js", "up/guest.js", "up/", "about", "guest.html", "s/",
        ] {
            #expect(try answer("GET", "/d/x/\(path)") == nil, "\(path)")
        }
        #expect(try answer("POST", "/d/x/") == nil)
    }

    @Test("The pages and their parts are compressed for whoever asks for that, and nothing that may have a secret is")
    func compressed() async throws {
        let world = try World()
        let server = try world.server()
        let ana = try await world.session(of: "ana")
        func answer(_ path: String, _ codings: String) async throws -> (fields: [String: String], bytes: [UInt8]) {
            let answer = await server.answer(
                to: try request("GET", path, session: ana, [(name: "Accept-Encoding", value: codings)]))
            guard case .bytes(let bytes) = answer.body else { return ([:], []) }
            return (Dictionary(uniqueKeysWithValues: answer.fields.map { ($0.name, $0.value) }), bytes)
        }
        for path in ["/", "/s/\(PageAssets.version)/app.js", "/s/\(PageAssets.version)/world.json"] {
            let plain = try await answer(path, "identity")
            #expect(plain.fields["Content-Encoding"] == nil && plain.fields["Vary"] == "Accept-Encoding")
            // The second time it is what was kept.
            for _ in 1...2 {
                let made = try await answer(path, "gzip, deflate, br")
                #expect(made.fields["Content-Encoding"] == "gzip" && made.fields["Vary"] == "Accept-Encoding")
                #expect(made.fields["Content-Type"] == plain.fields["Content-Type"])
                #expect(made.bytes.count < plain.bytes.count * 2 / 3, "\(path)")
                #expect(decompressed(made.bytes) == plain.bytes, "\(path)")
            }
        }
        for path in ["/person", "/decisions", "/nothing", "/photo/1-01010101"] {
            let fields = try await answer(path, "gzip").fields
            // However short it is, what may be compressed has this field.
            #expect(fields["Content-Encoding"] == nil && fields["Vary"] == nil, "\(path)")
        }
    }

    @Test("Every answer but the page and its scripts is sandboxed, and none is guessed at or kept by others")
    func policies() async throws {
        let world = try World()
        let server = try world.server()
        let ana = try await world.session(of: "ana")
        for path in [
            "/", "/person", "/nothing", "/s/\(PageAssets.version)/app.js", "/s/\(PageAssets.version)/icon.svg",
        ] {
            let answer = await server.answer(to: try request("GET", path, session: ana))
            let fields = Dictionary(uniqueKeysWithValues: answer.fields.map { ($0.name, $0.value) })
            let policy = fields["Content-Security-Policy"] ?? ""
            // A script may be that of a worker, which has the policy of its own answer.
            let isOfPage = path == "/" || path.hasSuffix(".js")
            #expect(
                policy.hasPrefix(isOfPage ? "default-src 'none'; script-src 'self'" : "sandbox; default-src 'none'"))
            #expect(policy.contains("sandbox") != isOfPage)
            #expect(policy.contains("frame-ancestors 'none'") && fields["X-Content-Type-Options"] == "nosniff")
            #expect(fields["Cache-Control"].map { $0 == "no-store" || $0.hasPrefix("private") } == true, "\(path)")
        }
    }
}

/// What a gzip member without a name has; nil unless it is one, and is as long as it says.
func decompressed(_ gzip: [UInt8]) -> [UInt8]? {
    guard gzip.count > 18, gzip.prefix(4) == [0x1F, 0x8B, 8, 0] else { return nil }
    let size = gzip.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
    let content = inflated([0x78, 0x9C] + gzip.dropFirst(10), limit: size + 1)
    return content?.count == size ? content : nil
}
