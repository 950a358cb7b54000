import CommandSupport
import FileValues
import Glibc
import HTTPValues
import LinuxKernel
import Reporting
import TestSupport
import Testing
import WebAccounts
import WebServing

@testable import WebPages

@Suite("What is sent to the pages", .timeLimit(.minutes(60)))
struct DropTests {
    /// The pages on a socket, and what they pass on: each request as `METHOD TARGET [FIELD…] BODY PEER`.
    final class World: Sendable {
        let pages: PageServerTests.World
        let passed = Locked<[String]>([])
        private let server: WebServer
        private let running: Task<Void, any Error>

        init(
            hasDrop: Bool = true, hosts: Set<String>? = nil,
            answer: @escaping @Sendable (String) throws -> WebResponse = { _ in .text(.ok, "received") }
        ) throws {
            let pages = try PageServerTests.World(roles: ["ana": .operator, "sam": .sender, "vera": .viewer])
            let passed = passed
            var options = PageServer.Options()
            options.hosts = hosts
            if hasDrop {
                options.drop = { request, body in
                    var bytes = request.body
                    while let piece = try await body.next() { bytes += piece }
                    let fields = request.head.fields.all.map { "\($0.name)=\($0.value)" }.sorted()
                    let peer = request.peer == .local(user: geteuid()) ? "own" : "other"
                    let text =
                        "\(request.head.method.rawValue) \(request.head.target.text) \(fields.joined(separator: " ")) "
                        + "\(String(decoding: bytes, as: UTF8.self)) \(peer)"
                    passed.withLock { $0.append(text) }
                    return try answer(text)
                }
            }
            let pageServer = try pages.server(options)
            var limits = WebLimits()
            for limit in [\WebLimits.head, \.keepAlive, \.body, \.stall, \.piece] {
                limits[keyPath: limit] = .seconds(waitLimit)
            }
            let server = WebServer(limits, streaming: PageServer.isStreamed) {
                await pageServer.answer(to: $0, &$1)
            }
            let listener = try WebListener(
                taking: listen(at: BytePath(pages.scratch.appending("http")), mode: 0o600))
            (self.pages, self.server) = (pages, server)
            running = Task { try await server.run([listener]) }
        }

        /// The whole answer to a request on a connection of its own.
        func ask(
            _ method: String, _ target: String, as person: String? = nil, _ fields: String..., body: String = ""
        ) async throws -> String {
            var text = "\(method) \(target) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            if let person { text += "Cookie: photoinbox=\(try await pages.session(of: person).text)\r\n" }
            for field in fields { text += "\(field)\r\n" }
            if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
            text += "\r\n\(body)"
            let socket = try connect(to: BytePath(pages.scratch.appending("http")), patience: .seconds(waitLimit))
            let (raw, bytes) = (socket.raw, Array(text.utf8))
            try systemCall("send") { send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
            let answer = try await aside {
                var (all, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65_536))
                while true {
                    let count = recv(raw, &buffer, buffer.count, 0)
                    if count <= 0 { return String(decoding: all, as: UTF8.self) }
                    all += buffer[..<count]
                }
            }
            withExtendedLifetime(socket) {}
            return answer
        }

        func status(
            _ method: String, _ target: String, as person: String? = nil, _ field: String = "X-Photo-Inbox: 1",
            body: String = ""
        ) async throws -> String {
            String(try await ask(method, target, as: person, field, body: body).dropFirst(9).prefix(3))
        }

        func end() async throws {
            server.stop()
            try await running.value
        }
    }

