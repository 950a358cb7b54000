public import FileValues
public import LinuxKernel
public import SystemMonitor
import SystemPackage

/// Watches directory trees recursively on one inotify(7) instance, and reports their changes.
///
/// Events are hints; the directory is the truth. A directory is watched, then listed, then its entries are reported, each
/// file once. Changes that events miss (overflow, moved trees, lost watches, directories for which no watch was left) are
/// found by comparing the tree with the last reports, which yields exactly the differences. Symbolic links are not followed.
///
/// Every call is made on `queue`, except ``snapshot()``. File work is done on the roots' queues, of which a hung one
/// delays neither `queue` nor the others. Its lifecycle is that of a monitor: set up, activated once, invalidated once;
/// released in any of these states but active.
public final class DirectoryWatch: Sendable {
    private let engine: WatchEngine
    /// Nil where there was no inotify instance for it: everything is polled then.
    let monitor: DirectoryMonitor?
    let queue: MonitorQueue
    private let timer: TimerMonitor?
    /// Nil where the kernel refuses one: mounts are then noticed on the next tick.
    private let mounts: MountMonitor?

    /// Sets one up; from any thread. Roots need not exist yet. Where the user's inotify instances ran out (EMFILE) it
    /// polls without events, and reports that in ``WatchSnapshot/need``. Throws the other errors of `DirectoryMonitor`.
    ///
    /// - Parameter memory: The ``memory()`` of an earlier watch: files that have not changed since are not reported again.
    /// - Parameter reportsChanges: Whether writes to files that are still open are reported as ``WatchNotice/Kind/changed``,
    ///   at the cost of an event for each write(2).
    /// - Parameter tick: The interval of the cheap checks: that each root's path leads to it, that files which were made and
    ///   not closed are still being written, and polls. Nil if the caller calls ``tick()``, on a timer that wakes the
    ///   process anyway.
    /// - Parameter policy: The intervals of polls and audits.
    /// - Parameter livenessDirectory: A directory, best on tmpfs and in none of the roots, for a cookie that is touched on
    ///   each tick, so that ``WatchSnapshot/liveness`` shows whether events arrive.
    public init(
        label: String, queue: MonitorQueue, roots: [WatchRoot], memory: WatchMemory = WatchMemory(),
        reportsChanges: Bool = false, tick: Duration? = .seconds(5), policy: ComparePolicy = ComparePolicy(),
        livenessDirectory: BytePath? = nil,
        file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        precondition(Set(roots.map(\.id)).count == roots.count, "two roots with one identifier")
        let timer: TimerMonitor? =
            if let tick {
                try TimerMonitor(
                    .every(tick), tolerance: tick / 10, label: "\(label) tick", queue: queue, file: file, line: line)
            } else { nil }
        var noInstance: SystemCallError?
        do throws(SystemCallError) {
            monitor = try DirectoryMonitor(label: label, queue: queue, file: file, line: line)
        } catch  where error.code == .tooManyOpenFiles && error.call == "inotify_init1" {
            noInstance = error
            monitor = nil
        }
        self.timer = timer
        self.queue = queue
        mounts = try? MountMonitor(label: "\(label) mounts", queue: queue, file: file, line: line)
        var mask: InotifyMask = [
            .created, .closedAfterWriting, .movedFrom, .movedTo, .deleted, .deletedSelf, .movedSelf, .onlyDirectory,
            .excludeUnlinked,
        ]
        if reportsChanges { mask.insert(.modified) }
        let backend: any WatchBackend =
            if let monitor { InotifyBackend(instance: monitor.watches, mask: mask) } else {
                NoWatches(reason: noInstance ?? SystemCallError("inotify_init1", .tooManyOpenFiles))
            }
        var cookie: LivenessCookie?
        if let monitor {
            cookie = livenessDirectory.map { directory in
                LivenessCookie(label: "\(queue.label).cookie", directory: directory, instance: monitor.watches)
            }
        }
        engine = WatchEngine(
            label: label, queue: queue, roots: roots, memory: memory, backend: backend,
            instance: monitor?.watches, reportsChanges: reportsChanges, policy: policy, cookie: cookie)
    }

