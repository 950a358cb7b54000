import Glibc
public import LinuxKernel
import SystemPackage

/// A connection that somebody made, and who that is.
///
/// A shared handle to something with one owner: the first ``take()`` gets it; if nobody does, it is closed with the
/// handle. Safe on any thread.
public final class IncomingConnection: Sendable {
    /// The other side.
    public let peer: PeerCredentials
    private let number: Locked<Int32?>

    init(_ connection: consuming OwnedDescriptor, peer: PeerCredentials) {
        self.peer = peer
        number = Locked(connection.take())
    }

    deinit { _ = take() }

    /// Hands the connected socket over, once; nil afterwards. Non-blocking.
    public func take() -> OwnedDescriptor? {
        let taken = number.withLock { number in
            defer { number = nil }
            return number
        }
        guard let taken else { return nil }
        return OwnedDescriptor(taking: taken)
    }
}

/// Reports each connection to a listening AF_UNIX socket, with the credentials of who made it; see accept(2).
///
/// When no descriptor is left, connections are ended as they come, and counted as dropped; they would otherwise wake the
/// process again and again. Where not even that can be done, the listener waits for a moment. A connection of which the
/// kernel does not tell who made it is dropped, too. To hold a flood back, give it a rate limit, or suspend it while there
/// are enough: what waits meanwhile waits in the kernel, up to the socket's backlog.
public final class ListenerMonitor: Monitor {
    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<IncomingConnection> { core.handle }
    private let core: MonitorCore<IncomingConnection>

    /// How many are taken at one go: other monitors of the queue want their turn too.
    private static let batch = 16
    /// How long nothing is taken when there is no descriptor left, nor one to give up.
    private static let pause = Duration.milliseconds(200)

    /// Watches a listening socket that the monitor owns from now on; it is closed when the invalidation has finished, or
    /// at once if this throws: EINVAL for what does not listen. From any thread.
    public init(
        owning listener: consuming OwnedDescriptor, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        guard try isListening(listener) else { throw SystemCallError("listen", .invalidArgument) }
        let raw = listener.raw
        // What a service manager handed over may block.
        try systemCall("fcntl") { fcntl(raw, F_SETFL, fcntl(raw, F_GETFL) | O_NONBLOCK) }
        let watcher = try epollWatcher(of: listener, [.read])
        let taker = QueueBound(try ConnectionTaker(), queue: queue)
        core = MonitorCore(
            kind: "ListenerMonitor", label: label, queue: queue, descriptor: listener, watcher: watcher,
            drain: { raw, outlet in
                for _ in 0..<Self.batch where outlet.isOpen {
                    do throws(SystemCallError) {
                        switch try taker.confined({ (taker) throws(SystemCallError) in try Self.next(raw, &taker) }) {
                        case .connection(let connection): outlet.deliver(connection)
                        case .refused: outlet.countDropped()
                        case .nobody: return
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
        case refused, nobody, exhausted
    }

    private static func next(_ listener: Int32, _ taker: inout ConnectionTaker) throws(SystemCallError) -> Next {
        switch try taker.take(from: listener) {
        case .connection(let connection):
            // Asked of the socket itself, which remembers even those who are gone.
            guard let peer = try? PeerCredentials(of: connection) else { return .refused }
            return .connection(IncomingConnection(connection, peer: peer))
        case .refused: return .refused
        case .nobody: return .nobody
        case .exhausted: return .exhausted
        }
    }
}
