package import SystemMonitor

/// Runs an actor on a monitor queue, so that what the queue's monitors deliver and what the actor does are one serial
/// order; the runtime's pool takes no part.
///
/// An actor must hold its executor strongly: the runtime does not.
///
/// A function of an actor runs from one suspension to the next without anything between, its own calls included, as long
/// as its task was begun by ``TaskQueue``. The runtime must be told of that queue with each job: it compares the executors
/// of the task with those that it was told of, and where they differ it enqueues the job anew at each call of an
/// asynchronous function, even of the same actor, and others get in between.
package final class QueueExecutor: SerialExecutor {
    package let queue: MonitorQueue

    package init(queue: MonitorQueue) { self.queue = queue }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: TaskQueue.preferred)
        }
    }

    /// What `assumeIsolated` asks, from handlers that run on the queue.
    package func checkIsolated() {
        precondition(queue.isCurrent, "not on the queue \(queue.label)")
    }
}