    @Test("Senders and operators send, by the page alone; viewers, strangers and other sites do not")
    func people() async throws {
        let world = try World()
        for target in ["/up/", "/up/a.jpg", "/up/0123/x", "/up/known"] {
            #expect(try await world.status("POST", target, body: "x") == "401", "\(target)")
            #expect(try await world.status("POST", target, as: "vera", body: "x") == "403", "\(target)")
            #expect(try await world.status("POST", target, as: "sam", "X-Other: 1", body: "x") == "403", "\(target)")
        }
        for site in ["cross-site", "same-site"] {
            let text = try await world.ask(
                "PUT", "/up/a.jpg", as: "sam", "X-Photo-Inbox: 1", "Sec-Fetch-Site: \(site)", body: "x")
            #expect(text.hasPrefix("HTTP/1.1 403 "))
        }
        #expect(try await world.status("GET", "/up/live", as: "vera", "X-Other: 1") == "403")
        #expect(world.passed.withLock { $0 } == [])
        #expect(try await world.status("PUT", "/up/a.jpg", as: "sam", body: "x") == "200")
        #expect(try await world.status("PATCH", "/up/0123", as: "ana", body: "x") == "200")
        // Nothing changes by these, and an event stream cannot have fields.
        #expect(try await world.status("GET", "/up/live", as: "sam", "X-Other: 1") == "200")
        #expect(try await world.status("OPTIONS", "/up/", as: "sam", "X-Other: 1") == "200")
        #expect(world.passed.withLock(\.count) == 4)
        // Whoever knows the number of an upload continues it, though the session has ended; by the page, all the same.
        let upload = "/up/" + String(repeating: "0a", count: 16)
        #expect(try await world.status("PATCH", upload, "X-Other: 1", body: "x") == "403")
        #expect(try await world.status("PATCH", upload, body: "x") == "200")
        #expect(try await world.status("PATCH", upload + "0", body: "x") == "401")
        #expect(world.passed.withLock { $0.count == 5 && $0.last?.contains("remote-user") == false })
        try await world.end()
    }

    @Test("A device's password is passed on for a sender's name; nobody's name is answered as a wrong password is")
    func devices() async throws {
        let world = try World { text in
            if text.contains("PROPFIND") { return .text(.unauthorized, "no device has it") }
            return WebResponse(.notModified, [("ETag", "\"1\"")])
        }
        func basic(_ name: String) -> String {
            "Authorization: Basic \(base64Encoded("\(name):\(DevicePassword().text)".utf8))"
        }
        func text(_ answer: String) -> String {
            answer.split(separator: "\r\n").filter { !$0.hasPrefix("Date:") }.joined()
        }
        for target in ["/dav/", "/up/a.jpg"] {
            let wrong = try await world.ask("PROPFIND", target, basic("sam"))
            #expect(wrong.hasPrefix("HTTP/1.1 401 ") && wrong.contains("WWW-Authenticate") == (target == "/dav/"))
            for name in ["nobody", "vera"] {
                let nobody = try await world.ask("PROPFIND", target, basic(name))
                #expect(text(nobody) == text(wrong), "\(nobody)")
            }
        }
        #expect(world.passed.withLock(\.count) == 2)
        let same = try await world.ask("GET", "/dav/a.jpg", basic("sam"))
        #expect(same.hasPrefix("HTTP/1.1 304 ") && same.contains("ETag: \"1\""), "\(same)")
        // Windows asks the root.
        let root = try await world.ask("OPTIONS", "/")
        #expect(root.hasPrefix("HTTP/1.1 200 ") && root.contains("DAV: 1, 2\r\n"), "\(root)")
        // A password is not said to be wrong while that cannot be known.
        try openDirectory(world.pages.scratch.bytePath).put(Array("nonsense\n".utf8), as: "web.users")
        #expect(try await world.ask("GET", "/dav/a.jpg", basic("sam")).hasPrefix("HTTP/1.1 503 "))
        try await world.end()
    }

