package import LinuxKernel
package import SystemMonitor

/// The published state of a subsystem: its current step and since when. Any thread can read it without the subsystem's
/// queue, so a stuck queue is visible with the step it is stuck in.
package final class Subsystem: Sendable {
    package struct Snapshot: Sendable {
        package let name: String
        package let queue: String
        package var step: String?
        package var since: Moment
        /// The number of waiting tasks.
        package var waiting = 0
        /// When the pending probe of the queue was sent.
        package var askedAt: Moment?

        /// The age of the pending probe in seconds; nil if there is none.
        package func silence(now: Moment) -> Double? { askedAt.map { now.seconds(since: $0) } }
    }

    /// Seconds after which a queue that has not answered a probe counts as stuck.
    package static let patience = 5.0

    package let name: String
    package let queue: MonitorQueue
    /// Whether the service manager's watchdog depends on it. The file queues of inboxes are not vital: a hung disk is
    /// reported as a problem, and a restart would not fix it.
    package let isVital: Bool
    private let state: Locked<Snapshot>
    private let currentStep: (@Sendable () -> (step: String, since: UInt64)?)?

    /// `currentStep` returns the step and its beginning (nanoseconds of CLOCK_MONOTONIC) if another part publishes
    /// them. It must not block.
    package init(
        name: String, queue: MonitorQueue, isVital: Bool,
        currentStep: (@Sendable () -> (step: String, since: UInt64)?)? = nil
    ) {
        self.name = name
        self.queue = queue
        self.isVital = isVital
        self.currentStep = currentStep
        state = Locked(Snapshot(name: name, queue: queue.label, step: nil, since: .now))
    }

    /// Publishes the beginning of a step. Any thread.
    package func enter(_ step: String) {
        state.withLock {
            $0.step = step
            $0.since = .now
        }
    }

    /// Publishes that there is nothing to do.
    package func idle() {
        state.withLock {
            $0.step = nil
            $0.since = .now
        }
    }

    /// Publishes the number of waiting tasks.
    package func waiting(_ count: Int) { state.withLock { $0.waiting = count } }

    /// Sends a probe to the queue, unless one is pending. Any thread.
    package func ask() {
        let isNew = state.withLock { snapshot in
            if snapshot.askedAt != nil { return false }
            snapshot.askedAt = .now
            return true
        }
        guard isNew else { return }
        queue.async { [weak self] in self?.state.withLock { $0.askedAt = nil } }
    }

    /// Answers a pending probe: the queue is busy with a step that goes on, such as the copy of a large file. Any thread.
    package func reportProgress() { state.withLock { $0.askedAt = nil } }

    package func snapshot() -> Snapshot {
        var snapshot = state.withLock { $0 }
        if let current = currentStep?() {
            let now = Moment.now
            snapshot.step = current.step
            snapshot.since = now.later(by: (Double(current.since) - Double(now.monotonic)) / 1e9)
        }
        return snapshot
    }
}
