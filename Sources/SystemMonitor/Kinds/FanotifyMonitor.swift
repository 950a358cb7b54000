import Glibc
public import LinuxKernel
import SystemPackage

/// Records of a fanotify queue.
public typealias FanotifyEvents = RecordBatch<FanotifyRecords>

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
            drain: { descriptor, outlet in FanotifyEvents.drain(descriptor, outlet, for: turn) },
            onEnd: { group.end() }, file: file, line: line)
    }
}
