import Glibc
public import LinuxKernel
import SystemPackage

/// Reports events in watched directories: one inotify(7) instance with any number of watches.
///
/// Its handler gets every record of the kernel, including overflows (`queueOverflow`, watch −1), lost watches
/// (`ignored`) and unmounts. The kernel reports no changes in subdirectories, by network and FUSE servers, or through a
/// mapping; DirectoryWatch, which is built on this monitor, adds those.
public final class DirectoryMonitor: Monitor {
    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<DirectoryEvents> { core.handle }
    private let core: MonitorCore<DirectoryEvents>
    /// Adds and removes watches; usable from any thread, since the kernel's call blocks on a hung mount. Ended by the
    /// monitor's invalidation.
    public let watches: InotifyInstance

    /// Sets up a monitor; from any thread. Throws EMFILE when the user's inotify instances (128 by default,
    /// `fs.inotify.max_user_instances`) or the process's descriptors are exhausted.
    ///
    /// - Parameters:
    ///   - turn: How long one turn on the queue may read before other monitors get theirs.
    public init(
        label: String, queue: MonitorQueue, turn: Duration = .milliseconds(4),
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let instance = try InotifyInstance()
        watches = instance
        // The core gets its own descriptor: the instance's must stay open while a thread is blocked in
        // inotify_add_watch(2) by a hung mount.
        let duplicate = try instance.duplicate()
        core = MonitorCore(
            kind: "DirectoryMonitor", label: label, queue: queue, descriptor: duplicate,
            drain: { descriptor, outlet in DirectoryEvents.drain(descriptor, outlet, for: turn) },
            onEnd: { instance.end() }, file: file, line: line)
    }
}
