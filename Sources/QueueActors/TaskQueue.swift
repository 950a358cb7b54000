package import SystemMonitor

/// Where asynchronous functions run that belong to no actor: one serial queue instead of the runtime's pool.
///
/// The runtime would put them on libdispatch's shared pools, and as long as those have workers the manager thread counts
/// them once a second: an idle daemon would be woken 60 times a minute for nothing.
package final class TaskQueue: TaskExecutor {
    private static let shared = TaskQueue()

    /// For an actor on `queue` whose tasks are started here; the actor holds it.
    package static func executor(on queue: MonitorQueue) -> QueueExecutor {
        QueueExecutor(queue: queue, taskExecutor: shared)
    }

    private let queue = MonitorQueue(label: "photo-inbox.tasks")

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Starts a task, from any thread.
    @discardableResult
    package static func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: shared) { await body() }
    }
}
