import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

/// Tells the kernel's own records for whole trees, as `inotifywait -m -r` does, and without its gaps: directories that
/// appear are listed once they are watched, and what was in them already is told as FOUND; renamed directories keep
/// their watches under their new paths; an overflow is told and followed by a new walk.
///
/// The main thread waits on the kernel's queue itself and takes records on the session's queue by `sync`: so a record
/// is told with one wake-up of one thread.
final class RawSource: EventSource {
    private let session: WatchSession
    private let instance: InotifyInstance
    private let tree: QueueBound<RawTree>

    init(
        session: WatchSession, roots: [BytePath], mask: InotifyMask, includesExisting: Bool, filter: PathFilter
    ) throws(SystemCallError) {
        self.session = session
        instance = try InotifyInstance()
        tree = QueueBound(
            RawTree(
                instance: instance, roots: roots, wanted: mask, includesExisting: includesExisting, filter: filter),
            queue: session.queue)
    }

    func start(onReady: @escaping @Sendable (Int) -> Void) {
        session.tell { report in tree.onQueue { $0.walkRoots(&report, isFirst: true) } }
        tellRemarks()
        onReady(tree.onQueue { $0.count })
    }

    func stop(completion: @escaping @Sendable () -> Void) {
        tree.onQueue { $0.isStopped = true }
        completion()
    }

    func drive(untilGone reader: Int32) {
        // Some 1,500 records with camera names.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
        defer { buffer.deallocate() }
        guard let queue = try? instance.duplicate() else { return waitUntilGone(reader) }
        var entries = [
            pollfd(fd: reader, events: 0, revents: 0), pollfd(fd: queue.raw, events: Int16(POLLIN), revents: 0),
        ]
        var gathering = EventGathering()
        var leaving = false
        while true {
            // A directory that left comes to its new place at once, or it is gone.
            let count = poll(&entries, 2, leaving ? 10 : -1)
            if entries[0].revents != 0 { return }
            if count < 0 { continue }
            let turn = session.queue.sync { take(buffer) }
            guard let turn else { return waitUntilGone(reader) }
            leaving = turn.isSomethingLeaving
            if gathering.isStorm(records: turn.records, now: monotonicNow()) {
                if poll(&entries, 1, Int32(EventGathering.pause / 1_000_000)) > 0 { return }
            }
        }
    }

    /// What a turn came to.
    private struct Turn {
        var records = 0
        var isSomethingLeaving = false
        var hasRemarks = false
        var failure: SystemCallError?
    }

    /// Reads once and tells what that gave; nil when nothing is told any more. On the queue.
    private func take(_ buffer: UnsafeMutableRawBufferPointer) -> Turn? {
        var turn: Turn?
        session.tell { report in
            turn = tree.onQueue { tree in tree.isStopped ? nil : take(buffer, &tree, &report) }
        }
        if let failure = turn?.failure {
            session.remark("nothing can be told any more (\(failure))", isIncomplete: true)
            return nil
        }
        if turn?.hasRemarks == true { tellRemarks() }
        return turn
    }

    private func take(
        _ buffer: UnsafeMutableRawBufferPointer, _ tree: inout RawTree, _ report: inout WatchReport
    ) -> Turn {
        var turn = Turn()
        do {
            let size = try instance.read(into: buffer)
            let now = wallNow()
            tree.beginBatch(bytes: size)
            for record in InotifyRecords(UnsafeRawBufferPointer(rebasing: buffer[..<size])) {
                turn.records += 1
                tree.take(record, at: now, &report)
            }
        } catch { turn.failure = error }
        tree.endBatch()
        turn.isSomethingLeaving = tree.isSomethingLeaving
        turn.hasRemarks = !tree.remarks.isEmpty
        return turn
    }

    private func tellRemarks() {
        let remarks = tree.onQueue { tree in
            defer { tree.remarks = [] }
            return tree.remarks
        }
        for remark in remarks { session.remark(remark, isIncomplete: true) }
    }
}
