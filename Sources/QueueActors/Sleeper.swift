package import SystemMonitor

/// Suspends a function of an actor until ``wake()`` or a timeout, one function at a time. A wake-up before the
/// suspension makes it return at once. Confined to the actor's queue.
package final class Sleeper: Sendable {
    private struct State {
        var sleeper: CheckedContinuation<Void, Never>?
        var isWoken = false
    }

    private let label: String
    private let queue: MonitorQueue
    private let state: QueueBound<State>

    package init(_ label: String, queue: MonitorQueue) {
        self.label = label
        self.queue = queue
        state = QueueBound(State(), queue: queue)
    }

    /// Suspends until ``wake()`` or the timeout.
    package nonisolated(nonsending) func rest(seconds: Double? = nil) async {
        let timer = seconds.flatMap { seconds in
            try? TimerMonitor(.once(after: .seconds(seconds)), label: label, queue: queue)
        }
        timer?.setEventHandler { _ in self.wake() }
        timer?.activate()
        // No descriptor is left for a timer.
        if seconds != nil, timer == nil { queue.after(.seconds(1)) { self.wake() } }
        await withCheckedContinuation { done in
            state.onQueue { if $0.isWoken { done.resume() } else { $0.sleeper = done } }
        }
        state.onQueue { $0.isWoken = false }
        if let timer { await withCheckedContinuation { done in timer.invalidate { done.resume() } } }
    }

    package func wake() {
        state.onQueue { state in
            state.isWoken = true
            state.sleeper.take()?.resume()
        }
    }
}
