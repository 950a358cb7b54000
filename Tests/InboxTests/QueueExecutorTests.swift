import LinuxKernel
import QueueActors
import SystemMonitor
import Testing

/// Counts what its queue runs between two looks: every function here first puts a block on the queue that it runs on.
private actor Counting {
    private let queue: MonitorQueue
    private let executor: QueueExecutor
    private let between = Locked(0)

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(label: String) {
        queue = MonitorQueue(label: label)
        executor = TaskQueue.executor(on: queue)
    }

    /// What got in before the other function of the same actor looked.
    func duringOwnCall() async -> Int {
        mark()
        return await look()
    }

    /// What got in before the body of the continuation looked.
    func duringContinuation() async -> Int {
        mark()
        return await withCheckedContinuation { done in done.resume(returning: between.withLock { $0 }) }
    }

    /// The same, after the task was elsewhere.
    func afterAnother(_ other: Counting) async -> Int {
        _ = await other.duringOwnCall()
        await settle()
        mark()
        return await look()
    }

    /// The same, in a child of a task.
    func inChildren() async -> [Int] {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { await self.alone() } }
            var all: [Int] = []
            for await one in group { all.append(one) }
            return all
        }
    }

    private func alone() async -> Int {
        await settle()
        let before = between.withLock { $0 }
        mark()
        return await look() - before
    }

    private func look() async -> Int { between.withLock { $0 } }

    private func mark() { queue.async { [between] in between.withLock { $0 += 1 } } }

    /// Returns when all is run that was on the queue.
    private func settle() async {
        await withCheckedContinuation { done in queue.async { done.resume() } }
        between.withLock { $0 = 0 }
    }
}

@Suite("Nothing gets in between where an actor calls itself", .timeLimit(.minutes(60)))
struct QueueExecutorTests {
    private let actor = Counting(label: "test.executor")

    /// What a task of the task queue gives back.
    private func answer<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value {
        await withCheckedContinuation { done in TaskQueue.start { done.resume(returning: await body()) } }
    }

    @Test func duringACallOfItsOwn() async {
        let between = await answer { [actor] in await actor.duringOwnCall() }
        #expect(between == 0)
    }

    @Test func duringAContinuation() async {
        let between = await answer { [actor] in await actor.duringContinuation() }
        #expect(between == 0)
    }

    @Test func afterTheTaskWasElsewhere() async {
        let other = Counting(label: "test.other")
        let between = await answer { [actor] in await actor.afterAnother(other) }
        #expect(between == 0)
    }

    @Test func inChildTasks() async {
        let between = await answer { [actor] in await actor.inChildren() }
        #expect(between == [0, 0, 0, 0])
    }
}
