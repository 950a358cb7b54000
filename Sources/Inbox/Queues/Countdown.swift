import SystemMonitor

/// Calls back when as many things have ended as were announced. On its queue.
final class Countdown: Sendable {
    private let left: QueueBound<Int>
    private let completion: @Sendable () -> Void

    init(_ count: Int, queue: MonitorQueue, completion: @escaping @Sendable () -> Void) {
        left = QueueBound(count, queue: queue)
        self.completion = completion
        if count == 0 { queue.async(completion) }
    }

    func down() {
        let isDone = left.onQueue { left in
            left -= 1
            return left == 0
        }
        if isDone { completion() }
    }
}