    @Test("Who sends is said by the pages alone, and no session leaves them")
    func passedOn() async throws {
        let world = try World()
        _ = try await world.ask(
            "PUT", "/up/a%20b.jpg?x=1", as: "sam", "X-Photo-Inbox: 1", "Remote-User: ana", "Remote-User: vera",
            "X-Photo-Inbox-Address: http://e/", "Authorization: Basic eA==", "Upload-Complete: ?1", body: "abc")
        _ = try await world.ask("PUT", "/d/0123/up/b.jpg", as: "ana", "Remote-User: ana", body: "def")
        let kept = "connection=close content-length=3 host=x"
        #expect(
            world.passed.withLock { $0 } == [
                "PUT /up/a%20b.jpg?x=1 \(kept) remote-user=sam upload-complete=?1 x-photo-inbox=1 abc own",
                "PUT /d/0123/up/b.jpg \(kept) def own",
            ])
        try await world.end()
    }

    @Test("What comes back is no page, keeps nothing in a browser, and leads nowhere")
    func harmless() async throws {
        let world = try World { text in
            if text.contains("/elsewhere") { return WebResponse(.notModified, [("Location", "https://e/")]) }
            return WebResponse(
                .created,
                [
                    ("Content-Type", "text/html"), ("Content-Security-Policy", "script-src *"), ("Set-Cookie", "a=b"),
                    ("Clear-Site-Data", "\"*\""), ("Service-Worker-Allowed", "/"), ("Link", "</x>; rel=preload"),
                    ("Refresh", "0; url=/x"), ("Access-Control-Allow-Origin", "*"), ("Location", "0123"),
                    ("Upload-Offset", "7"), ("Tus-Resumable", "1.0.0"), ("Cache-Control", "public"),
                ], body: .bytes(Array("<script>".utf8)))
        }
        for target in ["/up/a.jpg", "/d/0123/up/a.jpg"] {
            let answer = try await world.ask("PUT", target, as: "sam", "X-Photo-Inbox: 1", body: "x")
            let fields = answer.split(separator: "\r\n").dropFirst().prefix { $0.contains(": ") }
            let names = Set(fields.compactMap { $0.split(separator: ":").first?.lowercased() })
            #expect(answer.hasPrefix("HTTP/1.1 201 "))
            #expect(names.isSuperset(of: ["location", "upload-offset", "tus-resumable", "content-type"]))
            #expect(
                names.isDisjoint(with: [
                    "set-cookie", "clear-site-data", "service-worker-allowed", "link", "refresh",
                    "access-control-allow-origin",
                ]))
            let policies = fields.filter { $0.lowercased().hasPrefix("content-security-policy:") }
            #expect(policies.count == 1 && policies.first?.contains(": sandbox; default-src 'none'") == true)
            #expect(fields.contains { $0.lowercased() == "x-content-type-options: nosniff" })
            #expect(fields.contains("Content-Type: application/octet-stream"))
        }
        #expect(try await world.status("GET", "/up/elsewhere", as: "sam") == "500")
        try await world.end()
    }

    @Test("The page is told where it sends, or what is missing")
    func about() async throws {
        let world = try World { _ in WebResponse(.ok, [("Content-Type", "application/json")], body: .bytes([])) }
        #expect(try await world.status("GET", "/api/drop", as: "sam") == "200")
        #expect(world.passed.withLock { $0.map { $0.prefix(14) } } == ["GET /up/about "])
        #expect(try await world.status("GET", "/api/drop", as: "vera") == "403")
        #expect(try await world.status("GET", "/api/drop") == "401")
        #expect(try await world.status("POST", "/api/drop", as: "sam", body: "{}") == "405")
        #expect(try await world.status("GET", "/api/drop/", as: "sam") == "404")
        try await world.end()
        let none = try World(hasDrop: false)
        #expect(try await none.ask("GET", "/api/drop", as: "sam").hasSuffix("add [web] inbox = \\\"NAME\\\"\"}"))
        #expect(try await none.status("PUT", "/up/a.jpg", as: "sam", body: "x") == "404")
        #expect(try await none.status("PUT", "/d/0123/up/a.jpg", body: "x") == "404")
        try await none.end()
    }

    @Test("Where nothing answers it is said what to do, and hosts count here, too")
    func failures() async throws {
        let world = try World { _ in
            throw CommandFailure(.unavailable, "photos cannot be received now", action: "Wait.")
        }
        let answer = try await world.ask("PUT", "/up/a.jpg", as: "sam", "X-Photo-Inbox: 1", body: "x")
        #expect(answer.hasPrefix("HTTP/1.1 503 "))
        #expect(answer.hasSuffix("{\"message\":\"photos cannot be received now\",\"action\":\"Wait.\"}"))
        try await world.end()
        let unsure = try World { _ in throw CommandFailure(.configuration, "which?", action: "Say it.") }
        #expect(try await unsure.ask("GET", "/api/drop", as: "sam").contains("{\"missing\":\"which?"))
        #expect(try await unsure.status("PUT", "/up/a.jpg", as: "sam", body: "x") == "503")
        try await unsure.end()
        let other = try World(hosts: ["localhost"])
        #expect(try await other.status("PUT", "/up/a.jpg", as: "sam", body: "x") == "403")
        #expect(try await other.status("PUT", "/d/0123/up/a.jpg", body: "x") == "403")
        #expect(other.passed.withLock { $0 } == [])
        try await other.end()
    }
}
