import ControlProtocol
import DropStore
import FileValues
import Foundation
import Glibc
import HTTPValues
import LinuxKernel
import TestSupport
import Testing
import WebAccounts
import WebServing

@testable import DropPages

@Suite("A device's files, by WebDAV", .timeLimit(.minutes(60)), .atMost(4))
struct DavServerTests {
    typealias World = UploadHandlerTests.World

    private let phone = DevicePassword()
    private let laptop = DevicePassword()

    private func world(_ change: @escaping @Sendable (inout DropServer.Options) -> Void = { _ in }) throws -> World {
        try World { store, scratch in
            var devices = Devices()
            devices.put(Device(person: "ana", name: "phone", birth: 1, password: phone.hash))
            devices.put(Device(person: "ana", name: "laptop", password: laptop.hash))
            devices.put(Device(person: "guests", name: "oma", password: laptop.hash))
            try Data(devices.text.utf8).write(to: URL(filePath: scratch.appending("web.devices")))
            var options = DropServer.Options()
            options.pages = geteuid()
            options.accounts = scratch.bytePath
            change(&options)
            let daemon = FakeDaemon()
            let server = DropServer(store, inbox: "web", ask: { daemon.answer($0) }, options)
            return { await server.answer(to: $0, &$1) }
        }
    }

    private func basic(_ user: String, _ password: String) -> String {
        "Authorization: Basic \(base64Encoded("\(user):\(password)".utf8))"
    }

    private var ana: String { basic("ana", phone.text) }

    private func names(in answer: String) -> [String] {
        answer.matches(of: #/<D:href>([^<]*)<\/D:href>/#).map { String($0.1) }
    }

    private func listed(_ world: World, _ path: String = "/dav/", _ who: String? = nil) async throws -> [String] {
        let answer = try await world.ask("PROPFIND \(path)", [who ?? ana, "Depth: 1"])
        #expect(answer.status == 207, "\(answer)")
        return names(in: answer.text)
    }

    @Test("Nothing is answered without a device's password, by any method, and nothing to a guest or by another's")
    func strangers() async throws {
        let world = try world()
        let wrong: [[String]] = [
            [], [basic("ana", "wrong")], [basic("ana", DevicePassword().text)], [basic("ben", phone.text)],
            [basic("guests", laptop.text)], ["Authorization: Bearer \(phone.text)"], ["Authorization: Basic"],
            ["Authorization: Basic !!!"], ["Remote-User: ana"], [ana, ana],
            [basic("ana", DevicePassword().text), "Remote-User: ana"],
        ]
        for method in HTTPMethod.allCases {
            for fields in wrong {
                let answer = try await world.ask("\(method.rawValue) /dav/a.jpg", fields)
                #expect(answer.status == 401, "\(method) \(fields) \(answer)")
            }
        }
        #expect(
            try await world.ask("PUT /up/a.jpg", [basic("ana", "wrong"), "Remote-User: ana"], body: "x").status == 401)
        #expect(try world.names() == [])
        #expect(try await world.ask("OPTIONS /dav/", [basic("ana", phone.text.uppercased())]).status == 200)
        // A password that was removed works no more.
        try Data(Devices().text.utf8).write(to: URL(filePath: world.scratch.appending("web.devices")))
        #expect(try await world.ask("OPTIONS /dav/", [ana]).status == 401)
        try Data("nonsense\n".utf8).write(to: URL(filePath: world.scratch.appending("web.devices")))
        #expect(try await world.ask("OPTIONS /dav/", [ana]).status == 503)
        try await world.end()
    }

