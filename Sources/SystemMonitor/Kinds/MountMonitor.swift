import CLinux
import FileValues
import Glibc
public import LinuxKernel

/// Reports mounts, unmounts, moves and remounts by comparing the mount table at each notification of the kernel; see
/// proc_pid_mountinfo(5).
///
/// Changes that are undone before the handler runs are not detected. The comparison begins at set up.
public final class MountMonitor: Monitor {
    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<MountChanges> { core.handle }
    private let core: MonitorCore<MountChanges>

    private let table: QueueBound<MountTable>

    /// Watches the mount namespace of this process, or of another. From any thread.
    public init(
        ofProcess process: Int32? = nil, label: String, queue: MonitorQueue,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let path = BytePath("/proc/\(process.map { "\($0)" } ?? "self")/mountinfo")
        let descriptor = try descriptorCall("open", path: path) {
            path.withCString { clinux_openat(AT_FDCWD, $0, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0) }
        }
        // EPOLLPRI reports a change only to the first poll, and libdispatch polls more than once when it rearms a
        // descriptor, so it would lose changes. But the file is always readable, and each change wakes its waiters. So
        // the edge is watched: polling does not consume it, only the drain does, before it reads the table.
        // Watched before the first read, so that no change is missed in between.
        let watcher = try epollWatcher(of: descriptor, [.read, .edge])
        let edge = watcher.raw
        let table = QueueBound(try MountTable(reading: descriptor.raw), queue: queue)
        self.table = table
        core = MonitorCore(
            kind: "MountMonitor", label: label, queue: queue, descriptor: descriptor, watcher: watcher,
            drain: { raw, outlet in
                do throws(SystemCallError) {
                    try acknowledgeEdge(of: edge)
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
            }, file: file, line: line)
    }

    /// The table as of the last event. On the queue.
    public func mounts(file: StaticString = #fileID, line: UInt = #line) -> MountTable {
        table.onQueue(file: file, line: line) { $0 }
    }
}
