import Glibc
public import LinuxKernel
import SystemPackage

/// A new connection and its client's credentials.
///
/// A shared handle to a socket with one owner: the first ``take()`` gets it; otherwise it is closed with the handle.
/// Safe on any thread.
public final class IncomingConnection: Sendable {
    /// The client.
    public let peer: PeerCredentials
    private let number: Locked<Int32?>

    init(_ connection: consuming OwnedDescriptor, peer: PeerCredentials) {
        self.peer = peer
        number = Locked(connection.take())
    }

    deinit { _ = take() }

    /// Transfers the connected, non-blocking socket, once; nil afterwards.
    public func take() -> OwnedDescriptor? {
        let taken = number.withLock { $0.take() }
        guard let taken else { return nil }
        return OwnedDescriptor(taking: taken)
    }
}

/// Reports each connection to a listening AF_UNIX socket, with the client's credentials; see accept(2).
///
/// When no descriptor is left, new connections are closed and counted as dropped, since they would otherwise wake the
/// process endlessly. If even that is impossible, the listener pauses. A connection without credentials is dropped too.
/// Against floods, set a rate limit, or suspend the monitor while there are enough connections: others wait in the
/// kernel, up to the socket's backlog.
public final class ListenerMonitor: Monitor {
    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<IncomingConnection> { core.handle }
    private let core: MonitorCore<IncomingConnection>

    /// The most connections per turn, so that other monitors of the queue get theirs.
    private static let batch = 16
    /// The pause when neither a descriptor nor the reserved one is available.
    private static let pause = Duration.milliseconds(200)

    /// Watches a listening socket, which the monitor owns and closes when the invalidation has finished, or at once if
    /// this throws: EINVAL for a socket that does not listen. From any thread.
    public init(
        owning listener: consuming OwnedDescriptor, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        guard try isListening(listener) else { throw SystemCallError("listen", .invalidArgument) }
        let raw = listener.raw
        // A socket from a service manager may be blocking.
        try systemCall("fcntl") { fcntl(raw, F_SETFL, fcntl(raw, F_GETFL) | O_NONBLOCK) }
        let watcher = try epollWatcher(of: listener, [.read])
        let acceptor = QueueBound(try ConnectionAcceptor(), queue: queue)
        core = MonitorCore(
            kind: "ListenerMonitor", label: label, queue: queue, descriptor: listener, watcher: watcher,
            drain: { raw, outlet in
                for _ in 0..<Self.batch where outlet.isOpen {
                    do throws(SystemCallError) {
                        switch try acceptor.confined({ (acceptor) throws(SystemCallError) in
                            try Self.next(raw, &acceptor)
                        }) {
                        case .connection(let connection): outlet.deliver(connection)
                        case .refused: outlet.countDropped()
                        case .none: return
                        case .exhausted: return outlet.pause(for: Self.pause)
                        }
                    } catch {
                        return outlet.fail(error)
                    }
                }
            }, file: file, line: line)
    }

    private enum Next {
        case connection(IncomingConnection)
        case refused, none, exhausted
    }

    private static func next(_ listener: Int32, _ acceptor: inout ConnectionAcceptor) throws(SystemCallError) -> Next {
        switch try acceptor.accept(from: listener) {
        case .connection(let connection):
            // From the socket itself, which keeps them even if the client has exited.
            guard let peer = try? PeerCredentials(of: connection) else { return .refused }
            return .connection(IncomingConnection(connection, peer: peer))
        case .refused: return .refused
        case .none: return .none
        case .exhausted: return .exhausted
        }
    }
}
