import LinuxKernel
import SystemMonitor

/// What a ``WatchEngine`` knows: for its queue alone, but for snapshots, which any thread may take.
///
/// A lock is held while the core decides, which neither calls out nor touches a file; so a snapshot waits for one
/// decision at most, whatever the queue is held up by, and no turn pays for snapshots that nobody takes.
final class EngineState: Sendable {
    private let queue: MonitorQueue
    private let locked: Locked<WatchEngine.State>

    init(_ initial: sending WatchEngine.State, queue: MonitorQueue) {
        self.queue = queue
        locked = Locked(initial)
    }

    /// Gives `body` the state; traps off the queue. Calls do not nest, and `body` must not call out.
    func onQueue<R, E: Error>(
        file: StaticString = #fileID, line: UInt = #line,
        _ body: (inout WatchEngine.State) throws(E) -> sending R
    ) throws(E) -> sending R {
        queue.check(file: file, line: line)
        return try locked.withLock(body)
    }

    /// Gives `body` the state on any thread, for what tells of it; nil where a decision does not come to its end, as
    /// nothing may wait for that which is to tell of it.
    func anywhere<R>(_ body: (inout WatchEngine.State) -> sending R) -> sending R? {
        locked.withLock(waitingAtMost: Self.patience, body)
    }

    /// Far longer than any decision at a usual rate.
    private static let patience = Duration.milliseconds(100)
}