    @Test("A file is put whole, has its name in the inbox with the answer, and stays listed when it has left")
    func put() async throws {
        let world = try world()
        #expect(try await world.ask("PUT /dav/DCIM/a.jpg", [ana], body: "hello").status == 409)
        #expect(try await world.ask("MKCOL /dav/DCIM/", [ana]).status == 201)
        #expect(try await world.ask("MKCOL /dav/DCIM", [ana]).status == 405)
        let put = try await world.ask("PUT /dav/DCIM/a.jpg", [ana, "X-OC-Mtime: 1700000000"], body: "hello")
        #expect(put.status == 201 && put.fields["x-oc-mtime"] == "accepted", "\(put)")
        #expect(world.file("ana/phone/2026-11-26/DCIM/a.jpg") == "hello")
        let tag = try #require(put.fields["etag"])
        try FileManager.default.removeItem(atPath: world.inbox.appending("ana/phone/2026-11-26/DCIM/a.jpg"))
        let row = try await world.ask("PROPFIND /dav/DCIM/a.jpg", [ana, "Depth: 0"])
        #expect(row.text.contains("<D:getcontentlength>5<") && row.text.contains("Tue, 14 Nov 2023 22:13:20 GMT"))
        #expect(row.text.contains(xmlEscaped(tag)))
        let get = try await world.ask("GET /dav/DCIM/a.jpg", [ana])
        #expect(get.status == 404 && get.text == "it is filed; the library is not readable here\n")
        let head = try await world.ask("HEAD /dav/DCIM/a.jpg", [ana])
        #expect(head.status == 200 && head.fields["content-length"] == "5" && head.text.isEmpty)
        #expect(try await world.ask("GET /dav/DCIM", [ana]).status == 200)
        // What a client has is what was put.
        for method in ["GET", "HEAD"] {
            let same = try await world.ask("\(method) /dav/DCIM/a.jpg", [ana, "If-None-Match: \(tag)"])
            #expect(same.status == 304 && same.fields["etag"] == tag, "\(same)")
        }
        // Conditions.
        #expect(try await world.ask("PUT /dav/DCIM/a.jpg", [ana, "If-None-Match: *"], body: "x").status == 412)
        #expect(try await world.ask("PUT /dav/DCIM/a.jpg", [ana, "If-Match: \"x\""], body: "x").status == 412)
        #expect(try await world.ask("PUT /dav/DCIM/b.jpg", [ana, "If-Match: *"], body: "x").status == 412)
        #expect(try await world.ask("PUT /dav/DCIM/b.jpg", [ana, "If-None-Match: *"], body: "x").status == 201)
        #expect(try await world.ask("PUT /dav/DCIM/a.jpg", [ana, "If-Match: \(tag)"], body: "again").status == 204)
        #expect(world.file("ana/phone/2026-11-26-2/DCIM/a.jpg") == "again")
        #expect(try await listed(world, "/dav/DCIM") == ["/dav/DCIM/", "/dav/DCIM/a.jpg", "/dav/DCIM/b.jpg"])
        // Refused, and nothing is left.
        let before = try world.names()
        for (line, fields, status) in [
            ("PUT /dav/c.jpg", ["Content-Range: bytes 0-0/2"], 400),
            ("PUT /dav/c.jpg", ["Content-Encoding: gzip"], 415),
            ("PUT /dav/.c.jpg", [], 403), ("PUT /dav/c.url", [], 403), ("PUT /dav/DCIM/", [], 405),
            ("PUT /dav", [], 405),
            ("MKCOL /dav/.hidden", [], 415), ("PUT /dav/a%2fb.jpg", [], 400), ("PUT /dav/%2e%2e/b.jpg", [], 400),
            ("PUT /dav//b.jpg", [], 400), ("PUT /dav/b%00.jpg", [], 400), ("PUT /dav/..%5cb.jpg", [], 400),
            ("PATCH /dav/DCIM/a.jpg", [], 405), ("POST /dav/", [], 405),
            ("COPY /dav/DCIM/a.jpg", ["Destination: /dav/b.jpg"], 403),
        ] {
            let answer = try await world.ask(line, [ana] + fields, body: "x")
            #expect(answer.status == status, "\(line) \(answer)")
        }
        #expect(try await world.ask("MKCOL /dav/", [ana]).status == 405)
        for line in ["DELETE /dav/", "MKCOL /dav/@eaDir", "MKCOL /dav/.hidden"] {
            #expect(try await world.ask(line, [ana]).status == 403)
        }
        #expect(try world.names() == before)
        try await world.end()
    }

    @Test("A body that is cut short, chunked, or longer than it may be")
    func bodies() async throws {
        let world = try world { $0.limits.largest = 10 }
        _ = try await world.ask("PUT /dav/a.jpg", [ana], body: "hello", length: 6)
        #expect(try await listed(world) == ["/dav/"])
        #expect(try await world.ask("PUT /dav/a.jpg", [ana], body: "hello world").status == 413)
        let chunks = "5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n"
        let chunked = try await world.chunked("PUT /dav/a.jpg", [ana], chunks)
        #expect(chunked == 201)
        #expect(world.file("ana/phone/2026-11-26/a.jpg") == "helloabc")
        #expect(try await world.chunked("PUT /dav/b.jpg", [ana], "b\r\nhello world\r\n0\r\n\r\n") == 413)
        #expect(try await world.chunked("PUT /dav/c.jpg", [ana], "0\r\n\r\n") == 201)
        #expect(try await world.chunked("PUT /dav/._c.jpg", [ana], "b\r\nhello world\r\n0\r\n\r\n") == 413)
        #expect(try await listed(world) == ["/dav/", "/dav/a.jpg", "/dav/c.jpg"])
        #expect(try world.names() == ["ana/phone/2026-11-26/a.jpg"])
        // Beyond the announced length, behind a piece that ends there: what came is no file.
        let created = try await world.ask("POST /up/?name=long.jpg&length=5", [ana])
        let place = try #require(created.fields["location"]?.split(separator: "/").last)
        let beyond = "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
        #expect(try await world.chunked("POST /up/\(place)?at=0", [ana], beyond) == 413)
        #expect(try await world.ask("POST /up/\(place)", [ana]).status == 410)
        #expect(try world.names() == ["ana/phone/2026-11-26/a.jpg"])
        try await world.end()
    }

