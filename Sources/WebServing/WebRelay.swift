package import FileValues
import HTTPValues
import LinuxKernel
import NIOCore
import NIOHTTP1
import NIOPosix

/// Passes requests on to another server of this machine, at its local socket, each on a connection of its own.
///
/// Bodies pass in pieces, both ways, as fast as whoever gets them reads. Fields that are meant for one connection stay behind.
package struct WebRelay: Sendable {
    package enum Failure: Error, Hashable, Sendable {
        /// Nobody listens at the socket, or this program may not connect.
        case unreachable
        /// The connection ended before there was an answer, on one side or the other.
        case noAnswer
        /// The other server does not answer.
        case late
    }

    private let path: String
    private let patience: Duration

    /// `patience` is for the head of an answer, from the end of the request, and for each piece of the request to be taken.
    package init(to socket: BytePath, patience: Duration = .seconds(120)) {
        path = String(decoding: socket.bytes, as: UTF8.self)
        self.patience = patience
    }

    package func answer(to request: WebRequest, _ body: inout WebBody) async throws(Failure) -> WebResponse {
        let connection = try await connect(on: body.eventLoop)
        let head = try await connection.exchange(request, &body)
        guard let status = HTTPStatus(rawValue: Int(head.status.code)) else { throw .noAnswer }
        let fields = Self.passing(head.headers.map { ($0.name, $0.value) }, except: ["date"])
        return WebResponse(
            status, fields.filter { $0.name != "content-length" },
            body: connection.body(
                length: fields.first { $0.name == "content-length" }.flatMap { UInt64($0.value) },
                isRead: request.head.method != .head))
    }

    private func connect(on loop: any EventLoop) async throws(Failure) -> RelayConnection {
        let incoming = Incoming()
        do {
            let channel = try await ClientBootstrap(group: loop)
                // What is not asked for stays in the socket.
                .channelOption(.autoRead, value: false)
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 64 << 10))
                .channelOption(.maxMessagesPerRead, value: 1)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        channel.closeOnExec()
                        let decoder = HTTPResponseDecoder(informationalResponseStrategy: .forward)
                        try channel.pipeline.syncOperations.addHandlers([
                            HTTPRequestEncoder(), ByteToMessageHandler(decoder), Receiver(incoming),
                        ])
                    }
                }
                .connect(unixDomainSocketPath: path).get()
            return RelayConnection(channel, incoming, patience)
        } catch { throw .unreachable }
    }

    /// Of one connection: those of RFC 9110 7.6.1 and their kin, and what the field Connection names. The length of a body is
    /// given anew.
    fileprivate static func passing(
        _ fields: [(name: String, value: String)], except others: Set<String>
    ) -> [(name: String, value: String)] {
        let all = fields.map { (name: $0.name.lowercased(), value: $0.value) }
        let named = all.filter { $0.name == "connection" }.flatMap { $0.value.split(separator: ",") }
            .map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
        let own: Set = [
            "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te",
            "trailer",
            "transfer-encoding", "upgrade",
        ]
        return all.filter { !own.contains($0.name) && !others.contains($0.name) && !named.contains($0.name) }
    }
}

/// A connection to the other server, closed with the last reference.
private final class RelayConnection: Sendable {
    private let channel: any Channel
    private let incoming: Incoming
    private let patience: Duration
    private let isLate = Locked(false)

    init(_ channel: any Channel, _ incoming: Incoming, _ patience: Duration) {
        (self.channel, self.incoming, self.patience) = (channel, incoming, patience)
    }

    deinit { channel.close(promise: nil) }

    /// Sends a request, and returns the head of its answer, which may come before all of the body was sent.
    func exchange(
        _ request: WebRequest, _ body: inout WebBody
    ) async throws(WebRelay.Failure) -> HTTPResponseHead {
        if await write(.head(Self.head(of: request))),
            request.body.isEmpty ? true : await write(ByteBuffer(bytes: request.body))
        {
            channel.read()
            while true {
                let piece: WebPiece?
                // The client has left: a body that is cut off stays so.
                do { piece = try await body.next() } catch { throw .noAnswer }
                guard let piece else {
                    _ = await write(.end(nil))
                    break
                }
                // Whoever does not read any more may have answered.
                guard await write(ByteBuffer(piece)) else { break }
                if let part = incoming.take(), let head = await final(part, &body) { return head }
            }
        }
        let deadline = self.deadline()
        defer { deadline.cancel() }
        while let part = await incoming.next(from: channel) {
            if let head = await final(part, &body) { return head }
        }
        throw isLate.withLock { $0 } ? .late : .noAnswer
    }

