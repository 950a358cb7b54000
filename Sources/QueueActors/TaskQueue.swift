package import SystemMonitor

/// The executor of asynchronous functions outside of actors: one serial queue instead of the runtime's pool.
///
/// The runtime would use libdispatch's shared pools. While these have workers, the manager thread counts them every
/// second, so an idle daemon would be woken 60 times a minute.
package final class TaskQueue: TaskExecutor {
    private static let shared = TaskQueue()

    /// Returns the executor of an actor on `queue` whose tasks are started here. The actor must hold it strongly.
    package static func executor(on queue: MonitorQueue) -> QueueExecutor {
        QueueExecutor(queue: queue, taskExecutor: shared)
    }

    private let queue = MonitorQueue(label: "photo-inbox.tasks")

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Starts a task. Any thread.
    @discardableResult
    package static func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: shared) { await body() }
    }
}