    @Test("FolderSync: an unfinished name is held, and moved behind a proxy's prefix it is a photo")
    func folderSync() async throws {
        let world = try world()
        let part = "/dav/IMG_1.jpg.tacitpart"
        #expect(try await world.ask("PUT \(part)", [ana, "X-OC-Mtime: 1700000000"], body: "hello").status == 201)
        #expect(try world.names().count == 1 && world.names()[0].hasSuffix(".part"))
        #expect(try await listed(world) == ["/dav/", part])
        let to = "Destination: https://photos.example.org/photos/dav/IMG_1.jpg"
        #expect(try await world.ask("MOVE \(part)", [ana, "Destination: /dav/x/IMG_1.jpg"]).status == 409)
        #expect(try await world.ask("MOVE \(part)", [ana, "Destination: /dav/.IMG_1.jpg"]).status == 403)
        #expect(try await world.ask("MOVE \(part)", [ana, to]).status == 201)
        #expect(world.file("ana/phone/2026-11-26/IMG_1.jpg") == "hello")
        #expect(try await listed(world) == ["/dav/", "/dav/IMG_1.jpg"])
        let time = try FileManager.default.attributesOfItem(
            atPath: world.inbox.appending("ana/phone/2026-11-26/IMG_1.jpg"))
        #expect((time[.modificationDate] as? Date)?.timeIntervalSince1970 == 1_700_000_000)
        // Over one that is there: both are photos.
        #expect(try await world.ask("PUT \(part)", [ana], body: "other").status == 201)
        #expect(try await world.ask("MOVE \(part)", [ana, to, "Overwrite: F"]).status == 412)
        #expect(try await world.ask("MOVE \(part)", [ana, to]).status == 204)
        #expect(world.file("ana/phone/2026-11-26-2/IMG_1.jpg") == "other")
        #expect(try await world.ask("MOVE \(part)", [ana, to]).status == 404)
        // Another put of it, and its removal, end what was held.
        for body in ["one", "two"] { _ = try await world.ask("PUT \(part)", [ana], body: body) }
        #expect(try world.names().count(where: { $0.hasSuffix(".part") }) == 1)
        #expect(try await world.ask("DELETE \(part)", [ana]).status == 204)
        #expect(try world.names().count(where: { $0.hasSuffix(".part") }) == 0)
        try await world.end()
    }

    @Test("What is moved or removed after it was sent changes the listing alone")
    func sentRows() async throws {
        let world = try world()
        _ = try await world.ask("MKCOL /dav/a", [ana])
        _ = try await world.ask("PUT /dav/a/x.jpg", [ana], body: "hello")
        #expect(try await world.ask("MOVE /dav/a/", [ana, "Destination: /dav/b/"]).status == 201)
        #expect(try await listed(world, "/dav/b") == ["/dav/b/", "/dav/b/x.jpg"])
        #expect(try await world.ask("MOVE /dav/b/x.jpg", [ana, "Destination: /dav/y.jpg"]).status == 201)
        #expect(try await world.ask("MOVE /dav/b", [ana, "Destination: /dav/b/c"]).status == 403)
        #expect(try await world.ask("MOVE /dav/", [ana, "Destination: /dav/b/c"]).status == 403)
        #expect(try await world.ask("MOVE /dav/y.jpg", [ana]).status == 400)
        #expect(try await world.ask("DELETE /dav/y.jpg", [ana, "If-Match: \"x\""]).status == 412)
        #expect(try await world.ask("DELETE /dav/y.jpg", [ana]).status == 204)
        #expect(try await world.ask("DELETE /dav/b/", [ana]).status == 204)
        #expect(try await listed(world) == ["/dav/"])
        #expect(world.file("ana/phone/2026-11-26/a/x.jpg") == "hello")
        for method in ["PROPFIND", "DELETE", "GET", "HEAD", "MOVE", "UNLOCK"] {
            #expect(try await world.ask("\(method) /dav/b", [ana, "Depth: 0", "Destination: /dav/z"]).status == 404)
        }
        try await world.end()
    }

