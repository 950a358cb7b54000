import Foundation
import Glibc
import HTTPValues
import LinuxKernel
import TestSupport
import Testing

@testable import WebServing

@Suite("Bodies that are read as they come", .timeLimit(.minutes(60)), .atMost(4))
struct BodyTests {
    typealias World = ServerTests.World

    /// All of a body, and nil if it broke off.
    @Sendable private static func content(_ body: inout WebBody) async -> [UInt8]? {
        var all: [UInt8] = []
        do { while let piece = try await body.next() { all += piece } } catch { return nil }
        return all
    }

    private static let echo: WebServer.StreamHandler = { request, body in
        guard let content = await content(&body) else { return .text(.badRequest, "cut") }
        return .text(
            .ok, "\(request.head.target.segments) \(request.body.count) \(String(decoding: content, as: UTF8.self))")
    }

    private static let length = "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: "

    @Test("A handler has each piece as it comes, and the next request follows")
    func pieces() async throws {
        let (came, come) = AsyncStream.makeStream(of: String.self)
        let world = try World(streaming: { $0.method == .put }) { request, body in
            do {
                while let piece = try await body.next() { come.yield(String(decoding: piece, as: UTF8.self)) }
            } catch { come.yield("cut") }
            return .text(.ok, "\(request.head.target.segments) \(request.body.count)")
        }
        let client = try world.client()
        var pieces = came.makeAsyncIterator()
        try client.send(Self.length + "6\r\n\r\nab")
        #expect(await pieces.next() == "ab")
        try client.send("cd")
        #expect(await pieces.next() == "cd")
        try client.send("efPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\ngh")
        let text = try await client.text()
        #expect(await pieces.next() == "ef")
        #expect(text.contains("[\"a\"] 0") && text.contains("[\"b\"] 2"), "\(text)")
        try await world.end()
    }

