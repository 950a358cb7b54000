import CLinux
import FileValues
import Glibc
public import LinuxKernel

/// Reports what was mounted, unmounted, moved and remounted, by comparing the mount table whenever the kernel says that
/// it changed; see proc_pid_mountinfo(5).
///
/// What changes and changes back before the handler can run is not seen. The comparison begins at set up.
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
        // EPOLLPRI tells of a change once, to whoever polls first, and libdispatch polls more than once to arm its
        // descriptor again: what it asks for to be sure would be the news. But the file is readable always, and each
        // change wakes who waits. So the edge is what is watched: polling leaves it as it is, and the drain alone takes
        // it, before it reads the table.
        // Watched before it is read, so that no change falls in between.
        let watcher = try epollWatcher(of: descriptor, [.read, .edge])
        let edge = watcher.raw
        let table = QueueBound(try MountTable(reading: descriptor.raw), queue: queue)
        self.table = table
        core = MonitorCore(
            kind: "MountMonitor", label: label, queue: queue, descriptor: descriptor, watcher: watcher,
            drain: { raw, outlet in
                do throws(SystemCallError) {
                    try takeEdge(of: edge)
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
