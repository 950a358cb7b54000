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
        watches = instance
        switch waiting {
        case .dispatch:
            driving = nil
            // The core gets a descriptor of its own, so that the instance's lives as long as a thread that is held in
            // inotify_add_watch(2) by a hung mount.
            let duplicate = try instance.duplicate()
            core = MonitorCore(
                kind: "DirectoryMonitor", label: label, queue: queue, descriptor: duplicate,
                drain: { descriptor, outlet in DirectoryEvents.drain(descriptor, outlet, for: turn) },
                onEnd: { instance.end() }, file: file, line: line)
        case .driver:
            let driving = try Driving(instance, turn: turn)
            self.driving = driving
            core = MonitorCore(
                kind: "DirectoryMonitor", label: label, queue: queue,
                onEnd: {
                    driving.end()
                    instance.end()
                }, file: file, line: line)
        }
    }
}
