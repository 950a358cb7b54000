import Dispatch

/// Runs an actor on a monitor queue, so that what the queue's monitors deliver and what the actor does are one serial
/// order, and the actor uses its monitors without a change of queue:
///
/// ```swift
/// actor Watcher {
///     private let queue = MonitorQueue(label: "org.example.watcher")
///     nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }
/// }
/// ```
///
/// The actor must hold its executor strongly, since the runtime does not; who holds the queue holds its
/// ``MonitorQueue/executor``. A handler enters the actor with `assumeIsolated`.
///
/// A function of the actor runs from one suspension to the next without anything in between, its own calls included, as
/// long as its task prefers the task executor that this one was made with (none, by default). The runtime compares the
/// executors of a task with those that a job was begun with; where they differ, it enqueues the job anew at each call of an
/// asynchronous function, even of the same actor, and others may run before it.
public final class QueueExecutor: SerialExecutor {
    private let place: QueuePlace
    private let taskExecutor: (any TaskExecutor)?

    /// An executor on `queue` for tasks that prefer `taskExecutor`; both are held. For tasks without such a preference the
    /// queue has one already: ``MonitorQueue/executor``.
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

    /// For the runtime: what `assumeIsolated` asks. Traps off the queue, with a message.
    public func checkIsolated() { place.check(file: #fileID, line: #line) }
}
