import CLinux
public import FileValues
import Glibc
public import LinuxKernel
public import SystemPackage

/// What is the matter with a watched descriptor.
public struct DescriptorEvent: Hashable, Sendable {
    /// Reading, or writing, will not block; at the end of a stream reading gives nothing.
    public let isReady: Bool
    /// How many bytes can be read at least; nil where the kernel does not say, and for writing.
    public let available: Int?
    /// The other side is gone, or (watched for reading) will send nothing more.
    public let isHungUp: Bool
    /// What went wrong: a socket's pending error, which is thereby taken from it; EPIPE for a pipe
    /// without readers; EIO for a terminal that was hung up.
    public let failure: Errno?
    /// No event comes after this one: what it says does not go away. All that is left is to invalidate the monitor.
    public let isLast: Bool
}

/// Why a descriptor cannot be watched.
public struct DescriptorRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// What it is; nil where even that could not be found out.
    public let kind: FileKind?
    /// What the kernel said.
    public let cause: SystemCallError

    /// One line: `cannot watch a regular file, which is always ready (epoll_ctl: Operation not permitted)`.
    public var description: String {
        let subject =
            switch kind {
            case .regular: "a regular file, which is always ready"
            case .directory: "a directory, whose changes only inotify tells"
            case .characterDevice, .blockDevice: "this device, which does not tell when it is ready"
            default: "this descriptor"
            }
        return "cannot watch \(subject) (\(cause))"
    }
}

/// Reports that a pipe, FIFO, socket, terminal or other descriptor can be read or written.
///
/// As long as it stays ready the event comes again, so the handler has to read, write, suspend or invalidate. A hang-up
/// with nothing left to read, and an error that stays, are reported once (``DescriptorEvent/isLast``): the kernel would
/// report them again and again for ever. A FIFO that is to outlive its writers is opened for reading *and* writing.
public final class DescriptorMonitor: Monitor {
    /// What to watch for.
    public enum Direction: String, Hashable, Sendable {
        /// Something to read, or the end.
        case read
        /// Room to write.
        case write
    }

    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<DescriptorEvent> { core.handle }
    private let core: MonitorCore<DescriptorEvent>

    /// Watches a descriptor that the monitor owns from now on; it is closed when the invalidation has finished, or at
    /// once if this throws. From any thread.
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
        // Used in the drain only, which never runs after the source's end, when it is closed.
        let epoll = watcher.raw
        core = MonitorCore(
            kind: "DescriptorMonitor", label: label, queue: queue, descriptor: descriptor, watcher: watcher,
            drain: { raw, outlet in
                guard let event = Self.look(at: raw, direction) else { return }
                if event.isLast { Self.forget(raw, in: epoll, outlet) }
                outlet.deliver(event)
            }, file: file, line: line)
    }

    /// Watches a descriptor that stays the caller's, who may close it at any time: the monitor watches a duplicate. The
    /// open file behind it stays open until the invalidation has finished, so the other side sees no hang-up before.
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

    /// Gives `body` the descriptor, to read, write or accept; nil after invalidation. On the queue. `body` must neither
    /// keep nor close it.
    public func withDescriptor<R, E: Error>(
        file: StaticString = #fileID, line: UInt = #line, _ body: (Int32) throws(E) -> R
    ) throws(E) -> R? {
        try core.withDescriptor(file: file, line: line, body)
    }

    /// What is so now; nil if nothing is: somebody else was faster.
    private static func look(at raw: Int32, _ direction: Direction) -> DescriptorEvent? {
        var now = conditions(of: raw, direction)
        if now.isEmpty { return nil }
        var failure: Errno?
        if now.contains(.error) {
            failure = pendingError(of: raw, direction)
            // A socket's error is gone once it was taken; any other stays.
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
        /// POLLRDHUP, which Swift's Glibc module does not have.
        static let readHangUp = Conditions(rawValue: 0x2000)

        /// Either of the two bits, since only one is asked for.
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
        // FIONREAD; refused by listening sockets and by much that is no stream.
        return ioctl(raw, 0x541B, &count) == 0 ? Int(count) : nil
    }

    private static func pendingError(of raw: Int32, _ direction: Direction) -> Errno {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout.size(ofValue: code))
        if getsockopt(raw, SOL_SOCKET, SO_ERROR, &code, &size) == 0, code != 0 { return Errno(rawValue: code) }
        // No socket: a pipe without readers, or a terminal that was hung up.
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
