import CLinux
public import FileValues
import Glibc
public import LinuxKernel
public import SystemPackage

/// The state of a watched descriptor.
public struct DescriptorEvent: Hashable, Sendable {
    /// Whether reading, or writing, will not block; at the end of a stream, reading returns no bytes.
    public let isReady: Bool
    /// The number of bytes that can be read at least; nil for writing, or if the kernel does not report it.
    public let available: Int?
    /// Whether the peer has closed, or (watched for reading) has shut down sending.
    public let isHungUp: Bool
    /// The error: a socket's pending error, which is thereby cleared; EPIPE for a pipe without readers; EIO for a
    /// terminal that was hung up.
    public let failure: Errno?
    /// Whether this is the last event, since its state is permanent; the monitor should be invalidated.
    public let isLast: Bool
}

/// The reason why a descriptor cannot be watched.
public struct DescriptorRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file's kind; nil if unknown.
    public let kind: FileKind?
    /// The kernel's error.
    public let cause: SystemCallError

    /// One line: `cannot watch a regular file, which is always ready (epoll_ctl: Operation not permitted)`.
    public var description: String {
        let subject =
            switch kind {
            case .regular: "a regular file, which is always ready"
            case .directory: "a directory, whose changes only inotify tells"
            case .characterDevice, .blockDevice: "this device, which does not report when it is ready"
            default: "this descriptor"
            }
        return "cannot watch \(subject) (\(cause))"
    }
}

/// Reports that a pipe, FIFO, socket, terminal or other descriptor can be read or written.
///
/// The event repeats while the descriptor stays ready, so the handler must read, write, suspend or invalidate. A
/// hang-up with nothing left to read and a permanent error are reported once (``DescriptorEvent/isLast``), since the
/// kernel would report them endlessly. Open a FIFO for reading *and* writing if it must outlive its writers.
public final class DescriptorMonitor: Monitor {
    /// The readiness to watch for.
    public enum Direction: String, Hashable, Sendable {
        /// Readable, or at the end.
        case read
        /// Writable.
        case write
    }

    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<DescriptorEvent> { core.handle }
    private let core: MonitorCore<DescriptorEvent>

    /// Watches a descriptor, which the monitor owns and closes when the invalidation has finished, or at once if this
    /// throws. From any thread.
    public init(
        owning descriptor: consuming OwnedDescriptor, for direction: Direction, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(DescriptorRefusal) {
        let readiness: Readiness = direction == .read ? [.read] : [.write]
        let watcher: OwnedDescriptor
        do throws(SystemCallError) {
            watcher = try epollWatcher(of: descriptor, readiness)
        } catch {
            throw DescriptorRefusal(kind: try? FileStatus(of: descriptor).kind, cause: error)
        }
        // Used only in the drain, which never runs after the source's end, when this is closed.
        let epoll = watcher.raw
        core = MonitorCore(
            kind: "DescriptorMonitor", label: label, queue: queue, descriptor: descriptor, watcher: watcher,
            drain: { raw, outlet in
                guard let event = Self.event(of: raw, direction) else { return }
                if event.isLast { Self.forget(raw, in: epoll, outlet) }
                outlet.deliver(event)
            }, file: file, line: line)
    }

    /// Watches a duplicate of a descriptor, which the caller keeps and may close at any time. The open file stays open
    /// until the invalidation has finished, so the peer sees no hang-up before.
    public convenience init(
        borrowing descriptor: Int32, for direction: Direction, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(DescriptorRefusal) {
        let duplicate: OwnedDescriptor
        do throws(SystemCallError) {
            duplicate = try descriptorCall("fcntl") { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
        } catch {
            throw DescriptorRefusal(kind: nil, cause: error)
        }
        try self.init(owning: duplicate, for: direction, label: label, queue: queue, file: file, line: line)
    }

    /// Calls `body` with the descriptor, to read, write or accept; nil after invalidation. On the queue. `body` must
    /// neither store nor close it.
    public func withDescriptor<R, E: Error>(
        file: StaticString = #fileID, line: UInt = #line, _ body: (Int32) throws(E) -> R
    ) throws(E) -> R? {
        try core.withDescriptor(file: file, line: line, body)
    }

    /// The current state; nil if it is not ready, as after a read by another owner.
    private static func event(of raw: Int32, _ direction: Direction) -> DescriptorEvent? {
        var now = conditions(of: raw, direction)
        if now.isEmpty { return nil }
        var failure: Errno?
        if now.contains(.error) {
            failure = pendingError(of: raw, direction)
            // A socket's error is cleared by reading it; others persist.
            now = conditions(of: raw, direction)
        }
        let available = direction == .read ? bytesAvailable(in: raw) : nil
        let isHungUp = now.contains(.hangUp) || direction == .read && now.contains(.readHangUp)
        let hasEnded =
            switch direction {
            case .read: isHungUp && (available == 0 || !now.contains(.ready))
            case .write: isHungUp
            }
        return DescriptorEvent(
            isReady: now.contains(.ready), available: available, isHungUp: isHungUp, failure: failure,
            isLast: hasEnded || now.contains(.error))
    }

    private struct Conditions: OptionSet {
        let rawValue: Int32
        static let ready = Conditions(rawValue: Int32(POLLIN) | Int32(POLLOUT))
        static let error = Conditions(rawValue: Int32(POLLERR))
        static let hangUp = Conditions(rawValue: Int32(POLLHUP))
        /// POLLRDHUP, missing in Swift's Glibc module.
        static let readHangUp = Conditions(rawValue: 0x2000)

        /// Whether any of the bits is set, since only one of POLLIN and POLLOUT is requested.
        func contains(_ other: Conditions) -> Bool { rawValue & other.rawValue != 0 }
    }

    private static func conditions(of raw: Int32, _ direction: Direction) -> Conditions {
        let events = Int32(direction == .read ? POLLIN : POLLOUT) | Conditions.readHangUp.rawValue
        var state = pollfd(fd: raw, events: Int16(events), revents: 0)
        guard poll(&state, 1, 0) == 1 else { return [] }
        return Conditions(rawValue: Int32(state.revents))
    }

    private static func bytesAvailable(in raw: Int32) -> Int? {
        var count: Int32 = 0
        // FIONREAD; refused by listening sockets and many files that are not streams.
        return ioctl(raw, 0x541B, &count) == 0 ? Int(count) : nil
    }

    private static func pendingError(of raw: Int32, _ direction: Direction) -> Errno {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout.size(ofValue: code))
        if getsockopt(raw, SOL_SOCKET, SO_ERROR, &code, &size) == 0, code != 0 { return Errno(rawValue: code) }
        // Not a socket: a pipe without readers, or a terminal that was hung up.
        return direction == .write ? .brokenPipe : .ioError
    }

    private static func forget(_ raw: Int32, in epoll: Int32, _ outlet: EventOutlet<DescriptorEvent>) {
        do throws(SystemCallError) {
            try systemCall("epoll_ctl") { clinux_epoll_forget(epoll, raw) }
        } catch {
            outlet.fail(error)
        }
    }
}
