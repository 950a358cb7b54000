import HTTPValues
package import NIOCore
import NIOHTTP1

/// Bytes of a body, in the memory into which they were received.
package typealias WebPiece = ByteBufferView

/// The body of a request that its handler reads as it comes. What is not asked for stays in the socket, but for a few pieces.
package struct WebBody {
    /// The connection ended before the body did.
    package struct Cut: Error {}

    /// The most bytes of a piece: while few bodies are received, and of further ones. About seven pieces of each body are held.
    static let pieceSizes = (few: 256 << 10, many: 32 << 10)
    static let few = 2

    private let server: WebServer
    private var parts: NIOAsyncChannelInboundStream<HTTPServerRequestPart>.AsyncIterator
    private let channel: any Channel
    /// Whether all of the body of the request in work was received.
    private(set) var hasEnded = true
    private var head: RequestHead?
    private var isAwaited = false
    /// How long the client was waited for, since so many bytes.
    private var waited = Duration.zero
    private var received = 0

    init(
        _ server: WebServer, _ inbound: NIOAsyncChannelInboundStream<HTTPServerRequestPart>, _ channel: any Channel
    ) {
        (self.server, parts, self.channel) = (server, inbound.makeAsyncIterator(), channel)
    }

    /// What the connection is served on.
    var eventLoop: any EventLoop { channel.eventLoop }

    /// A body follows the head that was received.
    mutating func begin(_ head: RequestHead) {
        self.head = head
        (hasEnded, isAwaited, waited, received) = (false, head.expectsContinue, .zero, 0)
    }

    mutating func part() async throws -> HTTPServerRequestPart? { try await parts.next() }

    /// The next bytes, as they were received; nil at the end. Throws when the connection ends before, as it does when the client
    /// sends too little in the time for it.
    package mutating func next() async throws -> WebPiece? {
        guard !hasEnded else { return nil }
        if isAwaited {
            isAwaited = false
            try await inform(.continue, [])
        }
        server.entered(.receivingPiece(server.limits.stall - waited), channel)
        let start = ContinuousClock.now
        let part = try await parts.next()
        waited += ContinuousClock.now - start
        server.entered(.working, channel)
        switch part {
        case .body(let buffer):
            received += buffer.readableBytes
            if received >= server.limits.stallSize { (received, waited) = (0, .zero) }
            return buffer.readableBytesView
        case .end:
            hasEnded = true
            return nil
        case .head, nil: throw Cut()
        }
    }

    /// Tells the client, before the answer, where an upload that breaks off is continued; see the IETF's draft on resumable
    /// uploads. Nothing for a client of HTTP/1.0.
    package func inform(_ fields: [(name: String, value: String)]) async throws {
        try await inform(.custom(code: 104, reasonPhrase: "Upload Resumption Supported"), fields)
    }

    private func inform(_ status: HTTPResponseStatus, _ fields: [(name: String, value: String)]) async throws {
        guard head?.version == .http11 else { return }
        server.entered(.sending, channel)
        let head = HTTPResponseHead(
            version: .http1_1, status: status, headers: HTTPHeaders(fields.map { ($0.0, $0.1) }))
        try await channel.writeAndFlush(HTTPServerResponsePart.head(head)).get()
        server.entered(.working, channel)
    }

    /// Waits until the client has read the answer to a body that was not read, and closed: who closes first while bytes come
    /// takes the answer from it.
    mutating func drain() async throws {
        server.entered(.receivingBody, channel)
        try await channel.close(mode: .output).get()
        while try await parts.next() != nil {}
    }
}
