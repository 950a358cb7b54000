import CLinux
import Glibc
public import LinuxKernel
public import SystemPackage

/// An event of a connection.
public enum ConnectionEvent: Hashable, Sendable {
    /// Bytes were received.
    case received([UInt8])
    /// The peer has shut down sending, but may still receive. Reported once.
    case finished
    /// All pending bytes were passed to the kernel.
    case sent
    /// The peer closed the connection, or an error ended it. The last event.
    case ended(Errno?)
}

/// Receives from and sends on a connected stream socket without blocking.
///
/// Bytes that the peer does not receive yet are buffered, up to a limit. While reading is off
/// (``setReading(_:file:line:)``) received bytes wait in the kernel, which blocks the peer in turn; its end is still
/// detected.
public final class ConnectionMonitor: Monitor {
    /// The result of sending.
    public enum Sending: String, Hashable, Sendable {
        /// All bytes were passed to the kernel.
        case done
        /// Some bytes are pending; ``ConnectionEvent/sent`` follows.
        case waiting
        /// No bytes were accepted: too many are pending, or the connection has ended.
        case refused
    }

    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<ConnectionEvent> { core.handle }
    private let core: MonitorCore<ConnectionEvent>

    private let traffic: QueueBound<Traffic>
    /// Used on the queue, and only while the descriptor is open.
    private let epoll: Int32

    /// Watches a connected socket, which the monitor owns and closes when the invalidation has finished, or at once if
    /// this throws. At most `limit` bytes may be pending. From any thread.
    public init(
        owning connection: consuming OwnedDescriptor, limit: Int = 1 << 20, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let raw = connection.raw
        try systemCall("fcntl") { fcntl(raw, F_SETFL, fcntl(raw, F_GETFL) | O_NONBLOCK) }
        let watcher = try epollWatcher(of: connection, [.read])
        let epoll = watcher.raw
        let traffic = QueueBound(Traffic(limit: limit), queue: queue)
        self.epoll = epoll
        self.traffic = traffic
        core = MonitorCore(
            kind: "ConnectionMonitor", label: label, queue: queue, descriptor: connection, watcher: watcher,
            drain: { raw, outlet in
                for event in traffic.confined({ $0.turn(raw, epoll) }) { outlet.deliver(event) }
            }, file: file, line: line)
    }

    /// Sends `bytes` after those that are pending. On the queue.
    public func send(
        _ bytes: [UInt8], file: StaticString = #fileID, line: UInt = #line
    ) -> Sending {
        core.withDescriptor(file: file, line: line) { raw in
            traffic.confined { $0.send(bytes, raw, epoll) }
        } ?? .refused
    }

    /// Turns reading on or off; it is on at first. On the queue.
    public func setReading(_ reads: Bool, file: StaticString = #fileID, line: UInt = #line) {
        core.withDescriptor(file: file, line: line) { raw in
            traffic.confined { traffic in
                traffic.reads = reads
                traffic.updateInterest(raw, epoll)
            }
        }
    }
}

/// The pending bytes, and the readiness that epoll waits for.
private struct Traffic: Sendable {
    var reads = true
    private let limit: Int
    private var waiting: [UInt8] = []
    private var isFinished = false
    private var hasEnded = false
    private var interest = Readiness.read

    /// The most bytes per turn, so that other monitors of the queue get theirs.
    private static let block = 16 << 10

    init(limit: Int) { self.limit = limit }

    mutating func send(_ bytes: [UInt8], _ raw: Int32, _ epoll: Int32) -> ConnectionMonitor.Sending {
        guard !hasEnded, bytes.count <= limit - waiting.count else { return .refused }
        let wasEmpty = waiting.isEmpty
        waiting += bytes
        // A failure is reported by the next turn: a broken connection is always ready.
        if wasEmpty { _ = flush(raw) }
        updateInterest(raw, epoll)
        return waiting.isEmpty ? .done : .waiting
    }

    /// Handles a wake-up of the socket.
    mutating func turn(_ raw: Int32, _ epoll: Int32) -> [ConnectionEvent] {
        guard !hasEnded else { return [] }
        var events: [ConnectionEvent] = []
        var failure: Errno?
        let hadWaiting = !waiting.isEmpty
        failure = flush(raw)
        if failure == nil, hadWaiting, waiting.isEmpty { events.append(.sent) }
        var isOver = failure != nil
        if reads, !isFinished {
            switch receive(raw) {
            case .bytes(let bytes):
                events.append(.received(bytes))
                // There may be more; the end comes after the last.
                isOver = false
            case .nothing: break
            case .end:
                isFinished = true
                if !isHungUp(raw) { events.append(.finished) }
            case .failure(let code):
                failure = code
                isOver = true
            }
        }
        if !isOver, !reads || isFinished, isHungUp(raw) { isOver = true }
        if isOver {
            hasEnded = true
            waiting = []
            // An error or a hang-up persists and would be reported endlessly.
            _ = clinux_epoll_forget(epoll, raw)
            // A peer that closed without reading all bytes is not an error.
            events.append(.ended(failure == .brokenPipe ? nil : failure))
        } else {
            updateInterest(raw, epoll)
        }
        return events
    }

    mutating func updateInterest(_ raw: Int32, _ epoll: Int32) {
        var wanted: Readiness = []
        if reads, !isFinished { wanted.insert(.read) }
        if !waiting.isEmpty { wanted.insert(.write) }
        guard wanted != interest, !hasEnded, clinux_epoll_change(epoll, raw, wanted.rawValue) == 0 else { return }
        interest = wanted
    }

    /// Sends as much as the kernel accepts. Returns the error that ends the connection, if any.
    private mutating func flush(_ raw: Int32) -> Errno? {
        var sent = 0
        defer { waiting.removeFirst(sent) }
        while sent < waiting.count {
            let count = waiting.withUnsafeBytes { buffer in
                let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
                return Glibc.send(raw, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sent += count
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: return nil
            default: return Errno(rawValue: errno)
            }
        }
        return nil
    }

    private enum Received {
        case bytes([UInt8])
        case nothing, end
        case failure(Errno)
    }

    private func receive(_ raw: Int32) -> Received {
        while true {
            var count = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: Self.block) { buffer, initialized in
                count = recv(raw, buffer.baseAddress, buffer.count, 0)
                initialized = max(0, count)
            }
            if count > 0 { return .bytes(bytes) }
            if count == 0 { return .end }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .nothing
            default: return .failure(Errno(rawValue: errno))
            }
        }
    }

    private func isHungUp(_ raw: Int32) -> Bool {
        var state = pollfd(fd: raw, events: 0, revents: 0)
        return poll(&state, 1, 0) == 1 && state.revents & Int16(POLLHUP | POLLERR) != 0
    }
}
