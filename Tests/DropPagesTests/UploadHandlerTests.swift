import DropPages
import DropStore
import FileValues
import Filing
import Foundation
import Glibc
import HTTPValues
import LinuxKernel
import TestSupport
import Testing
import WebServing

@Suite("Uploads by HTTP, through a server, into an inbox", .timeLimit(.minutes(60)), .atMost(4))
struct UploadHandlerTests {
    final class World: Sendable {
        let scratch: ScratchDirectory
        let inbox: ScratchDirectory
        let store: DropStore
        let server: WebServer
        let running: Task<Void, any Error>

        /// Answers by `make`'s handler; without one, uploads of ana below `/up/`.
        init(_ make: ((DropStore, ScratchDirectory) throws -> WebServer.StreamHandler)? = nil) throws {
            scratch = try ScratchDirectory()
            inbox = try ScratchDirectory()
            var options = DropStore.Options()
            options.minFree = 0
            options.today = { "2026-11-26" }
            store = try DropStore(inbox.bytePath, options)
            let handler = UploadHandler(store, log: { _ in })
            let own: WebServer.StreamHandler = { request, body in
                let owner = request.head.fields["x-nobody"] == nil ? DropOwner.person("ana") : nil
                return await handler.answer(
                    to: request, request.head.target.segments.dropFirst(), base: "/up/", of: UploadSender(owner), &body)
            }
            var limits = WebLimits()
            for limit in [\WebLimits.head, \.keepAlive, \.body, \.stall, \.piece] {
                limits[keyPath: limit] = .seconds(waitLimit)
            }
            limits.tick = .milliseconds(10)
            let server = WebServer(
                limits, streaming: { _ in true }, handler: try make?(store, scratch) ?? own)
            self.server = server
            let listener = try WebListener(taking: listen(at: BytePath(scratch.appending("http")), mode: 0o600))
            running = Task { try await server.run([listener]) }
        }

        func end() async throws {
            server.stop()
            try await running.value
        }

        /// The answer to one request: its status, fields in lower case, and what follows.
        func ask(
            _ line: String, _ fields: [String] = [], body: String = "", length: Int? = nil, readsInterim: Bool = false
        ) async throws -> (status: Int, fields: [String: String], text: String) {
            let socket = try connect(to: BytePath(scratch.appending("http")), patience: .seconds(waitLimit))
            var head = "\(line) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            if !body.isEmpty || length != nil { head += "Content-Length: \(length ?? body.utf8.count)\r\n" }
            head += fields.map { "\($0)\r\n" }.joined() + "\r\n"
            let (raw, bytes) = (socket.raw, Array((head + body).utf8))
            let text = try await aside {
                try systemCall("send") { send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
                var text = ""
                var buffer = [UInt8](repeating: 0, count: 65_536)
                var isEnding = length != nil
                while true {
                    // The end of the client, where it sends less than it said.
                    if isEnding, !readsInterim || text.contains("\r\n\r\n") {
                        shutdown(raw, Int32(SHUT_WR))
                        isEnding = false
                    }
                    let count = recv(raw, &buffer, buffer.count, 0)
                    if count <= 0 { break }
                    text += String(decoding: buffer[..<count], as: UTF8.self)
                }
                return text
            }
            _ = consume socket
            // What comes before the answer is told as a field.
            var parts = text.components(separatedBy: "\r\n\r\n")
            var found: [String: String] = [:]
            while parts.count > 1, parts[0].hasPrefix("HTTP/1.1 1") { found["interim"] = parts.removeFirst() }
            let lines = parts[0].components(separatedBy: "\r\n")
            for line in lines.dropFirst() {
                let halves = line.components(separatedBy: ": ")
                found[halves[0].lowercased()] = halves.dropFirst().joined(separator: ": ")
            }
            let status = Int(lines[0].split(separator: " ").dropFirst().first ?? "") ?? 0
            return (status, found, parts.dropFirst().joined(separator: "\r\n\r\n"))
        }

        func file(_ path: String) -> String? { try? String(contentsOfFile: inbox.appending(path), encoding: .utf8) }

        /// Files with a name, and parts.
        func names() throws -> [String] {
            FileManager.default.enumerator(atPath: inbox.path)?.compactMap { $0 as? String }.filter {
                ($0.hasSuffix(".jpg") || $0.hasSuffix(".part"))
            }.sorted() ?? []
        }
    }

    private let tus = "Tus-Resumable: 1.0.0"
    private let bytes = "Content-Type: application/offset+octet-stream"
    private let name = "Upload-Metadata: filename YS5qcGc="

