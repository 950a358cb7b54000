import Glibc
import HTTPValues
import NIOCore
import NIOHTTP1

extension WebServer {

    /// What was received of a request.
    private enum Received {
        case request(WebRequest, isLast: Bool)
        case refusal(HeadRefusal)
        case end
    }

    /// One request after the other, until the client or a limit ends the connection.
    func serve(_ connection: Connection, _ isLocal: Bool) async {
        let channel = connection.channel
        // A client that breaks off, and a deadline, which closes the channel, end it by an error.
        try? await connection.executeThenClose { inbound, _ in
            let peer = try await Self.peer(of: channel, isLocal)
            var body = WebBody(self, inbound, channel)
            while true {
                switch try await receive(&body, channel, peer) {
                case .end: return
                case .refusal(let refusal):
                    let response = WebResponse.text(refusal.status, refusal.message)
                    return try await send(response, to: nil, isLast: true, channel)
                case .request(let request, let isLast):
                    let response = await answer(request, &body)
                    let isLast = isLast || !body.hasEnded
                    try await send(response, to: request.head, isLast: isLast, channel)
                    if !body.hasEnded { try await body.drain() }
                    if isLast { return }
                    entered(.awaitingNext, channel)
                }
            }
        }
    }

    private func receive(_ stream: inout WebBody, _ channel: any Channel, _ peer: WebPeer) async throws -> Received {
        guard case .head(let received) = try await stream.part() else { return .end }
        let head: RequestHead
        do throws(HeadRefusal) {
            head = try RequestHead(
                method: received.method.rawValue, target: received.uri,
                version: RequestHead.Version(major: received.version.major, minor: received.version.minor),
                fields: received.headers.map { (name: $0.name, value: $0.value) })
        } catch { return .refusal(error) }
        // A client of HTTP/1.0 knows the end of a stream by the end of the connection; behind an Upgrade nothing is read.
        let isUpgrade = !head.fields.values(of: "upgrade").isEmpty
        let isLast = !received.isKeepAlive || head.version == .http10 || isUpgrade
        if head.body != .none, isStreamed(head) {
            stream.begin(head)
            // Each piece goes through several threads.
            try await channel.setOption(.recvAllocator, value: Self.pieces(bodyPieceSize)).get()
            entered(.working, channel)
            return .request(WebRequest(head: head, peer: peer), isLast: isLast)
        }
        if !head.fields.values(of: "expect").isEmpty {
            return .refusal(HeadRefusal(.expectationFailed, "no expectation is supported here"))
        }
        let tooLarge = HeadRefusal(.contentTooLarge, "a body has at most \(limits.bodySize) bytes")
        if case .length(let length) = head.body, length > limits.bodySize { return .refusal(tooLarge) }
        entered(.receivingBody, channel)
        var body: [UInt8] = []
        while let part = try await stream.part() {
            switch part {
            case .head: return .end
            case .body(let buffer):
                guard body.count + buffer.readableBytes <= limits.bodySize else { return .refusal(tooLarge) }
                body += buffer.readableBytesView
            case .end:
                entered(.working, channel)
                let request = WebRequest(head: head, body: body, peer: peer) { !channel.isActive }
                return .request(request, isLast: isLast)
            }
        }
        return .end
    }

    /// Returns when the socket has all of it: what is not written is dropped when the connection is closed, and a client that
    /// reads none of it must have a deadline. So writes are waited for, which those of NIOAsyncChannel are not.
    private func send(
        _ response: WebResponse, to head: RequestHead?, isLast: Bool, _ channel: any Channel
    ) async throws {
        var fields = HTTPHeaders(response.fields.map { ($0.name, $0.value) })
        if let date = httpDate(Int64(time(nil))) { fields.add(name: "Date", value: date) }
        if isLast { fields.add(name: "Connection", value: "close") }
        let hasBody = response.status != .noContent && response.status != .notModified
        switch response.body {
        case .bytes(let bytes): if hasBody { fields.add(name: "Content-Length", value: "\(bytes.count)") }
        case .stream(let length?, _): fields.add(name: "Content-Length", value: "\(length)")
        case .stream(nil, _): break
        }
        entered(.sending, channel)
        let version: HTTPVersion = head?.version == .http10 ? .http1_0 : .http1_1
        let status = HTTPResponseStatus(statusCode: response.status.rawValue)
        channel.write(
            HTTPServerResponsePart.head(HTTPResponseHead(version: version, status: status, headers: fields)),
            promise: nil)
        if hasBody, head?.method != .head {
            switch response.body {
            case .bytes(let bytes): channel.write(Self.body(bytes), promise: nil)
            case .stream(let length, let pieces):
                channel.flush()
                // A stream that waits ends when its client has left.
                let sending = Task { try await send(pieces, length, channel) }
                channel.closeFuture.whenComplete { _ in sending.cancel() }
                try await sending.value
            }
        }
        try await channel.writeAndFlush(HTTPServerResponsePart.end(nil)).get()
    }

    private static func body(_ bytes: [UInt8]) -> HTTPServerResponsePart {
        .body(.byteBuffer(ByteBuffer(bytes: bytes)))
    }

    private func send(
        _ pieces: AsyncStream<[UInt8]>, _ length: UInt64?, _ channel: any Channel
    ) async throws {
        var left = length
        entered(.working, channel)
        for await piece in pieces {
            entered(.sending, channel)
            if let rest = left {
                guard rest >= UInt64(piece.count) else { throw ChannelError.ioOnClosedChannel }
                left = rest - UInt64(piece.count)
            }
            try await channel.writeAndFlush(Self.body(piece)).get()
            entered(.working, channel)
        }
        // Too little of what was announced must not look like a whole answer.
        if let left, left > 0 { throw ChannelError.ioOnClosedChannel }
        entered(.sending, channel)
    }

    private static func peer(of channel: any Channel, _ isLocal: Bool) async throws -> WebPeer {
        guard isLocal, let options = channel as? any SocketOptionProvider else { return .network }
        let credentials: Credentials = try await options.unsafeGetSocketOption(
            level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
        ).get()
        return .local(user: credentials.user)
    }
}

/// `struct ucred` of unix(7).
private struct Credentials: Sendable {
    let process: Int32
    let user: UInt32
    let group: UInt32
}
