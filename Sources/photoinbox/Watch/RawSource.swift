import FileValues
import LinuxKernel
import SystemMonitor
import SystemPackage

/// Tells the kernel's own records for whole trees, as `inotifywait -m -r` does, and without its gaps: directories that
/// appear are listed once they are watched, and what was in them already is told as FOUND; renamed directories keep
/// their watches under their new paths; an overflow is told and followed by a new walk.
final class RawSource: EventSource {
    private let session: WatchSession
    private let monitor: DirectoryMonitor
    private let tree: QueueBound<RawTree>

    init(
        session: WatchSession, roots: [BytePath], mask: InotifyMask, includesExisting: Bool,
        exclude: (@Sendable (BytePath) -> Bool)?
    ) throws(SystemCallError) {
        self.session = session
        monitor = try DirectoryMonitor(label: "raw", queue: session.queue)
        tree = QueueBound(
            RawTree(
                instance: monitor.watches, roots: roots, wanted: mask, includesExisting: includesExisting,
                exclude: exclude), queue: session.queue)
    }

    func start(onReady: @escaping @Sendable (Int) -> Void) {
        // In a storm of events, what comes within 4 ms is taken together: most of the cost is in waking up.
        monitor.setRateLimit(interval: .milliseconds(4), burst: 1)
        monitor.setEventHandler { [self] events in take(events) }
        monitor.activate { [self] in
            session.tell { report in tree.onQueue { $0.walkRoots(&report, isFirst: true) } }
            tellRemarks()
            onReady(tree.onQueue { $0.count })
        }
    }

    func stop(completion: @escaping @Sendable () -> Void) { monitor.invalidate(completion: completion) }

    private func take(_ events: DirectoryEvents) {
        session.tell { report in
            tree.onQueue { tree in
                let now = coarseNow()
                events.forEach { tree.take($0, at: now, &report) }
                tree.endBatch()
            }
        }
        tellRemarks()
    }

    private func tellRemarks() {
        let remarks = tree.onQueue { tree in
            defer { tree.remarks = [] }
            return tree.remarks
        }
        for remark in remarks { session.remark(remark, isIncomplete: true) }
    }
}
