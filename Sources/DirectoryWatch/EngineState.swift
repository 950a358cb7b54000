import LinuxKernel
import SystemMonitor

/// The state of a ``WatchEngine``: for its queue alone, except for snapshots, which any thread may make.
///
/// A lock is held while the core decides, which neither calls out nor touches a file; so a snapshot waits for one
/// decision at most, whatever else the queue waits for, and turns cost nothing for snapshots that are not made.
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

    /// Gives `body` the state on any thread, for snapshots; nil if a decision does not end, which a snapshot must not wait
    /// for.
    func anywhere<R>(_ body: (inout WatchEngine.State) -> sending R) -> sending R? {
        locked.withLock(waitingAtMost: Self.patience, body)
    }

    /// Far longer than any decision at a usual rate.
    private static let patience = Duration.milliseconds(100)
}