    @Test("A chunked body is the same, and an HTTP/1.0 client's ends with its answer")
    func framings() async throws {
        let world = try World(streaming: { _ in true }, handler: Self.echo)
        let client = try world.client()
        try client.send("PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
        try client.send("2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n")
        #expect(try await client.text().hasSuffix("[\"a\"] 0 abcde\n"))
        let old = try world.client()
        try old.send("PUT /a HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nab")
        let text = try await old.text()
        #expect(text.hasPrefix("HTTP/1.0 200") && text.hasSuffix("[\"a\"] 0 ab\n"), "\(text)")
        try await world.end()
    }

    @Test("What a handler does not ask for stays with the client")
    func backPressure() async throws {
        let (waited, go) = AsyncStream.makeStream(of: Void.self)
        let size = 64 << 20
        let world = try World(streaming: { _ in true }) { _, body in
            for await _ in waited { break }
            var count = 0
            do { while let piece = try await body.next() { count += piece.count } } catch {
                return .text(.badRequest, "cut")
            }
            return .text(.ok, "\(count) bytes")
        }
        let client = try world.client()
        try client.send(Self.length + "\(size)\r\nConnection: close\r\n\r\n")
        let raw = client.socket.raw
        let block = [UInt8](repeating: 7, count: 1 << 20)
        // Until the socket is full and stays so: the server reads no more.
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
        #expect(first < 8 << 20, "\(first) of \(size) bytes were accepted")
        go.yield()
        try await aside {
            var sent = first
            while sent < size {
                sent += try systemCall("send") { send(raw, block, min(block.count, size - sent), Int32(MSG_NOSIGNAL)) }
            }
        }
        #expect(try await client.text().contains("\(size) bytes"))
        try await world.end()
    }

    @Test("Pieces are large while few bodies are received, and small of those that come then")
    func pieceSizes() async throws {
        var limits = ServerTests.patient
        limits.stall = .seconds(waitLimit)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let size = 2 << 20
        let world = try World(limits, streaming: { _ in true }) { _, body in
            begin.yield()
            var most = 0
            do { while let piece = try await body.next() { most = max(most, piece.count) } } catch {
                return .text(.badRequest, "cut")
            }
            return .text(.ok, "\(most)")
        }
        @Sendable func most(of size: Int) async throws -> Int? {
            let client = try world.client()
            let raw = client.socket.raw
            try client.send(Self.length + "\(size)\r\nConnection: close\r\n\r\n")
            try await aside {
                let block = [UInt8](repeating: 7, count: size)
                var sent = 0
                while sent < size {
                    sent += try systemCall("send") { send(raw, block, size - sent, Int32(MSG_NOSIGNAL)) }
                }
            }
            return Int(try await client.text().components(separatedBy: "\r\n\r\n").last?.dropLast() ?? "")
        }
        let alone = try #require(try await most(of: size))
        #expect(alone <= WebBody.pieceSizes.few)
        let waiting = try (0..<WebBody.few).map { _ in
            let client = try world.client()
            try client.send(Self.length + "1\r\n\r\n")
            return client.socket.take()
        }
        var begins = begun.makeAsyncIterator()
        for _ in 0...WebBody.few { await begins.next() }
        let last = try #require(try await most(of: size))
        #expect(last <= WebBody.pieceSizes.many)
        for raw in waiting { close(raw) }
        try await world.end()
    }

    @Test("Who sends nothing, or next to nothing, is closed, and its handler learns it", arguments: [false, true])
    func stall(trickles: Bool) async throws {
        var limits = ServerTests.patient
        limits.stall = .milliseconds(50)
        let (ended, end) = AsyncStream.makeStream(of: Bool.self)
        let world = try World(limits, streaming: { _ in true }) { _, body in
            end.yield(await Self.content(&body) == nil)
            return .text(.ok, "")
        }
        let client = try world.client()
        try client.send(Self.length + "100000\r\n\r\n")
        let trickle = Task {
            while trickles, !Task.isCancelled {
                try client.send("a")
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        var ends = ended.makeAsyncIterator()
        #expect(await ends.next() == true)
        trickle.cancel()
        _ = await trickle.result
        try await world.end()
    }

    @Test("A client that breaks off ends the body by an error")
    func brokenOff() async throws {
        let (came, come) = AsyncStream.makeStream(of: String.self)
        let world = try World(streaming: { _ in true }) { _, body in
            do {
                while let piece = try await body.next() { come.yield(String(decoding: piece, as: UTF8.self)) }
                come.yield("all")
            } catch { come.yield("cut") }
            return .text(.ok, "")
        }
        var comes = came.makeAsyncIterator()
        do {
            let client = try world.client()
            try client.send(Self.length + "5\r\n\r\nab")
            #expect(await comes.next() == "ab")
        }
        #expect(await comes.next() == "cut")
        try await world.end()
    }

    @Test("A body that is not read ends the connection with its answer, which the client has whole")
    func unread() async throws {
        let world = try World(streaming: { _ in true }) { _, _ in
            .text(.contentTooLarge, String(repeating: "no", count: 1_000))
        }
        let client = try world.client()
        let raw = client.socket.raw
        try client.send(Self.length + "100000000\r\n\r\n")
        let answer = try await client.text()
        #expect(answer.hasPrefix("HTTP/1.1 413 ") && answer.contains("Connection: close"))
        #expect(answer.hasSuffix(String(repeating: "no", count: 1_000) + "\n"))
        // What it goes on sending is read until it closes, so that the answer is not lost.
        let block = [UInt8](repeating: 7, count: 1 << 20)
        #expect(try await aside { send(raw, block, block.count, Int32(MSG_NOSIGNAL)) } == block.count)
        _ = consume client
        try await world.end()
    }

    @Test("A client that waits for 100 is asked when the body is read, and not when it is refused")
    func expectation() async throws {
        let world = try World(streaming: { _ in true }) { request, body in
            if request.head.target.segments == ["refused"] { return .text(.conflict, "no") }
            return await Self.echo(request, &body)
        }
        let expecting = " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        let client = try world.client()
        try client.send("PUT /a" + expecting)
        #expect(try await client.text { $0.hasSuffix("\r\n\r\n") } == "HTTP/1.1 100 Continue\r\n\r\n")
        try client.send("ab")
        #expect(try await client.text { $0.hasSuffix("\n") && $0.contains(" ab") }.hasPrefix("HTTP/1.1 200 "))
        let refused = try world.client()
        try refused.send("PUT /refused" + expecting)
        #expect(try await refused.text().hasPrefix("HTTP/1.1 409 "))
        _ = consume refused
        try await world.end()
    }

    @Test("Before its answer, a client can be told where an upload continues")
    func information() async throws {
        let world = try World(streaming: { _ in true }) { request, body in
            try? await body.inform([("Location", "up/1"), ("Upload-Limit", "max-size=5")])
            return await Self.echo(request, &body)
        }
        let client = try world.client()
        try client.send(Self.length + "2\r\nConnection: close\r\n\r\n")
        let first = try await client.text { $0.hasSuffix("\r\n\r\n") }
        #expect(
            first == "HTTP/1.1 104 Upload Resumption Supported\r\nLocation: up/1\r\nUpload-Limit: max-size=5\r\n\r\n")
        try client.send("ab")
        #expect(try await client.text().hasPrefix("HTTP/1.1 200 "))
        let old = try world.client()
        try old.send("PUT /a HTTP/1.0\r\nContent-Length: 2\r\n\r\nab")
        #expect(try await old.text().hasPrefix("HTTP/1.0 200 "))
        try await world.end()
    }
}

extension ServerTests.World {
    convenience init(
        _ limits: WebLimits = ServerTests.patient, streaming isStreamed: @escaping @Sendable (RequestHead) -> Bool,
        handler: @escaping WebServer.StreamHandler
    ) throws {
        try self.init(WebServer(limits, streaming: isStreamed, handler: handler))
    }
}
