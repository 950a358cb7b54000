import Dispatch
import LinuxKernel

/// A second thread for large surveys. It works while the thread that is on the root's queue waits for it there, so
/// whatever it does is done on the queue's turn.
///
/// Two threads are in the kernel at the same time then, where nearly all of a survey's time goes. Only for roots without
/// a rule: that one is the caller's code, and is called on the queue.
final class SurveyHelper: Sendable {
    private struct Task: Sendable {
        let lane: Locked<SurveyLane>
        let root: HeldDescriptor
        let deadline: UInt64
    }

    private let task = Locked<Task?>(nil)
    private let begins = DispatchSemaphore(value: 0)
    private let ends = DispatchSemaphore(value: 0)

    /// Starts the thread, which lives until ``end()``. Throws EAGAIN if there is none.
    init(named name: String) throws(SystemCallError) {
        try startThread(named: name) { [self] in run() }
    }

    /// Advances a lane until the deadline, and calls `body` meanwhile. Returns when both are through.
    func advance(
        _ lane: Locked<SurveyLane>, in root: HeldDescriptor, until deadline: UInt64, while body: () -> Void
    ) {
        task.withLock { $0 = Task(lane: lane, root: root, deadline: deadline) }
        begins.signal()
        body()
        ends.wait()
    }

    /// The thread ends. Not while it works.
    func end() { begins.signal() }

    private func run() {
        // If that is refused, watches are requested by path through procfs, which always works.
        let place = try? ThreadDirectory()
        while true {
            begins.wait()
            let next = task.withLock { $0.take() }
            guard let next else { return }
            next.lane.withLock { $0.advance(in: next.root.descriptor, by: place, until: next.deadline) }
            ends.signal()
        }
    }
}
