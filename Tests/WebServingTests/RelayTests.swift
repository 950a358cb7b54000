import FileValues
import Foundation
import Glibc
import HTTPValues
import LinuxKernel
import TestSupport
import Testing

@testable import WebServing

@Suite("Requests that are passed on", .timeLimit(.minutes(60)), .atMost(4))
struct RelayTests {
    /// Two servers, of which the first passes everything on to the second, and says why it has no answer.
    struct Worlds {
        let front: ServerTests.World
        let back: ServerTests.World

        init(
            _ limits: WebLimits = ServerTests.patient, patience: Duration = .seconds(waitLimit),
            handler: @escaping WebServer.StreamHandler
        ) throws {
            back = try ServerTests.World(WebServer(limits, streaming: { _ in true }, handler: handler))
            front = try Self.front(limits, to: back.scratch.appending("http"), patience)
        }

        static func front(
            _ limits: WebLimits = ServerTests.patient, to path: String, _ patience: Duration = .seconds(waitLimit)
        ) throws -> ServerTests.World {
            let relay = WebRelay(to: BytePath(path), patience: patience)
            let server = WebServer(limits, streaming: { $0.target.segments != ["held"] }) { request, body in
                do throws(WebRelay.Failure) { return try await relay.answer(to: request, &body) } catch {
                    return .text(.unavailable, "\(error)")
                }
            }
            return try ServerTests.World(server)
        }

        func end() async throws {
            try await front.end()
            try await back.end()
        }
    }

    /// The size of a body, or that it broke off.
    @Sendable private static func size(_ body: inout WebBody) async -> String {
        var count = 0
        do { while let piece = try await body.next() { count += piece.count } } catch { return "cut after \(count)" }
        return "\(count) bytes"
    }