    @Test("Finder and Explorer: placeholders, locks, times and what they leave beside photos; none is in the inbox")
    func desktops() async throws {
        let world = try world()
        let lock =
            "<?xml version=\"1.0\"?><D:lockinfo xmlns:D=\"DAV:\"><D:lockscope><D:exclusive/></D:lockscope>"
            + "<D:locktype><D:write/></D:locktype><D:owner><D:href>ana</D:href></D:owner></D:lockinfo>"
        let empty = try await world.ask("PUT /dav/a.jpg", [ana])
        #expect(
            empty.status == 201 && empty.text.contains("nothing of it is in the inbox") && empty.fields["etag"] != nil)
        let placed = try await world.ask("PROPFIND /dav/a.jpg", [ana, "Depth: 0"])
        #expect(placed.text.contains("<D:getcontentlength>0<"))
        #expect(try world.names() == [])
        let locked = try await world.ask("LOCK /dav/a.jpg", [ana, "Timeout: Second-600"], body: lock)
        let token = try #require(locked.fields["lock-token"])
        #expect(locked.status == 200 && locked.text.contains(String(token.dropFirst().dropLast())))
        let again = try await world.ask("LOCK /dav/a.jpg", [ana, "If: (\(token))"])
        #expect(again.status == 200 && again.text.contains(String(token.dropFirst().dropLast())))
        #expect(try await world.ask("LOCK /dav/a.jpg", [ana]).status == 400)
        #expect(try await world.ask("PUT /dav/a.jpg", [ana, "If: (\(token))"], body: "hello").status == 204)
        let times =
            "<D:propertyupdate xmlns:D=\"DAV:\" xmlns:Z=\"urn:schemas-microsoft-com:\"><D:set><D:prop>"
            + "<Z:Win32LastModifiedTime>x</Z:Win32LastModifiedTime></D:prop></D:set></D:propertyupdate>"
        let patched = try await world.ask("PROPPATCH /dav/a.jpg", [ana], body: times)
        #expect(patched.status == 207 && patched.text.contains("200 OK"))
        #expect(try await world.ask("UNLOCK /dav/a.jpg", [ana, "Lock-Token: \(token)"]).status == 204)
        #expect(try await world.ask("UNLOCK /dav/a.jpg", [ana]).status == 400)
        for name in ["._a.jpg", ".DS_Store", "Thumbs.db"] {
            #expect(try await world.ask("PUT /dav/\(name)", [ana], body: "litter").status == 201)
        }
        // Nothing of it was kept, so it becomes no photo.
        #expect(try await world.ask("MOVE /dav/._a.jpg", [ana, "Destination: /dav/b.jpg"]).status == 403)
        #expect(try await world.ask("MOVE /dav/._a.jpg", [ana, "Destination: /dav/._b.jpg"]).status == 201)
        // A name that is locked first.
        let new = try await world.ask("LOCK /dav/new.jpg", [ana], body: lock)
        #expect(new.status == 201)
        #expect(try await world.ask("LOCK /dav/.new.jpg", [ana], body: lock).status == 403)
        #expect(try await world.ask("LOCK /dav/none/new.jpg", [ana], body: lock).status == 409)
        #expect(try await world.ask("LOCK /dav/new.jpg", [ana], body: "<a/>").status == 400)
        #expect(
            try await listed(world) == [
                "/dav/", "/dav/.DS_Store", "/dav/._b.jpg", "/dav/Thumbs.db", "/dav/a.jpg", "/dav/new.jpg",
            ])
        #expect(try world.names() == ["ana/phone/2026-11-26/a.jpg"])
        try await world.end()
    }

    @Test("A device sees its own files alone, and sends by PUT and tus into its own directory")
    func devices() async throws {
        let world = try world()
        let other = basic("ana", laptop.text)
        _ = try await world.ask("PUT /dav/a.jpg", [ana], body: "phone")
        #expect(try await listed(world, "/dav/", other) == ["/dav/"])
        #expect(try await world.ask("DELETE /dav/a.jpg", [other]).status == 404)
        #expect(try await world.ask("PUT /up/b.jpg", [other], body: "laptop").status == 201)
        #expect(world.file("ana/laptop/2026-11-26/b.jpg") == "laptop")
        let created = try await world.ask("POST /up/?name=c.jpg&length=2", [ana])
        let place = try #require(created.fields["location"])
        for who in [[other], ["Remote-User: ana"], []] {
            #expect(try await world.ask("POST /up/\(place)?at=0", who, body: "xx").status == 404)
        }
        #expect(try await world.ask("POST /up/\(place)?at=0", [ana], body: "ab").status == 200)
        let about = try await world.ask("GET /up/about", [ana])
        #expect(about.text.contains("\"owner\":\"ana/phone\""))
        // What is held is no upload that could be continued.
        #expect(try await world.chunked("PUT /dav/d.jpg.part", [ana], "5\r\nhello\r\n0\r\n\r\n") == 201)
        let known = try await world.ask(
            "POST /up/known", [ana], body: "{\"files\":[{\"name\":\"d.jpg.part\",\"size\":5}]}")
        #expect(known.text.contains("unknown") && !known.text.contains("unfinished"), "\(known)")
        #expect(world.store.uploads(of: .device("phone", of: "ana")).values.count(where: \.isHeldWhole) == 1)
        // A device of the same name that was added later has a listing of its own.
        var devices = Devices()
        devices.put(Device(person: "ana", name: "phone", birth: 2, password: phone.hash))
        try Data(devices.text.utf8).write(to: URL(filePath: world.scratch.appending("web.devices")))
        #expect(try await listed(world) == ["/dav/"])
        try await world.end()
    }

    @Test("Folders are listed one at a time; a long one in pieces, and few of them at once")
    func listings() async throws {
        let world = try world()
        let all = try await world.ask("PROPFIND /dav/", [ana])
        #expect(all.status == 403 && all.text.contains("<D:propfind-finite-depth/>"))
        #expect(try await world.ask("PROPFIND /dav/", [ana, "Depth: 1"], body: "<x").status == 400)
        let large = String(repeating: " ", count: 64 << 10) + "<x/>"
        #expect(try await world.ask("PROPFIND /dav/", [ana, "Depth: 1"], body: large).status == 413)
        let listing = try world.store.listing(of: "phone", "ana", born: 1)
        for number in 0..<2_100 { _ = try listing.put(BytePath("<&\(number)>.jpg"), .empty, modified: 1) }
        let answer = try await world.ask("PROPFIND /dav/", [ana, "Depth: 1"])
        #expect(answer.fields["transfer-encoding"] == "chunked")
        #expect(names(in: answer.text).count == 2_101 && answer.text.contains("</D:multistatus>"))
        #expect(answer.text.contains("<D:displayname>&lt;&amp;7&gt;.jpg</D:displayname>"))
        // Those that nobody reads take a place each, until their clients leave.
        var sockets: [Int32] = []
        for _ in 0..<8 {
            let socket = try connect(to: BytePath(world.scratch.appending("http")), patience: .seconds(waitLimit))
            let bytes = Array("PROPFIND /dav/ HTTP/1.1\r\nHost: x\r\n\(ana)\r\nDepth: 1\r\n\r\n".utf8)
            let raw = socket.raw
            _ = try systemCall("send") { send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
            sockets.append(dup(raw))
        }
        try await poll {
            try await world.ask("PROPFIND /dav/", [ana, "Depth: 1"]).status
        } until: {
            $0 == 503
        }
        for socket in sockets { close(socket) }
        try await poll {
            try await world.ask("PROPFIND /dav/", [ana, "Depth: 1"]).status
        } until: {
            $0 == 207
        }
        try await world.end()
    }
}

extension UploadHandlerTests.World {
    /// The status of the answer to a request with a chunked body.
    fileprivate func chunked(_ line: String, _ fields: [String], _ chunks: String) async throws -> Int {
        let socket = try connect(to: BytePath(scratch.appending("http")), patience: .seconds(waitLimit))
        let head = "\(line) HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
        let bytes = Array((head + fields.map { "\($0)\r\n" }.joined() + "\r\n" + chunks).utf8)
        let raw = socket.raw
        let text = try await aside {
            try systemCall("send") { send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
            var (text, buffer) = ("", [UInt8](repeating: 0, count: 4_096))
            while case let count = recv(raw, &buffer, buffer.count, 0), count > 0 {
                text += String(decoding: buffer[..<count], as: UTF8.self)
            }
            return text
        }
        _ = consume socket
        return Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0
    }
}
