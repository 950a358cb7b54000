package import SystemMonitor

/// Reports when activity begins and when it has ended for a while.
///
/// The pipeline begins and ends activities; the handler hears of the first at once, and of idleness only after a second
/// without any, so that a status line does not flicker between two photos. Everything on its queue.
package final class BusyMonitor: Monitor {
    /// What changed.
    package enum Activity: Sendable, Equatable { case busy, idle }

    private struct State {
        var activities = 0
        /// As last reported; idle is reported once after activation, when nothing has begun in the first second.
        var reported: Activity?
        /// Counts changes, so that a delay that was overtaken reports nothing.
        var generation = 0
    }

    package var handle: MonitorHandle<Activity> { core.handle }
    private let core: MonitorCore<Activity>
    private let state: QueueBound<State>
    private let delay: Duration
    private let after: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

    /// Sets one up; from any thread. Idleness is reported `delay` after the last activity has ended. `after` runs what it is
    /// given on the queue, as ``MonitorQueue/after(_:_:)`` does.
    package init(
        label: String, queue: MonitorQueue, delay: Duration = .seconds(1),
        after: (@Sendable (Duration, @escaping @Sendable () -> Void) -> Void)? = nil, file: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.delay = delay
        self.after = after ?? { queue.after($0, $1) }
        state = QueueBound(State(), queue: queue)
        core = MonitorCore(kind: "BusyMonitor", label: label, queue: queue, file: file, line: line)
    }

    /// Call once after activation, so that idleness is reported even if nothing ever begins.
    package func expectIdle(file: StaticString = #fileID, line: UInt = #line) {
        core.checkUsable(file: file, line: line)
        reportIdleLater()
    }

    /// An activity begins.
    package func begin(file: StaticString = #fileID, line: UInt = #line) {
        core.checkUsable(file: file, line: line)
        let isNews = state.onQueue { state in
            state.activities += 1
            state.generation += 1
            guard state.reported != .busy else { return false }
            state.reported = .busy
            return true
        }
        if isNews { core.deliver(.busy) }
    }

    /// An activity has ended; balances one ``begin(file:line:)``.
    package func end(file: StaticString = #fileID, line: UInt = #line) {
        core.checkUsable(file: file, line: line)
        let left = state.onQueue { state in
            precondition(state.activities > 0, "an activity ended that had not begun", file: file, line: line)
            state.activities -= 1
            return state.activities
        }
        if left == 0 { reportIdleLater() }
    }

    private func reportIdleLater() {
        let generation = state.onQueue { state in
            state.generation += 1
            return state.generation
        }
        after(delay) { [weak self] in self?.reportIdle(generation) }
    }

    private func reportIdle(_ generation: Int) {
        let isNews = state.onQueue { state in
            guard state.generation == generation, state.activities == 0, state.reported != .idle else { return false }
            state.reported = .idle
            return true
        }
        // After invalidation the core drops and counts it.
        if isNews { core.deliver(.idle) }
    }
}
