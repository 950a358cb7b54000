import FileValues
import Foundation
import Glibc
import HTTPValues
import LinuxKernel
import TestSupport
import Testing

@testable import WebServing

@Suite("A server, by its sockets", .timeLimit(.minutes(60)), .atMost(4))
struct ServerTests {
    /// Without a deadline that a busy machine could miss.
    static let patient = {
        var limits = WebLimits()
        limits.head = .seconds(waitLimit)
        limits.keepAlive = .seconds(waitLimit)
        limits.body = .seconds(waitLimit)
        limits.piece = .seconds(waitLimit)
        limits.tick = .milliseconds(10)
        return limits
    }()

    /// A server on a local socket, with a client's view of it.
    final class World: Sendable {
        let scratch: ScratchDirectory
        let server: WebServer
        let running: Task<Void, any Error>

        convenience init(
            _ limits: WebLimits = patient, listeningAt path: String? = nil, handler: @escaping WebServer.Handler
        ) throws { try self.init(WebServer(limits, handler: handler), listeningAt: path) }

        init(_ server: WebServer, listeningAt path: String? = nil) throws {
            scratch = try ScratchDirectory()
            let listener = try WebListener(taking: listen(at: BytePath(path ?? scratch.appending("http")), mode: 0o600))
            self.server = server
            running = Task { try await server.run([listener]) }
        }

        func client() throws -> Client { try Client(scratch.appending("http")) }

        func end() async throws {
            server.stop()
            try await running.value
        }
    }

    /// A connection of a client that sends any bytes.
    struct Client: ~Copyable {
        let socket: OwnedDescriptor

        init(_ path: String) throws { socket = try connect(to: BytePath(path), patience: .seconds(waitLimit)) }