    /// Sets the handler of each turn's notices, which come in order, on the queue. In set up only.
    public func setHandler(_ handler: @escaping @Sendable ([WatchNotice]) -> Void) {
        monitor?.handle.checkConfigurable(file: #fileID, line: #line)
        engine.setHandler(handler)
    }

    /// Starts. `onWatching` is called when every root is watched and its first listing has begun, or is gone: later changes
    /// are reported; after five seconds, those that do not answer are not waited for. `onReconciled` is called when every
    /// root was compared for the first time, or is gone: all entries have been reported.
    public func activate(
        file: StaticString = #fileID, line: UInt = #line, onWatching: (@Sendable () -> Void)? = nil,
        onReconciled: (@Sendable ([ReconcileReport]) -> Void)? = nil
    ) {
        let (engine, monitor) = (self.engine, self.monitor)
        if let monitor {
            monitor.setEventHandler(file: file, line: line) { events in
                engine.apply(events)
                guard engine.shouldGather else { return }
                monitor.suspend()
                monitor.queue.after(.nanoseconds(Pacer.batch)) { if !engine.hasEnded { monitor.resume() } }
            }
            monitor.activate(file: file, line: line) {
                engine.start(onWatching: onWatching, onReconciled: onReconciled)
            }
        } else {
            queue.async { engine.start(onWatching: onWatching, onReconciled: onReconciled) }
        }
        mounts?.setEventHandler(file: file, line: line) { changes in engine.apply(changes) }
        mounts?.activate(file: file, line: line)
        timer?.setEventHandler(file: file, line: line) { _ in engine.tick(isPaced: true) }
        timer?.activate(file: file, line: line)
    }

    /// Compares a root, or all, with the last reports, reports the differences, then calls `completion` with a report of each
    /// root. A file that is being written counts as found. In the handler, too: it then begins when that returns.
    public func reconcile(
        root: String? = nil, completion: @escaping @Sendable ([ReconcileReport]) -> Void = { _ in }
    ) {
        engine.reconcile(root, completion)
    }

    /// Forgets a file that the receiver has processed and removed. If it is still there at the next reconciliation, it is
    /// reported as found.
    public func forget(root: String, path: BytePath) { engine.forget(root, path) }

    /// Acknowledges a file that the receiver has processed with this identity, and that stays where it is; nil for what is no
    /// regular file. After a restart it is reported again only if it has changed. Without effect if it was reported with
    /// another identity since. In the handler, too, and until the watch is released.
    ///
    /// One that the receiver has no use for, so `isLeftAlone`, counts in ``RootSnapshot/leftAlone`` until it is gone,
    /// renamed or changed, also after a restart.
    public func acknowledge(root: String, path: BytePath, identity: FileIdentity?, isLeftAlone: Bool = false) {
        engine.acknowledge(root, path, identity, isLeftAlone: isLeftAlone)
    }

    /// The memory for the next watch: the acknowledged files that are still there, and the directories; of roots that are
    /// gone, and of those that only an earlier watch had, those that were known last. Costs about a quarter of a microsecond
    /// per file. Also after it was invalidated, until it is released.
    public func memory() -> WatchMemory { engine.memory() }

    /// A number that changes whenever ``memory()`` does; 0 as long as nothing has changed since the memory that it began
    /// with.
    public var memoryChanges: UInt64 { engine.memoryChanges }

    /// Makes the checks that are made every few seconds; for a watch without a timer of its own.
    public func tick() { engine.tick(isPaced: true) }

    /// Makes the checks of ticks now, whether they are due or not.
    public func checkNow() { engine.tick(isPaced: false) }

    /// Ends it: no notice comes after this call, and no answer to a reconciliation under way. `completion` runs on the queue
    /// once the kernel has released the descriptors. The result of file work that hangs will be dropped.
    public func invalidate(
        file: StaticString = #fileID, line: UInt = #line, completion: (@Sendable () -> Void)? = nil
    ) {
        engine.end()
        let parts = (timer == nil ? 0 : 1) + (monitor == nil ? 0 : 1) + (mounts == nil ? 0 : 1)
        let missing = Locked(parts)
        let ended: @Sendable () -> Void = {
            let isLast = missing.withLock { missing in
                missing -= 1
                return missing == 0
            }
            if isLast { completion?() }
        }
        if parts == 0 { queue.async { completion?() } }
        monitor?.invalidate(file: file, line: line, completion: ended)
        timer?.invalidate(file: file, line: line, completion: ended)
        mounts?.invalidate(file: file, line: line, completion: ended)
    }

    /// The state after the last turn, with the present steps; from any thread, without waiting for a queue. While a turn takes
    /// longer than a tenth of a second, the last snapshot.
    public func snapshot() -> WatchSnapshot { engine.snapshot() }

    /// The present step of a root's file work; from any thread, without waiting for a queue. Nil if there is no such root.
    public func step(ofRoot id: String) -> WatchStep? { engine.step(ofRoot: id) }
}
