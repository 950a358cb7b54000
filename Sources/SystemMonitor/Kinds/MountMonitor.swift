import CLinux
import FileValues
import Glibc
public import LinuxKernel

/// Reports what was mounted, unmounted, moved and remounted, by comparing the mount table whenever the kernel says that
/// it changed; see proc_pid_mountinfo(5).
///
/// What changes and changes back before the handler can run is not seen. The comparison begins at set up.
public final class MountMonitor: Monitor {
    /// See ``Monitor/core``.
    public let core: MonitorCore<MountChanges>

    private let table: QueueBound<MountTable>

    /// Watches the mount namespace of this process, or of another. From any thread.
    public init(
        ofProcess process: Int32? = nil, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let path = BytePath("/proc/\(process.map { "\($0)" } ?? "self")/mountinfo")
        let descriptor = try Self.open(path)
        // The kernel tells each open file of a change once, to whoever asks first. libdispatch arms its descriptor again
        // after each event, which asks, and asks again before it believes the answer: a change since the event would be
        // told to nobody. With the file opened twice the second question is answered, too.
        let second = try Self.open(path)
        // Watched before it is read, so that no change falls in between.
        let watcher = try epollWatcher(of: descriptor, [.urgent])
        try epollWatch(second, [.urgent], with: watcher)
        let table = QueueBound(try MountTable(reading: descriptor.raw), queue: queue)
        self.table = table
        let number = second.take()
        core = MonitorCore(
            kind: "MountMonitor", label: label, queue: queue, descriptor: descriptor, watcher: watcher,
            drain: { raw, outlet in
                do throws(SystemCallError) {
                    let now = try MountTable(reading: raw)
                    let changes = table.onQueue { before in
                        defer { before = now }
                        return before.changes(to: now)
                    }
                    if changes.isEmpty { return outlet.countCoalesced(1) }
                    outlet.deliver(changes)
                } catch {
                    outlet.fail(error)
                }
            }, onEnd: { close(number) }, file: file, line: line)
    }

    private static func open(_ path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        try descriptorCall("open", path: path) {
            path.withCString { clinux_openat(AT_FDCWD, $0, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0) }
        }
    }

    /// The table as of the last event. On the queue.
    public func mounts(file: StaticString = #fileID, line: UInt = #line) -> MountTable {
        table.onQueue(file: file, line: line) { $0 }
    }
}