    @Test("tus: create, send in two parts, ask, and the file is in the inbox with the last byte's answer")
    func tusUpload() async throws {
        let world = try World()
        let abilities = try await world.ask("OPTIONS /up")
        #expect(abilities.status == 204 && abilities.fields["tus-version"] == "1.0.0")
        let created = try await world.ask("POST /up", [tus, name, "Upload-Length: 10"])
        #expect(created.status == 201 && created.fields["upload-offset"] == "0")
        #expect(created.fields["upload-expires"]?.hasSuffix(" GMT") == true)
        let place = try #require(created.fields["location"])
        let first = try await world.ask("PATCH \(place)", [tus, bytes, "Upload-Offset: 0"], body: "hello")
        #expect(first.status == 204 && first.fields["upload-offset"] == "5")
        #expect(try world.names().filter { $0.hasSuffix(".jpg") } == [])
        let asked = try await world.ask("HEAD \(place)", [tus])
        #expect(asked.status == 200 && asked.fields["upload-offset"] == "5" && asked.fields["upload-length"] == "10")
        #expect(asked.fields["upload-metadata"] == "filename YS5qcGc=" && asked.fields["cache-control"] == "no-store")
        let wrong = try await world.ask("PATCH \(place)", [tus, bytes, "Upload-Offset: 4"], body: "oworld")
        #expect(wrong.status == 409 && wrong.fields["upload-offset"] == "5")
        let sum = "Upload-Checksum: sha256 \(base64Encoded(digest("world").bytes))"
        let damaged = try await world.ask("PATCH \(place)", [tus, bytes, sum, "Upload-Offset: 5"], body: "w0rld")
        #expect(damaged.status == 460)
        let last = try await world.ask("PATCH \(place)", [tus, bytes, sum, "Upload-Offset: 5"], body: "world")
        #expect(last.status == 204 && last.fields["upload-offset"] == "10")
        #expect(world.file("ana/2026-11-26/a.jpg") == "helloworld")
        // The answer was lost.
        #expect(try await world.ask("HEAD \(place)", [tus]).fields["upload-offset"] == "10")
        #expect(try await world.ask("PATCH \(place)", [tus, bytes, "Upload-Offset: 10"], body: "x").status == 409)
        try await world.end()
    }

    @Test("tus: bytes with the creation, a length that comes late, an end, and what is not there")
    func tusMore() async throws {
        let world = try World()
        let created = try await world.ask("POST /up", [tus, name, bytes, "Upload-Defer-Length: 1"], body: "ab")
        #expect(created.status == 201 && created.fields["upload-offset"] == "2")
        let place = try #require(created.fields["location"])
        #expect(try await world.ask("HEAD \(place)", [tus]).fields["upload-defer-length"] == "1")
        let last = try await world.ask(
            "PATCH \(place)", [tus, bytes, "Upload-Offset: 2", "Upload-Length: 3"], body: "c")
        #expect(last.status == 204 && world.file("ana/2026-11-26/a.jpg") == "abc")
        let other = try await world.ask("POST /up", [tus, name, "Upload-Length: 3"])
        let second = try #require(other.fields["location"])
        #expect(try await world.ask("DELETE \(second)", [tus]).status == 204)
        #expect(try await world.ask("HEAD \(second)", [tus]).status == 410)
        #expect(try await world.ask("HEAD /up/00000000000000000000000000000000", [tus]).status == 404)
        #expect(try await world.ask("POST /up", [tus, name, "Upload-Length: 3", "X-Nobody: 1"]).status == 401)
        #expect(
            try await world.ask("POST /up", [tus, "Upload-Metadata: filename YS5wYXJ0", "Upload-Length: 3"]).status
                == 422)
        #expect(try world.names() == ["ana/2026-11-26/a.jpg"])
        try await world.end()
    }

