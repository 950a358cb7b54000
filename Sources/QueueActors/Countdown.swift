package import SystemMonitor

/// Calls `completion` once ``down()`` was called `count` times. Confined to its queue.
package final class Countdown: Sendable {
    private let left: QueueBound<Int>
    private let completion: @Sendable () -> Void

    package init(_ count: Int, queue: MonitorQueue, completion: @escaping @Sendable () -> Void) {
        left = QueueBound(count, queue: queue)
        self.completion = completion
        if count == 0 { queue.async(completion) }
    }

    package func down() {
        let isDone = left.onQueue { left in
            left -= 1
            return left == 0
        }
        if isDone { completion() }
    }
}