        func send(_ text: String) throws {
            let (raw, bytes) = (socket.raw, Array(text.utf8))
            try systemCall("send") { Glibc.send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL)) }
        }

        /// What comes until the server closes the connection, or until `isEnough`.
        func text(until isEnough: @escaping @Sendable (String) -> Bool = { _ in false }) async throws -> String {
            try await Self.text(from: socket.raw, until: isEnough)
        }

        static func text(
            from raw: Int32, until isEnough: @escaping @Sendable (String) -> Bool = { _ in false }
        ) async throws -> String {
            try await aside {
                var text = ""
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while !isEnough(text) {
                    let count = recv(raw, &buffer, buffer.count, 0)
                    if count <= 0 { break }
                    text += String(decoding: buffer[..<count], as: UTF8.self)
                }
                return text
            }
        }
    }

    static let echo: WebServer.Handler = { request in
        let peer = request.peer == .local(user: geteuid()) ? "me" : "other"
        let body = String(decoding: request.body, as: UTF8.self)
        return .text(.ok, "\(request.head.method.rawValue) \(request.head.target.segments) \(body) \(peer)")
    }

    @Test("Requests of one connection are answered in order, also when they come at once")
    func pipelined() async throws {
        let world = try World(handler: Self.echo)
        let client = try world.client()
        try client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET /b HTTP/1.1\r\nHost: x\r\n\r\n")
        try client.send("POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        try client.send("1\r\nx\r\n2\r\nyz\r\n0\r\n\r\n")
        let text = try await client.text()
        let answers = ["POST [\"a\"] hi me", "GET [\"b\"]  me", "POST [\"c\"] xyz me"]
        let places = answers.map { text.range(of: $0)?.lowerBound }
        #expect(
            places.allSatisfy { $0 != nil } && places.compactMap(\.self) == places.compactMap(\.self).sorted(),
            "\(text)")
        #expect(text.components(separatedBy: "HTTP/1.1 200 OK").count == 4)
        #expect(text.contains("Date: ") && text.contains("GMT"))
        try await world.end()
    }

    @Test(
        "What two programs could read differently is refused, and ends the connection",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
            ("GET /../x HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.1\nHost: a\n\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n", 413),
            ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", 417),
        ])
    func refused(request: String, status: Int) async throws {
        let calls = Locked(0)
        let world = try World { _ in
            calls.withLock { $0 += 1 }
            return WebResponse(.ok)
        }
        let client = try world.client()
        try client.send(request + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        let text = try await client.text()
        #expect(text.hasPrefix("HTTP/1.1 \(status) "), "\(text)")
        #expect(text.components(separatedBy: "HTTP/1.1 ").count == 2, "\(text)")
        #expect(text.contains("Connection: close"))
        #expect(calls.withLock { $0 } == 0)
        try await world.end()
    }

    @Test("A handler sees that its client has left, and not that it is still there")
    func left() async throws {
        let seen = Locked<[Bool]>([])
        let world = try World { request in
            seen.withLock { $0.append(request.hasLeft()) }
            if request.head.target.segments == ["stay"] { return .text(.ok, "stayed") }
            while !request.hasLeft() { await Task.yield() }
            seen.withLock { $0.append(true) }
            return .text(.ok, "too late")
        }
        do {
            let client = try world.client()
            try client.send("GET /stay HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await client.text { $0.hasSuffix("stayed\n") }
            try client.send("GET /leave HTTP/1.1\r\nHost: a\r\n\r\n")
            try await poll {
                seen.withLock { $0.count }
            } until: {
                $0 == 2
            }
        }
        try await poll {
            seen.withLock { $0 }
        } until: {
            $0 == [false, false, true]
        }
        try await world.end()
    }

    @Test("Garbage behind a request that is in work, or was refused, gets no answer of its own")
    func garbage() async throws {
        let world = try World { _ in .text(.ok, "done") }
        let working = try world.client()
        // In one piece: what is sent later may come after the answer, and be a request of its own.
        try working.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n\0\0\0\r\n\r\n")
        let answers = try await working.text()
        #expect(answers.components(separatedBy: "HTTP/1.1 ").count <= 2, "\(answers)")
        let refused = try world.client()
        try refused.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n\0\0\r\n\r\nGET\0/\r\n\r\n")
        let text = try await refused.text()
        #expect(text.hasPrefix("HTTP/1.1 413 ") && text.components(separatedBy: "HTTP/1.1 ").count == 2, "\(text)")
        try await world.end()
    }

    @Test("A head, or a body, that is larger than allowed ends the connection before it is all read")
    func tooLarge() async throws {
        let world = try World(handler: Self.echo)
        for request in [
            "GET / HTTP/1.1\r\nHost: a\r\nA: " + String(repeating: "b", count: 100_000),
            "GET /" + String(repeating: "b", count: 100_000),
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n"
                + String(repeating: "b", count: 0x20000),
        ] {
            let client = try world.client()
            try? client.send(request)
            let text = try await client.text()
            #expect(text.isEmpty || text.hasPrefix("HTTP/1.1 4"), "\(text.prefix(300))")
        }
        try await world.end()
    }

    @Test(
        "Bytes that end no head are not kept, nor what follows an upgrade",
        arguments: [
            "GET / HTTP/1.1\r\nX:", "GET / ", "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
        ])
    func endless(start: String) async throws {
        let world = try World(handler: Self.echo)
        let client = try world.client()
        try client.send(start)
        let raw = client.socket.raw
        let sent = try await aside {
            let blanks = [UInt8](repeating: 32, count: 65_536)
            var sent = 0
            // Sending fails once the server has closed the connection; the socket holds some more.
            while sent < 64 << 20 {
                let count = Glibc.send(raw, blanks, blanks.count, Int32(MSG_NOSIGNAL))
                if count <= 0 { break }
                sent += count
            }
            return sent
        }
        #expect(sent < 4 << 20)
        try await world.end()
    }

    @Test("Who sends request after request without reading answers is closed")
    func unread() async throws {
        let calls = Locked(0)
        let world = try World { request in
            calls.withLock { $0 += 1 }
            return WebResponse(.ok, body: .bytes([UInt8](repeating: 120, count: 1 << 20)))
        }
        let client = try world.client()
        let requests = String(repeating: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", count: 100)
        // It may be closed already.
        try? client.send(requests)
        let text = try await client.text()
        #expect(text.components(separatedBy: "HTTP/1.1 200 OK").count <= 10)
        #expect(calls.withLock { $0 } <= 9)
        try await world.end()
    }

    @Test("A request to upgrade is answered, and is the last of its connection")
    func upgrade() async throws {
        let world = try World(handler: Self.echo)
        let client = try world.client()
        try client.send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
        let text = try await client.text()
        #expect(text.contains("Connection: close\r\n") && text.contains("GET [\"a\"]"), "\(text)")
        try await world.end()
    }

    @Test("HEAD has the length, and no body; HTTP/1.0 ends with the answer")
    func headAndOld() async throws {
        let world = try World(handler: Self.echo)
        let client = try world.client()
        try client.send("HEAD /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let text = try await client.text()
        #expect(text.hasSuffix("\r\n\r\n") && text.contains("Content-Length: 15\r\n"), "\(text)")
        let old = try world.client()
        try old.send("GET /a HTTP/1.0\r\n\r\n")
        let answer = try await old.text()
        #expect(answer.hasPrefix("HTTP/1.0 200 OK") && answer.hasSuffix("GET [\"a\"]  me\n"), "\(answer)")
        try await world.end()
    }

    @Test(
        "Who sends no head, or half of a body, in time is closed",
        arguments: ["", "GET / HT", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab"])
    func slow(start: String) async throws {
        var limits = Self.patient
        if start.hasPrefix("POST") { limits.body = .milliseconds(50) } else { limits.head = .milliseconds(50) }
        let world = try World(limits, handler: Self.echo)
        let client = try world.client()
        // It may be closed already.
        if !start.isEmpty { try? client.send(start) }
        #expect(try await client.text() == "")
        try await world.end()
    }

    @Test("Who reads no answer in time is closed, and its stream ended")
    func slowReader() async throws {
        var limits = Self.patient
        limits.piece = .milliseconds(50)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        let world = try World(limits) { _ in
            let (pieces, piece) = AsyncStream.makeStream(of: [UInt8].self)
            piece.onTermination = { _ in end.yield() }
            for _ in 0..<16 { piece.yield([UInt8](repeating: 120, count: 1 << 20)) }
            return WebResponse(.ok, body: .stream(length: nil, pieces))
        }
        let client = try world.client()
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        for await _ in ended { break }
        try await world.end()
        _ = consume client
    }

    @Test("The last answer of a connection arrives whole, however slowly it is read", arguments: ["1.0", "1.1"])
    func lastAnswer(version: String) async throws {
        let size = 1 << 20
        let world = try World { _ in WebResponse(.ok, body: .bytes([UInt8](repeating: 120, count: size))) }
        for _ in 0..<20 {
            let client = try world.client()
            try client.send("GET / HTTP/\(version)\r\nHost: x\r\nConnection: close\r\n\r\n")
            let raw = client.socket.raw
            // The socket has all that it can hold, and a server that closes now takes the rest away.
            try await aside {
                var ended = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
                _ = Glibc.poll(&ended, 1, -1)
                ended.events = 0
                _ = Glibc.poll(&ended, 1, 50)
            }
            #expect(try await client.text().utf8.count > size)
        }
        try await world.end()
    }

    @Test("A stream ends when its client leaves, though it has nothing to send")
    func leaving() async throws {
        let (left, leave) = AsyncStream.makeStream(of: Void.self)
        let world = try World { _ in
            let (events, event) = AsyncStream.makeStream(of: [UInt8].self)
            event.onTermination = { _ in leave.yield() }
            event.yield(Array("first".utf8))
            return WebResponse(.ok, body: .stream(length: nil, events))
        }
        do {
            let client = try world.client()
            try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            _ = try await client.text { $0.contains("first") }
        }
        for await _ in left { break }
        try await world.end()
    }

    @Test("Too little or too much of what was announced breaks the connection off")
    func wrongLength() async throws {
        let world = try World { request in
            let bytes = [UInt8](repeating: 120, count: request.head.target.segments == ["short"] ? 3 : 7)
            let (pieces, piece) = AsyncStream.makeStream(of: [UInt8].self)
            piece.yield(bytes)
            piece.finish()
            return WebResponse(.ok, body: .stream(length: 5, pieces))
        }
        for (path, count) in [("short", 3), ("long", 0)] {
            let client = try world.client()
            try client.send("GET /\(path) HTTP/1.1\r\nHost: a\r\n\r\nGET /\(path) HTTP/1.1\r\nHost: a\r\n\r\n")
            let text = try await client.text()
            #expect(text.contains("Content-Length: 5"))
            #expect(text.components(separatedBy: "HTTP/1.1").count == 2)
            #expect(text.hasSuffix("\r\n\r\n" + String(repeating: "x", count: count)), "\(text)")
        }
        try await world.end()
    }

    @Test("A full house closes who waits, and serves who comes")
    func fullHouse() async throws {
        var limits = Self.patient
        limits.connections = 2
        let world = try World(limits, handler: Self.echo)
        let first = try world.client()
        let second = try world.client()
        let third = try world.client()
        try third.send("GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(try await third.text().contains("GET [\"3\"]"))
        #expect(try await first.text() == "")
        try second.send("GET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(try await second.text().contains("GET [\"2\"]"))
        try await world.end()
    }

    @Test("A server whose task is cancelled ends every connection, and itself")
    func cancelled() async throws {
        for _ in 0..<20 {
            let world = try World { _ in
                WebResponse(.ok, body: .stream(length: nil, AsyncStream { _ in }))
            }
            let watching = try world.client()
            try watching.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try await watching.text { $0.contains("\r\n\r\n") }.hasPrefix("HTTP/1.1 200"))
            let waiting = try world.client()
            try waiting.send("GET / HT")
            let accepted = try world.client()
            world.running.cancel()
            try await world.running.value
            for client in [watching.socket.raw, waiting.socket.raw, accepted.socket.raw] {
                #expect(try await Client.text(from: client) == "")
            }
            _ = consume watching
            _ = consume waiting
            _ = consume accepted
        }
    }

    @Test("A connection ends with its answer, also if a child process was started in between")
    func childProcess() async throws {
        let child = Locked<pid_t>(0)
        let world = try World { _ in
            var arguments = [strdup("/bin/sleep"), strdup("1000"), nil]
            defer { for argument in arguments { free(argument) } }
            child.withLock { _ = posix_spawn(&$0, "/bin/sleep", nil, nil, &arguments, environ) }
            return .text(.ok, "done")
        }
        let client = try world.client()
        try client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(try await client.text().hasSuffix("done\n"))
        let pid = child.withLock { $0 }
        #expect(pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, nil, 0) == pid)
        try await world.end()
    }

    @Test("It ends when nobody is there, and loses no connection: the next one on the same socket answers it")
    func idleEnd() async throws {
        let limits = {
            var limits = Self.patient
            limits.idle = .zero
            limits.tick = .milliseconds(1)
            return limits
        }()
        let scratch = try ScratchDirectory()
        let path = scratch.appending("http")
        // The service manager's, which stays open.
        let kept = try listen(at: BytePath(path), mode: 0o600)
        let raw = kept.raw
        @Sendable func serve() async throws {
            let copy = try descriptorCall("fcntl") { fcntl(raw, F_DUPFD_CLOEXEC, 3) }
            try await WebServer(limits, handler: Self.echo).run([WebListener(taking: copy)])
        }
        // As the manager does: whenever a connection waits, a server is started.
        let manager = Task {
            var starts = 0
            while !Task.isCancelled {
                let count = try await aside {
                    var waiting = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
                    return Glibc.poll(&waiting, 1, 20)
                }
                if count > 0 {
                    starts += 1
                    try await serve()
                }
            }
            return starts
        }
        for number in 0..<200 {
            let client = try Client(path)
            try client.send("GET /\(number) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try await client.text().contains("GET [\"\(number)\"]"))
        }
        manager.cancel()
        #expect(try await manager.value > 1)
        _ = consume kept
    }
}
