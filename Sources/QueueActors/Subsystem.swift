package import LinuxKernel
package import SystemMonitor

/// What a subsystem tells about itself: the step it is in and since when. Any thread may read it and nobody has to be
/// asked, so a stuck queue is seen with the step that it is stuck in.
package final class Subsystem: Sendable {
    /// One moment of it.
    package struct Snapshot: Sendable {
        package let name: String
        package let queue: String
        package var step: String?
        package var since: Moment
        /// Tasks that wait for their turn.
        package var waiting = 0
        /// When the oldest unanswered question was asked.
        package var askedAt: Moment?

        /// For how many seconds the queue has not answered; nil if it owes no answer.
        package func silence(now: Moment) -> Double? { askedAt.map { now.seconds(since: $0) } }
    }

    /// Seconds without an answer after which a queue counts as stuck.
    package static let patience = 5.0

    package let name: String
    package let queue: MonitorQueue
    /// Whether the service manager's watchdog depends on it. Inboxes' file queues do not: a disk that hangs is told as
    /// a problem, and restarting would not heal it.
    package let isVital: Bool
    private let state: Locked<Snapshot>
    private let currentStep: (@Sendable () -> (step: String, since: UInt64)?)?

    /// `currentStep` is asked for the step and its beginning (nanoseconds of CLOCK_MONOTONIC), where another part
    /// publishes them; it must wait for nobody.
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

    /// The subsystem begins a step. From any thread.
    package func enter(_ step: String) {
        state.withLock {
            $0.step = step
            $0.since = .now
        }
    }

    /// The subsystem has nothing to do.
    package func idle() {
        state.withLock {
            $0.step = nil
            $0.since = .now
        }
    }

    /// How many tasks wait.
    package func waiting(_ count: Int) { state.withLock { $0.waiting = count } }

    /// Asks the queue to answer, unless an answer is owed already. From any thread.
    package func ask() {
        let isNew = state.withLock { snapshot in
            if snapshot.askedAt != nil { return false }
            snapshot.askedAt = .now
            return true
        }
        guard isNew else { return }
        queue.async { [weak self] in self?.state.withLock { $0.askedAt = nil } }
    }

    /// What it tells now.
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
