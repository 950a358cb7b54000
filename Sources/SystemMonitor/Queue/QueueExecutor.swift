import Dispatch

/// Runs an actor on a monitor queue, so that the queue's events and the actor's jobs are serialised and the actor uses
/// its monitors without switching queues:
///
/// ```swift
/// actor Watcher {
///     private let queue = MonitorQueue(label: "org.example.watcher")
///     nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }
/// }
/// ```
///
/// The actor must hold its executor strongly, since the runtime does not; the queue holds its
/// ``MonitorQueue/executor``. A handler enters the actor with `assumeIsolated`.
///
/// A function of the actor runs from one suspension to the next without interruption, across its own calls too, if its
/// task prefers the task executor that this one was created with (none, by default). The runtime compares a task's
/// executors with those of the running job; if they differ, it enqueues the job again at each call of an asynchronous
/// function, even of the same actor, and other jobs may run first.
public final class QueueExecutor: SerialExecutor {
    private let place: QueuePlace
    private let taskExecutor: (any TaskExecutor)?

    /// An executor on `queue` for tasks that prefer `taskExecutor`; retains both. For tasks without a preference use
    /// ``MonitorQueue/executor``.
    public convenience init(queue: MonitorQueue, taskExecutor: any TaskExecutor) {
        self.init(place: queue.place, taskExecutor: taskExecutor)
    }

    init(place: QueuePlace, taskExecutor: (any TaskExecutor)? = nil) {
        self.place = place
        self.taskExecutor = taskExecutor
    }

    /// For the runtime.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        place.dispatchQueue.async { [self] in
            let own = asUnownedSerialExecutor()
            if let taskExecutor {
                job.runSynchronously(isolatedTo: own, taskExecutor: taskExecutor.asUnownedTaskExecutor())
            } else {
                job.runSynchronously(on: own)
            }
        }
    }

    /// For the runtime, by `assumeIsolated`. Traps off the queue, with a message.
    public func checkIsolated() { place.check(file: #fileID, line: #line) }
}