    @Test("The draft: where it continues is told before the answer, and a request that breaks off is continued")
    func draftUpload() async throws {
        let world = try World()
        let draft = "Upload-Draft-Interop-Version: 8"
        let cut = try await world.ask(
            "POST /up?name=a.jpg", [draft, "Upload-Complete: ?1"], body: "hel", length: 10, readsInterim: true)
        let interim = try #require(cut.fields["interim"])
        #expect(interim.hasPrefix("HTTP/1.1 104 "))
        let line = try #require(interim.components(separatedBy: "\r\n").first { $0.hasPrefix("Location: ") })
        let place = String(line.dropFirst("Location: ".count))
        // The server learns of the end in its own time.
        let asked = try await poll {
            try await world.ask("HEAD \(place)", [draft])
        } until: {
            $0.fields["upload-offset"] == "3"
        }
        #expect(asked.status == 204 && asked.fields["upload-complete"] == "?0" && asked.fields["upload-length"] == "10")
        let more = [draft, "Content-Type: application/partial-upload"]
        let wrong = try await world.ask(
            "PATCH \(place)", more + ["Upload-Offset: 2", "Upload-Complete: ?1"], body: "x")
        #expect(wrong.status == 409 && wrong.text.contains("#mismatching-upload-offset"))
        let some = try await world.ask(
            "PATCH \(place)", more + ["Upload-Offset: 3", "Upload-Complete: ?0"], body: "lo")
        #expect(some.status == 204 && some.fields["upload-complete"] == "?0")
        let last = try await world.ask(
            "PATCH \(place)", more + ["Upload-Offset: 5", "Upload-Complete: ?1"], body: "world")
        #expect(last.status == 200 && last.fields["upload-complete"] == "?1")
        #expect(world.file("ana/2026-11-26/a.jpg") == "helloworld")
        let again = try await world.ask(
            "PATCH \(place)", more + ["Upload-Offset: 10", "Upload-Complete: ?1"], body: "x")
        #expect(again.status == 400 && again.text.contains("#completed-upload"))
        try await world.end()
    }

    @Test("PUT: whole or nothing")
    func put() async throws {
        let world = try World()
        let right = "Repr-Digest: sha-256=:\(base64Encoded(digest("hello").bytes)):"
        #expect(try await world.ask("PUT /up/Trip/a.jpg", [right], body: "hello").status == 201)
        #expect(world.file("ana/2026-11-26/Trip/a.jpg") == "hello")
        #expect(try await world.ask("PUT /up/b.jpg", [right], body: "hullo").status == 400)
        #expect(try await world.ask("PUT /up/c.jpg").status == 422)
        _ = try await world.ask("PUT /up/d.jpg", body: "hel", length: 5)
        try await poll {
            try world.names()
        } until: {
            $0 == ["ana/2026-11-26/Trip/a.jpg"]
        }
        try await world.end()
    }

    @Test("An upload is not complete before it has its name, whatever is asked")
    func noName() async throws {
        let world = try World()
        let created = try await world.ask("POST /up", [tus, name, "Upload-Length: 5"])
        let place = try #require(created.fields["location"])
        let blocker = world.inbox.appending("ana")
        try Data("a file".utf8).write(to: URL(filePath: blocker))
        #expect(try await world.ask("PATCH \(place)", [tus, bytes, "Upload-Offset: 0"], body: "hello").status == 500)
        #expect(try await world.ask("HEAD \(place)", [tus]).status == 500)
        // Nor does another begin.
        #expect(try await world.ask("POST /up", [tus, name, "Upload-Length: 5"]).status == 500)
        unlink(blocker)
        #expect(try await world.ask("HEAD \(place)", [tus]).status == 200)
        #expect(world.file("ana/2026-11-26/a.jpg") == "hello")
        try await world.end()
    }

    @Test("What fails with its creation leaves nothing open whose number nobody was told")
    func failedCreation() async throws {
        let world = try World()
        let sum = "Upload-Checksum: sha256 \(base64Encoded(digest("hello").bytes))"
        for _ in 0..<2 {
            let answer = try await world.ask("POST /up", [tus, name, bytes, sum, "Upload-Length: 5"], body: "hullo")
            #expect(answer.status == 460 && answer.fields["location"] == nil)
        }
        #expect(world.store.uploads(of: .person("ana")).values.allSatisfy { !$0.isOpen })
        #expect(try world.names() == [])
        try await world.end()
    }

    @Test("POST alone, and a set that is named together")
    func post() async throws {
        let world = try World()
        let set = "&set=live&of=2&length=3"
        let created = try await world.ask("POST /up?name=a.jpg\(set)")
        #expect(created.status == 201)
        let place = try #require(created.fields["location"])
        let digest = "Content-Digest: sha-256=:\(base64Encoded(digest("ab").bytes)):"
        #expect(try await world.ask("POST \(place)?at=0", [digest], body: "aX").status == 400)
        #expect(try await world.ask("POST \(place)?at=0", [digest], body: "ab").fields["upload-offset"] == "2")
        #expect(try await world.ask("POST \(place)").fields["upload-offset"] == "2")
        #expect(try await world.ask("POST \(place)?at=2", body: "c").status == 202)
        #expect(world.file("ana/2026-11-26/a.jpg") == nil)
        #expect(try await world.ask("POST /up?name=b.jpg\(set)", body: "def").status == 200)
        #expect(world.file("ana/2026-11-26/a.jpg") == "abc" && world.file("ana/2026-11-26/b.jpg") == "def")
        try await world.end()
    }
}
