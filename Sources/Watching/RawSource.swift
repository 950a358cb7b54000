import DirectoryWatch
import FileValues
import LinuxKernel
import SystemMonitor

/// Reports the kernel's own records for whole trees, as `inotifywait -m -r` does, but without its gaps: new directories are
/// listed after they are watched, and their entries reported as FOUND; renamed directories keep their watches under their
/// new paths; an overflow is reported and followed by a new walk.
final class RawSource: EventSource {
    private let session: WatchSession
    private let monitor: DirectoryMonitor
    private let tree: QueueBound<RawTree>
    private let pacer: QueueBound<Pacer>
    /// Whether departed directories are about to be dropped.
    private let isEnding: QueueBound<Bool>

    init(
        session: WatchSession, roots: [BytePath], mask: InotifyMask, includesExisting: Bool, filter: PathFilter
    ) throws(SystemCallError) {
        self.session = session
        monitor = try DirectoryMonitor(label: "records", queue: session.queue)
        tree = QueueBound(
            RawTree(
                instance: monitor.watches, roots: roots, wanted: mask, includesExisting: includesExisting,
                filter: filter),
            queue: session.queue)
        pacer = QueueBound(Pacer(), queue: session.queue)
        isEnding = QueueBound(false, queue: session.queue)
    }

    func start(onReady: @escaping @Sendable (Int) -> Void) {
        monitor.setEventHandler { [self] events in receive(events) }
        monitor.activate { [self] in
            session.report { report in tree.onQueue { $0.walkRoots(&report, isFirst: true) } }
            printRemarks()
            onReady(tree.onQueue { $0.count })
        }
    }

    func stop(completion: @escaping @Sendable () -> Void) {
        tree.onQueue { $0.isStopped = true }
        monitor.invalidate(completion: completion)
    }

    private func receive(_ events: DirectoryEvents) {
        var records = 0
        session.report { report in
            tree.onQueue { tree in
                let now = FileTime.now
                tree.beginBatch(bytes: events.bytes.count)
                events.forEach { record in
                    records += 1
                    tree.process(record, at: now, &report)
                }
            }
        }
        endBatch()
        guard pacer.onQueue({ $0.shouldGather(records: records, now: monotonicNanoseconds()) }) else { return }
        pause(.nanoseconds(Pacer.batch))
    }

    /// Stops reading the kernel's queue for a moment, unless the session has ended.
    private func pause(_ moment: Duration) {
        if tree.onQueue({ $0.isStopped }) { return }
        monitor.suspend()
        session.queue.after(moment) { [self] in
            if !tree.onQueue({ $0.isStopped }) { monitor.resume() }
        }
    }

    /// How long to wait for the second record of a rename, which is in the kernel's queue.
    private static let patience = Duration.milliseconds(10)

    /// Drops directories that were moved away, once the kernel's queue is read.
    private func endBatch() {
        let (isSomethingLeaving, isStopped) = tree.onQueue { tree in
            tree.endBatch()
            return (tree.isSomethingLeaving, tree.isStopped)
        }
        printRemarks()
        guard isSomethingLeaving, !isStopped, !isEnding.onQueue({ $0 }) else { return }
        isEnding.onQueue { $0 = true }
        session.queue.after(Self.patience) { [self] in
            isEnding.onQueue { $0 = false }
            if tree.onQueue({ $0.isStopped }) { return }
            // With records in the kernel's queue, their batch ends it.
            if (try? monitor.watches.queuedBytes()) ?? 0 == 0 { endBatch() }
        }
    }

    private func printRemarks() {
        let remarks = tree.onQueue { $0.remarks.takeAll() }
        for remark in remarks { session.remark(remark, isIncomplete: true) }
    }
}