    @Test("All of a request arrives but what is meant for one connection, and so does all of an answer")
    func fields() async throws {
        let worlds = try Worlds { request, body in
            let fields = request.head.fields.all.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: " ")
            let text = await Self.size(&body)
            return WebResponse(
                .accepted,
                [("Upload-Offset", "7"), ("Connection", "x-own"), ("X-Own", "1"), ("X-Two", "a"), ("X-Two", "b")],
                body: .bytes(
                    Array("\(request.head.method.rawValue) \(request.head.target.text) \(fields) \(text)".utf8)))
        }
        let client = try worlds.front.client()
        try client.send("PATCH /up/a%20b/%c3%a4?x=1%26+2 HTTP/1.1\r\nHost: h\r\n")
        try client.send("Connection: x-mine, close, Remote-User\r\nX-Mine: 1\r\n")
        try client.send("TE: trailers\r\nRemote-User: ana\r\nX-Other: 2\r\nContent-Length: 3\r\n\r\nabc")
        let text = try await client.text()
        #expect(text.hasPrefix("HTTP/1.1 202 Accepted\r\n"), "\(text)")
        let passed = "connection=close content-length=3 host=h remote-user=ana x-other=2"
        #expect(text.hasSuffix("PATCH /up/a%20b/%C3%A4?x=1%26%202 \(passed) 3 bytes"), "\(text)")
        #expect(text.contains("upload-offset: 7\r\n") && text.contains("x-two: a\r\nx-two: b\r\n"), "\(text)")
        #expect(!text.lowercased().contains("x-own"))
        #expect(text.components(separatedBy: "ate: ").count == 2, "one Date: \(text)")
        try await worlds.end()
    }

    @Test("Bodies of every framing pass, and answers to HEAD and without content have none")
    func framings() async throws {
        let worlds = try Worlds { request, body in
            let text = await Self.size(&body)
            if request.head.method == .delete { return WebResponse(.noContent, [("Upload-Offset", "1")]) }
            return .text(.ok, "\(request.head.method.rawValue) \(text)")
        }
        let client = try worlds.front.client()
        try client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        try client.send("POST /b HTTP/1.1\r\nHost: x\r\n\r\n")
        try client.send(
            "PUT /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")
        try client.send("POST /held HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")
        let text = try await client.text { $0.contains("POST 2 bytes\n") }
        let answers = ["GET 0 bytes\n", "POST 0 bytes\n", "PUT 5 bytes\n", "POST 2 bytes\n"]
        #expect(answers.allSatisfy { text.contains($0) }, "\(text)")
        try client.send("DELETE /d HTTP/1.1\r\nHost: x\r\n\r\nHEAD /e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let rest = try await client.text()
        #expect(rest.hasPrefix("HTTP/1.1 204 ") && rest.contains("HTTP/1.1 200 OK\r\n"), "\(rest)")
        #expect(rest.contains("Content-Length: 13\r\n") && rest.hasSuffix("\r\n\r\n"), "\(rest)")
        try await worlds.end()
    }

    @Test("Neither side is read faster than the other reads")
    func backPressure() async throws {
        let (waited, go) = AsyncStream.makeStream(of: Void.self)
        let size = 64 << 20
        let worlds = try Worlds { _, body in
            for await _ in waited { break }
            let text = await Self.size(&body)
            // And as much back, as it is asked for.
            let produced = Locked(0)
            let pieces = AsyncStream<[UInt8]> {
                let count = produced.withLock { produced in
                    produced += 1
                    return produced
                }
                return count <= 64 ? [UInt8](repeating: 8, count: 1 << 20) : nil
            }
            return WebResponse(
                text == "\(size) bytes" ? .ok : .badRequest, body: .stream(length: UInt64(64 << 20), pieces))
        }
        let client = try worlds.front.client()
        try client.send("PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\nConnection: close\r\n\r\n")
        let raw = client.socket.raw
        let block = [UInt8](repeating: 7, count: 1 << 20)
        let first = try await aside {
            var sent = 0
            var writable = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
            while sent < size, Glibc.poll(&writable, 1, 500) > 0 {
                let count = send(
                    raw, block, min(block.count, size - sent), Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
                if count > 0 { sent += count }
            }
            return sent
        }
        #expect(first < 12 << 20, "\(first) of \(size) bytes were accepted")
        go.yield()
        let received = try await aside {
            var sent = first
            while sent < size {
                sent += try systemCall("send") { send(raw, block, min(block.count, size - sent), Int32(MSG_NOSIGNAL)) }
            }
            var (count, buffer) = (0, [UInt8](repeating: 0, count: 1 << 20))
            while true {
                let got = recv(raw, &buffer, buffer.count, 0)
                if got <= 0 { return count }
                count += got
            }
        }
        #expect(received > size && received < size + 1_000, "\(received)")
        try await worlds.end()
    }

    @Test("A server that takes no more of a body, as with a disk that hangs, does not hold the connection for ever")
    func hung() async throws {
        let (waited, go) = AsyncStream.makeStream(of: Void.self)
        let worlds = try Worlds(patience: .milliseconds(200)) { _, _ in
            for await _ in waited { break }
            return .text(.ok, "too late")
        }
        let client = try worlds.front.client()
        try client.send("PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: \(1 << 40)\r\n\r\n")
        let raw = client.socket.raw
        let block = [UInt8](repeating: 7, count: 1 << 16)
        try await aside {
            var state = pollfd(fd: raw, events: Int16(POLLIN | POLLOUT), revents: 0)
            while Glibc.poll(&state, 1, -1) > 0, state.revents & Int16(POLLIN) == 0 {
                if send(raw, block, block.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)) < 0, errno != EAGAIN {
                    return
                }
            }
        }
        let text = try await client.text { $0.contains("late") }
        #expect(text.hasPrefix("HTTP/1.1 503 ") && text.hasSuffix("late\n"), "\(text)")
        go.yield()
        try await worlds.end()
    }

    @Test("An answer that comes before the body has ended is passed on at once")
    func early() async throws {
        let worlds = try Worlds { _, body in
            _ = try? await body.next()
            return .text(.conflict, "enough")
        }
        let client = try worlds.front.client()
        try client.send("PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        let raw = client.socket.raw
        // Until the answer is there, whoever sends sends.
        let sending = Task {
            while !Task.isCancelled, send(raw, "a", 1, Int32(MSG_NOSIGNAL)) == 1 { await Task.yield() }
        }
        let text = try await client.text { $0.contains("enough") }
        #expect(text.hasPrefix("HTTP/1.1 409 "), "\(text)")
        sending.cancel()
        await sending.value
        try await worlds.end()
    }

    @Test("Where an upload is continued is passed on before the answer")
    func informational() async throws {
        let worlds = try Worlds { _, body in
            try? await body.inform([("Location", "up/7"), ("Set-Cookie", "a=b")])
            return .text(.ok, await Self.size(&body))
        }
        let client = try worlds.front.client()
        try client.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n")
        try client.send("Connection: close\r\n\r\n")
        var text = try await client.text { $0.contains("100 Continue") }
        let raw = client.socket.raw
        let sending = Task {
            var count = 0
            while !Task.isCancelled, send(raw, "1\r\na\r\n", 6, Int32(MSG_NOSIGNAL)) == 6 {
                count += 1
                await Task.yield()
            }
            return count
        }
        text += try await client.text { $0.contains("104 ") }
        sending.cancel()
        let count = await sending.value
        try client.send("0\r\n\r\n")
        text += try await client.text()
        #expect(
            text.lowercased().contains("\r\nlocation: up/7\r\n") && text.hasSuffix("\r\n\(count) bytes\n"),
            "\(count): \(text)")
        #expect(!text.contains("a=b"), "\(text)")
        #expect(text.components(separatedBy: "HTTP/1.1 ").count == 4, "\(text)")
        try await worlds.end()
    }

    @Test("A client that breaks off cuts the body on the other side, too")
    func cut() async throws {
        let (came, come) = AsyncStream.makeStream(of: String.self)
        let worlds = try Worlds { _, body in
            let size = await Self.size(&body)
            if size.hasPrefix("cut") { come.yield(size) }
            return .text(.ok, "")
        }
        for framing in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
            let client = try worlds.front.client()
            try client.send("PUT /a HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n")
            try client.send(framing.hasPrefix("C") ? "abc" : "3\r\nabc\r\n")
            // A round trip, so that the piece has arrived.
            try await worlds.front.untilOthersAreServed()
            try systemCall("shutdown") { shutdown(client.socket.raw, Int32(SHUT_RDWR)) }
        }
        var ends = came.makeAsyncIterator()
        for _ in 0..<2 { #expect(await ends.next() == "cut after 3") }
        try await worlds.end()
    }

    @Test("Events pass as they come, and whoever leaves ends them on the other side")
    func events() async throws {
        let (left, leave) = AsyncStream.makeStream(of: Void.self)
        let worlds = try Worlds { _, _ in
            let (pieces, put) = AsyncStream.makeStream(of: [UInt8].self)
            put.onTermination = { _ in leave.yield() }
            put.yield(Array("event: one\n\n".utf8))
            return WebResponse(.ok, [("Content-Type", "text/event-stream")], body: .stream(length: nil, pieces))
        }
        let client = try worlds.front.client()
        try client.send("GET /up/live HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.text { $0.contains("event: one\n\n") }.contains("text/event-stream"))
        try systemCall("shutdown") { shutdown(client.socket.raw, Int32(SHUT_RDWR)) }
        for await _ in left { break }
        try await worlds.end()
    }

    @Test("Without the other server, or an answer of it, the reason is known")
    func failures() async throws {
        let (waited, go) = AsyncStream.makeStream(of: Void.self)
        let worlds = try Worlds(patience: .milliseconds(50)) { _, _ in
            for await _ in waited { break }
            return .text(.ok, "too late")
        }
        let client = try worlds.front.client()
        try client.send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try await client.text { $0.contains("\r\n\r\n") && $0.hasSuffix("\n") }.hasSuffix("late\n"))
        go.yield()
        try await worlds.back.end()
        try client.send("GET /gone HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(try await client.text().hasSuffix("unreachable\n"))
        // One that accepts and says nothing that is HTTP.
        let path = worlds.back.scratch.appending("other")
        let socket = try listen(at: BytePath(path), mode: 0o600)
        let front = try Worlds.front(to: path)
        let other = try front.client()
        try other.send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        let raw = socket.raw
        try await aside {
            var readable = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
            _ = Glibc.poll(&readable, 1, -1)
            let accepted = try systemCall("accept") { accept(raw, nil, nil) }
            send(accepted, "SMTP\r\n\r\n", 8, Int32(MSG_NOSIGNAL))
            close(accepted)
        }
        #expect(try await other.text().hasSuffix("noAnswer\n"))
        withExtendedLifetime(socket) {}
        try await front.end()
        try await worlds.front.end()
    }
}

extension ServerTests.World {
    /// Returns after another request has gone all the way.
    func untilOthersAreServed() async throws {
        let client = try client()
        try client.send("PUT /b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\na")
        #expect(try await client.text().hasPrefix("HTTP/1.1 200 "))
    }
}
