package import SystemMonitor

/// Runs an actor on a monitor queue, so that what the queue's monitors deliver and what the actor does are one serial
/// order; the runtime's pool takes no part.
///
/// An actor must hold its executor strongly: the runtime does not.
package final class QueueExecutor: SerialExecutor {
    package let queue: MonitorQueue

    package init(queue: MonitorQueue) { self.queue = queue }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    /// What `assumeIsolated` asks, from handlers that run on the queue.
    package func checkIsolated() {
        precondition(queue.isCurrent, "not on the queue \(queue.label)")
    }
}
