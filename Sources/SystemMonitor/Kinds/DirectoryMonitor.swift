import Glibc
public import LinuxKernel
import SystemPackage

/// Reports what happens in watched directories: one inotify(7) instance with any number of watches.
///
/// Its handler is given everything that the kernel tells, overflows (`queueOverflow`, watch −1), lost watches (`ignored`)
/// and unmounts included, and nothing that the kernel does not tell: neither what lies below a watched directory's
/// directories, nor what network and FUSE servers change, nor writes through a mapping. What DirectoryWatch adds is all
/// that; this monitor is what it stands on.
public final class DirectoryMonitor: Monitor {
    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<DirectoryEvents> { core.handle }
    private let core: MonitorCore<DirectoryEvents>
    /// For watches: usable from any thread, as `InotifyInstance` says, since the kernel's call waits for a hung mount.
    /// Ended by the monitor's invalidation.
    public let watches: InotifyInstance

    /// Sets one up; from any thread. Throws EMFILE when the user's inotify instances (128 by default,
    /// `fs.inotify.max_user_instances`) or the process's descriptors ran out.
    ///
    /// - Parameters:
    ///   - turn: How long one turn on the queue goes on reading before others on it get theirs.
    public init(
        label: String, queue: MonitorQueue, turn: Duration = .milliseconds(4),
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let instance = try InotifyInstance()
        watches = instance
        // The core gets a descriptor of its own, so that the instance's lives as long as a thread that is held in
        // inotify_add_watch(2) by a hung mount.
        let duplicate = try instance.duplicate()
        core = MonitorCore(
            kind: "DirectoryMonitor", label: label, queue: queue, descriptor: duplicate,
            drain: { descriptor, outlet in DirectoryEvents.drain(descriptor, outlet, for: turn) },
            onEnd: { instance.end() }, file: file, line: line)
    }
}
