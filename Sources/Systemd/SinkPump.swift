import Dispatch
import LinuxKernel

/// A bounded ring and the serial queue that empties it, one delivery after the other.
///
/// Producers access only the ring, under a lock held for a few instructions. A delivery may block without a limit: it
/// blocks only this pump's thread.
final class SinkPump: Sendable {
    /// Delivers one entry to the receiver; returns the error's text, or nil. Runs on the pump's queue; may block.
    typealias Delivery = @Sendable (LogEntry) -> String?

    private struct State {
        var ring: BoundedRing<LogEntry>
        var isDraining = false
        var sendingSince: SuspendingClock.Instant?
        var sent: UInt64 = 0
        var failed: UInt64 = 0
        var lastFailure: String?
        var waiting: [DispatchSemaphore] = []
    }

    private let name: String
    private let queue: DispatchQueue
    private let state: Locked<State>
    private let deliver: Delivery

    init(name: String, capacity: Int, byteCapacity: Int, deliver: @escaping Delivery) {
        self.name = name
        self.deliver = deliver
        queue = DispatchQueue(label: "log.\(name)")
        state = Locked(State(ring: BoundedRing(capacity: capacity, byteCapacity: byteCapacity)))
    }

    func offer(_ entry: LogEntry) {
        let mustStart = state.withLock { state in
            guard state.ring.offer(entry, cost: entry.cost, isSevere: entry.priority.isSevere), !state.isDraining else {
                return false
            }
            state.isDraining = true
            return true
        }
        if mustStart { queue.async { self.drain() } }
    }

    func snapshot() -> LogSinkSnapshot {
        state.withLock { state in
            LogSinkSnapshot(
                name: name, queued: state.ring.count, queuedBytes: state.ring.bytes, sent: state.sent,
                dropped: state.ring.dropped, failed: state.failed, sendingSince: state.sendingSince,
                lastFailure: state.lastFailure)
        }
    }

    func flush(within limit: Duration) -> Bool {
        dispatchPrecondition(condition: .notOnQueue(queue))
        let done = DispatchSemaphore(value: 0)
        let isIdle = state.withLock { state in
            if state.isDraining { state.waiting.append(done) }
            return !state.isDraining
        }
        if isIdle { return true }
        let (seconds, attoseconds) = limit.components
        let nanoseconds = Int(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let timeout: DispatchTime =
            nanoseconds.overflow
            ? .distantFuture : .now() + .nanoseconds(nanoseconds.partialValue + Int(attoseconds / 1_000_000_000))
        if done.wait(timeout: timeout) == .success { return true }
        state.withLock { state in state.waiting.removeAll { $0 === done } }
        return false
    }

    private func drain() {
        while let entry = next() {
            let failure = deliver(entry)
            state.withLock { state in
                state.sendingSince = nil
                if let failure {
                    state.failed += 1
                    state.lastFailure = failure
                } else {
                    state.sent += 1
                }
            }
        }
    }

    /// Removes the next entry and marks it as being sent. If there is none, draining ends under the same lock, so that
    /// a later entry starts it again.
    private func next() -> LogEntry? {
        let (next, finished) = state.withLock { state -> (BoundedRing<LogEntry>.Next?, [DispatchSemaphore]) in
            let next = state.ring.next()
            if next != nil {
                state.sendingSince = .now
                return (next, [])
            }
            state.isDraining = false
            defer { state.waiting = [] }
            return (nil, state.waiting)
        }
        for semaphore in finished { semaphore.signal() }
        switch next {
        case nil: return nil
        case .element(let entry): return entry
        case .gap(let count): return Self.report(of: count, in: name)
        }
    }

    private static func report(of count: Int, in name: String) -> LogEntry {
        LogEntry(
            .warning, "\(count) log entries were dropped here because the \(name) did not take them, continuing",
            id: .entriesDropped, fields: [.init("dropped", String(count))], location: CodeLocation())
    }
}
