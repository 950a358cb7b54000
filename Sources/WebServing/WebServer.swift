import Glibc
package import HTTPValues
import LinuxKernel
import NIOCore
import NIOHTTP1
import NIOPosix
import SystemPackage

/// Serves HTTP on sockets that listen: one event loop, strict heads, bounded connections. It ends by itself when nobody has
/// been there for a while, without refusing anybody: a connection that comes in that moment stays in the socket, which the
/// service manager holds, and starts the next server.
package final class WebServer: Sendable {
    /// Answers a request; asynchronous, and never on the event loop.
    package typealias Handler = @Sendable (WebRequest) async -> WebResponse
    /// The same for requests whose bodies may be read as they come.
    package typealias StreamHandler = @Sendable (WebRequest, inout WebBody) async -> WebResponse

    typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    private struct State {
        var table: ConnectionTable<ObjectIdentifier>
        var channels: [ObjectIdentifier: any Channel] = [:]
        var listening: [any Channel] = []
        var isEnding = false
    }

    let limits: WebLimits
    private let handler: StreamHandler
    /// Whether the body of a request is read by its handler.
    let isStreamed: @Sendable (RequestHead) -> Bool
    private let state: Locked<State>

    package convenience init(_ limits: WebLimits = WebLimits(), handler: @escaping Handler) {
        self.init(limits, streaming: { _ in false }, handler: { request, _ in await handler(request) })
    }

    /// With the bodies of some requests read as they come, by their handler; ``WebRequest/body`` is empty then.
    package init(
        _ limits: WebLimits = WebLimits(), streaming isStreamed: @escaping @Sendable (RequestHead) -> Bool,
        handler: @escaping StreamHandler
    ) {
        self.limits = limits
        self.handler = handler
        self.isStreamed = isStreamed
        state = Locked(State(table: ConnectionTable(limits, at: .now)))
    }

    /// Serves until nobody has been there for the limit, ``stop()``, or the task is cancelled.
    package func run(_ listeners: [WebListener]) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        var opened: [Listening] = []
        for listener in listeners { opened.append(try await open(listener, on: group)) }
        let channels = opened
        let isEnding = state.withLock { state in
            state.listening = channels.map(\.channel.channel)
            return state.isEnding
        }
        // It was stopped before it had begun.
        if isEnding { stop() }
        let clock = loop.scheduleRepeatedTask(initialDelay: limits.tick.amount, delay: limits.tick.amount) { _ in
            self.tick()
        }
        // In a task of its own: cancellation would drop connections that were accepted, neither served nor closed.
        let accepting = Task { await accept(channels) }
        await withTaskCancellationHandler {
            await accepting.value
        } onCancel: {
            stop()
        }
        clock.cancel()
        try await group.shutdownGracefully()
    }

    /// Closes what listens and every connection.
    package func stop() {
        let (channels, listening) = state.withLock { state in
            state.isEnding = true
            return (Array(state.channels.values), state.listening)
        }
        for channel in listening + channels { channel.close(promise: nil) }
    }

    /// Pieces of so many bytes at most come out of one read.
    static func pieces(_ size: Int) -> any RecvByteBufferAllocator { FixedSizeRecvByteBufferAllocator(capacity: size) }

    private typealias Listening = (channel: NIOAsyncChannel<Connection, Never>, isLocal: Bool)

    private func open(_ listener: WebListener, on group: MultiThreadedEventLoopGroup) async throws -> Listening {
        guard let raw = listener.take() else { throw SystemCallError("listen", .badFileDescriptor) }
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = RequestHead.limit
        decoding.maxHeaderListSize = RequestHead.limit
        decoding.maxHeaderFieldCount = HeaderFields.limit
        let limits = decoding
        let channel = try await ServerBootstrap(group: group)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Admission(self))
                }
            }
            // So that few requests come out of one read.
            .childChannelOption(.recvAllocator, value: Self.pieces(16 << 10))
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .bind(raw) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let decoder = HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
                    try channel.pipeline.syncOperations.addHandlers([
                        HTTPResponseEncoder(), ByteToMessageHandler(decoder, maximumBufferSize: 2 * RequestHead.limit),
                        NIOHTTPResponseHeadersValidator(), ParserErrors(),
                    ])
                    // Few pieces of a body that is not read yet; more are received before the last one is taken.
                    let configuration = Connection.Configuration(
                        backPressureStrategy: .init(lowWatermark: 3, highWatermark: 4))
                    return try Connection(wrappingChannelSynchronously: channel, configuration: configuration)
                }
            }
        return (channel, listener.isLocal)
    }

    private func accept(_ channels: [Listening]) async {
        await withTaskGroup(of: Void.self) { tasks in
            for (channel, isLocal) in channels { tasks.addTask { await self.accept(channel, isLocal) } }
            await tasks.next()
            // The others may have nothing to end for: no listener is left alone.
            for (channel, _) in channels { channel.channel.close(promise: nil) }
            await tasks.waitForAll()
        }
    }

    private func accept(_ server: NIOAsyncChannel<Connection, Never>, _ isLocal: Bool) async {
        // Fails when the channel is closed.
        try? await server.executeThenClose { connections in
            try await withThrowingDiscardingTaskGroup { tasks in
                for try await connection in connections {
                    tasks.addTask { await self.serve(connection, isLocal) }
                }
            }
        }
    }

    // MARK: - Connections

    /// A connection was accepted; on the event loop. False: there is no place for it, or it came after ``stop()``.
    fileprivate func opened(_ channel: any Channel) -> Bool {
        let id = ObjectIdentifier(channel)
        let (isAccepted, victim): (Bool, (any Channel)?) = state.withLock { state in
            guard !state.isEnding else { return (false, nil) }
            let (isAccepted, victim) = state.table.opened(id, at: .now)
            if isAccepted { state.channels[id] = channel }
            return (isAccepted, victim.flatMap { state.channels.removeValue(forKey: $0) })
        }
        victim?.close(promise: nil)
        channel.closeFuture.whenComplete { _ in
            self.state.withLock { state in
                state.table.closed(id, at: .now)
                state.channels[id] = nil
            }
        }
        return isAccepted
    }

    func entered(_ phase: ConnectionTable<ObjectIdentifier>.Phase, _ channel: any Channel) {
        state.withLock { $0.table.entered(phase, ObjectIdentifier(channel), at: .now) }
    }

    /// For a body that begins now.
    var bodyPieceSize: Int {
        state.withLock { $0.table.inWork } < WebBody.few ? WebBody.pieceSizes.few : WebBody.pieceSizes.many
    }

    /// The answer to a request; the server does not end by itself while one is in work.
    func answer(_ request: WebRequest, _ body: inout WebBody) async -> WebResponse {
        state.withLock { $0.table.inWork += 1 }
        defer { state.withLock { $0.table.inWork -= 1 } }
        return await handler(request, &body)
    }

    /// On the event loop, as accepting is: what was decided here holds.
    private func tick() {
        let (overdue, ended): ([any Channel], [any Channel]) = state.withLock { state in
            let overdue = state.table.overdue(at: .now).compactMap { state.channels[$0] }
            guard state.table.isIdle(at: .now), !state.isEnding else { return (overdue, []) }
            state.isEnding = true
            return (overdue, state.listening)
        }
        for channel in overdue + ended { channel.close(promise: nil) }
    }
}

/// Counts connections as they are accepted, before anything else is done for them.
private final class Admission: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let server: WebServer

    init(_ server: WebServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = Self.unwrapInboundIn(data)
        channel.closeOnExec()
        if server.opened(channel) { context.fireChannelRead(data) } else { channel.close(promise: nil) }
    }
}

extension Channel {
    /// SwiftNIO does not, and a child process would keep the connection open. On the event loop.
    func closeOnExec() {
        _ = try? pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
            fcntl($0, F_SETFD, FD_CLOEXEC)
        }
    }
}

extension Duration {
    fileprivate var amount: TimeAmount { TimeAmount(self) }
}