    /// The head that is the answer; passes on what is said before it.
    private func final(_ part: HTTPClientResponsePart, _ body: inout WebBody) async -> HTTPResponseHead? {
        guard case .head(let head) = part else { return nil }
        if head.status.code >= 200 { return head }
        if head.status.code == 104 {
            // It is no answer yet, which whoever relays would look at.
            let fields = WebRelay.passing(head.headers.map { ($0.name, $0.value) }, except: ["date"])
            try? await body.inform(fields.filter { $0.name == "location" || $0.name.hasPrefix("upload-") })
        }
        channel.read()
        return nil
    }

    /// The rest of the answer, as it is asked for; it ends early where the connection does.
    func body(length: UInt64?, isRead: Bool) -> WebResponse.Body {
        guard isRead else {
            return length.map { .stream(length: $0, AsyncStream { nil }) } ?? .bytes([])
        }
        let channel = channel
        return .stream(
            length: length,
            AsyncStream {
                while let part = await self.incoming.next(from: self.channel) {
                    switch part {
                    case .head: continue
                    case .body(let buffer): return Array(buffer.readableBytesView)
                    case .end: return nil
                    }
                }
                return nil
            } onCancel: {
                channel.close(promise: nil)
            })
    }

    private func write(_ bytes: ByteBuffer) async -> Bool { await write(.body(.byteBuffer(bytes))) }

    /// Closes the connection, unless it is cancelled before.
    private func deadline() -> Scheduled<Void> {
        let (channel, isLate) = (channel, isLate)
        return channel.eventLoop.scheduleTask(in: TimeAmount(patience)) {
            isLate.withLock { $0 = true }
            channel.close(promise: nil)
        }
    }

    /// Waits until the socket has it, which is as fast as the other side reads. False: the connection has ended.
    private func write(_ part: HTTPClientRequestPart) async -> Bool {
        // One turn of the event loop for each piece.
        let written = channel.eventLoop.flatSubmit {
            let deadline = self.deadline()
            return self.channel.writeAndFlush(part).always { _ in deadline.cancel() }
        }
        return (try? await written.get()) != nil
    }

    private static func head(of request: WebRequest) -> HTTPRequestHead {
        // A body is asked for here, by the one who reads it.
        let all = request.head.fields.all.map { (name: $0.name, value: $0.value) }
        // Who sends is said by this program; a browser's Connection does not take it away.
        let sender = all.filter { $0.name == "remote-user" }
        let passed = WebRelay.passing(all, except: ["content-length", "expect", "remote-user"]) + sender
        var fields = HTTPHeaders(passed.map { ($0.name, $0.value) })
        fields.add(name: "Connection", value: "close")
        switch request.head.body {
        case .none: fields.add(name: "Content-Length", value: "0")
        case .length(let length): fields.add(name: "Content-Length", value: "\(length)")
        case .chunked where request.body.isEmpty: fields.add(name: "Transfer-Encoding", value: "chunked")
        case .chunked: fields.add(name: "Content-Length", value: "\(request.body.count)")
        }
        return HTTPRequestHead(
            version: .http1_1, method: .init(rawValue: request.head.method.rawValue), uri: request.head.target.text,
            headers: fields)
    }
}

/// Parts of an answer that have come and were not taken. Any thread; one waits at a time.
private final class Incoming: Sendable {
    private struct State {
        var parts: [HTTPClientResponsePart] = []
        var hasEnded = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    var isAwaited: Bool { state.withLock { $0.waiting != nil } }

    func put(_ part: HTTPClientResponsePart) { change { $0.parts.append(part) } }

    func end() { change { $0.hasEnded = true } }

    /// The next part, if it has come.
    func take() -> HTTPClientResponsePart? {
        state.withLock { $0.parts.isEmpty ? nil : $0.parts.removeFirst() }
    }

    /// The next part, which is read if it has not come; nil at the end of the connection.
    func next(from channel: any Channel) async -> HTTPClientResponsePart? {
        while true {
            if let part = take() { return part }
            if state.withLock({ $0.parts.isEmpty && $0.hasEnded }) { return nil }
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard state.parts.isEmpty, !state.hasEnded else { return false }
                    state.waiting = continuation
                    return true
                }
                if waits { channel.read() } else { continuation.resume() }
            }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let waiting = state.withLock { state in
            body(&state)
            return state.waiting.take()
        }
        waiting?.resume()
    }
}

private final class Receiver: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let incoming: Incoming

    init(_ incoming: Incoming) { self.incoming = incoming }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { incoming.put(Self.unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) {
        // What was read was less than a part.
        if incoming.isAwaited { context.read() }
    }

    func channelInactive(context: ChannelHandlerContext) { incoming.end() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
