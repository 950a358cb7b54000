import Glibc
public import LinuxKernel
import SystemPackage

/// Records of an inotify queue in the order in which the kernel put them there, as one read gave them.
public struct DirectoryEvents: Sendable {
    private let bytes: [UInt8]
    /// Whether the read had room for more, so that the kernel's queue was empty after it.
    public let isAll: Bool

    /// Whole records as read(2) gave them; see inotify(7).
    public init(bytes: [UInt8], isAll: Bool = false) {
        self.bytes = bytes
        self.isAll = isAll
    }

    /// Calls `body` with each record. A record and its name point into the batch: they are valid in the call alone, and
    /// whoever keeps a name copies it (``InotifyRecord/copiedName``).
    public func forEach<E: Error>(_ body: (InotifyRecord) throws(E) -> Void) throws(E) {
        // A closure with typed throws cannot pass through the rethrowing buffer call, so its result is carried out.
        let result: Result<Void, E> = bytes.withUnsafeBytes { buffer in
            do throws(E) {
                for record in InotifyRecords(buffer) { try body(record) }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}

/// Reports what happens in watched directories: one inotify(7) instance with any number of watches.
///
/// Its handler is given everything that the kernel tells, overflows (`queueOverflow`, watch −1), lost watches (`ignored`)
/// and unmounts included, and nothing that the kernel does not tell: neither what lies below a watched directory's
/// directories, nor what network and FUSE servers change, nor writes through a mapping. What DirectoryWatch adds is all
/// that; this monitor is what it stands on.
public final class DirectoryMonitor: Monitor {
    /// Who waits for the kernel's queue.
    public enum Waiting: Sendable {
        /// libdispatch: its manager thread wakes a worker, two thread changes for each wake-up.
        case dispatch
        /// A thread of the owner's, in ``DirectoryMonitor/drive(whileOpen:)``: one. For programs whose main thread has
        /// nothing else to do.
        case driver
    }

    /// What it is made of.
    public let core: MonitorCore<DirectoryEvents>
    /// For watches: usable from any thread, as ``InotifyInstance`` says, since the kernel's call waits for a hung mount.
    /// Ended by the monitor's invalidation.
    public let watches: InotifyInstance
    let driving: Driving?

    /// Bytes of one read: some 1,500 records with camera names. Below the size at which malloc maps each buffer.
    private static let readSize = 64 << 10

    /// Sets one up; from any thread. Throws EMFILE when the user's inotify instances (128 by default,
    /// `fs.inotify.max_user_instances`) or the process's descriptors ran out.
    ///
    /// - Parameters:
    ///   - turn: How long one turn on the queue goes on reading before others on it get theirs.
    ///   - waiting: Who waits for events.
    public init(
        label: String, queue: MonitorQueue, turn: Duration = .milliseconds(4), waiting: Waiting = .dispatch,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let instance = try InotifyInstance()
        // The core gets a descriptor of its own, so that the instance's lives as long as a thread that is held in
        // inotify_add_watch(2) by a hung mount.
        let duplicate = try instance.duplicate()
        watches = instance
        switch waiting {
        case .dispatch:
            driving = nil
            core = MonitorCore(
                kind: "DirectoryMonitor", label: label, queue: queue, descriptor: duplicate,
                drain: { descriptor, outlet in Self.drain(descriptor, outlet, for: turn) },
                onEnd: { instance.end() }, file: file, line: line)
        case .driver:
            let driving = try Driving(queue: duplicate, turn: turn)
            self.driving = driving
            core = MonitorCore(
                kind: "DirectoryMonitor", label: label, queue: queue,
                onEnd: {
                    driving.end()
                    instance.end()
                }, file: file, line: line)
        }
    }

    /// Delivers what waits in the kernel's queue; false if nothing did.
    @discardableResult
    static func drain(_ descriptor: Int32, _ outlet: EventOutlet<DirectoryEvents>, for turn: Duration) -> Bool {
        var hasDelivered = false
        let start = nanoseconds(of: CLOCK_MONOTONIC)
        while outlet.isOpen {
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: readSize) { buffer, count in
                let result = read(descriptor, buffer.baseAddress, buffer.count)
                count = max(0, result)
                failure = result < 0 ? errno : 0
            }
            if failure == EINTR { continue }
            if bytes.isEmpty {
                if failure != 0, failure != EAGAIN { outlet.fail(SystemCallError("read", Errno(rawValue: failure))) }
                return hasDelivered
            }
            let isAll = bytes.count < readSize - InotifyInstance.smallestBuffer
            outlet.deliver(DirectoryEvents(bytes: bytes, isAll: isAll))
            hasDelivered = true
            // A read that left room took all there was. And nobody waits longer than a turn: the source fires again.
            if isAll { break }
            if nanoseconds(of: CLOCK_MONOTONIC) - start > UInt64(max(0, turn.wholeNanoseconds)) { break }
        }
        return hasDelivered
    }
}
