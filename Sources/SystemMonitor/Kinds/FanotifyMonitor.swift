import Glibc
public import LinuxKernel
import SystemPackage

/// Records of a fanotify queue in the order in which the kernel put them there, as one read gave them.
public struct FanotifyEvents: Sendable {
    private let bytes: [UInt8]

    /// Whole records as read(2) gave them; see fanotify(7).
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// Calls `body` with each record. A record and its names point into the batch: they are valid in the call alone, and
    /// whoever keeps a name copies it (``FanotifyEntry/copiedName``).
    public func forEach<E: Error>(_ body: (FanotifyRecord) throws(E) -> Void) throws(E) {
        // A closure with typed throws cannot pass through the rethrowing buffer call, so its result is carried out.
        let result: Result<Void, E> = bytes.withUnsafeBytes { buffer in
            do throws(E) {
                for record in FanotifyRecords(buffer) { try body(record) }
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }
}

/// Reports what happens on whole file systems, with the process that did it: one fanotify(7) group.
///
/// One mark covers a file system with every directory that is or comes on it, whoever's it is; so its handler is given
/// what everybody does there, this process included, and looks each record's directory up among those that it knows
/// (``DirectoryHandle``). It needs CAP_SYS_ADMIN. An overflow (`queueOverflow`) is told; the end of a mark with its file
/// system's last mount is not.
public final class FanotifyMonitor: Monitor {
    /// What it is made of.
    public let core: MonitorCore<FanotifyEvents>
    /// For marks: usable from any thread, as ``FanotifyGroup`` says, since the kernel's call may wait for a hung mount.
    /// Ended by the monitor's invalidation.
    public let group: FanotifyGroup

    /// Bytes of one read: some 800 records with camera names. Below the size at which malloc maps each buffer.
    private static let readSize = 64 << 10

    /// Sets one up; from any thread. Throws what ``FanotifyGroup/init()`` throws. That a process may have a group does
    /// not mean that it may mark a file system: the first mark tells.
    ///
    /// - Parameter turn: How long one turn on the queue goes on reading before others on it get theirs.
    public init(
        label: String, queue: MonitorQueue, turn: Duration = .milliseconds(4),
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let group = try FanotifyGroup()
        // The core gets a descriptor of its own, so that the group's lives as long as a thread that is held in
        // fanotify_mark(2) by a hung mount.
        let duplicate = try group.duplicate()
        self.group = group
        core = MonitorCore(
            kind: "FanotifyMonitor", label: label, queue: queue, descriptor: duplicate,
            drain: { descriptor, outlet in Self.drain(descriptor, outlet, for: turn) },
            onEnd: { group.end() }, file: file, line: line)
    }

    private static func drain(_ descriptor: Int32, _ outlet: EventOutlet<FanotifyEvents>, for turn: Duration) {
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
                return
            }
            outlet.deliver(FanotifyEvents(bytes: bytes))
            // A read that left room took all there was. And nobody waits longer than a turn: the source fires again.
            if bytes.count < readSize - FanotifyGroup.smallestBuffer { return }
            if nanoseconds(of: CLOCK_MONOTONIC) - start > UInt64(max(0, turn.wholeNanoseconds)) { return }
        }
    }
}
