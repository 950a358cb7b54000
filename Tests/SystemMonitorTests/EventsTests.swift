import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import SystemMonitor

private struct Refusal: Error {}

/// One byte of a pipe at a time.
private final class ByteMonitor: Monitor {
    var handle: MonitorHandle<UInt8> { core.handle }
    private let core: MonitorCore<UInt8>

    init(_ reader: consuming OwnedDescriptor, queue: MonitorQueue, drained: @escaping @Sendable () -> Void) throws {
        let watcher = try epollWatcher(of: reader, .read)
        core = MonitorCore(
            kind: "ByteMonitor", label: "b", queue: queue, descriptor: reader, watcher: watcher,
            drain: { raw, outlet in
                var byte: UInt8 = 0
                if read(raw, &byte, 1) == 1 { outlet.deliver(byte) }
                drained()
            })
    }
}

@Suite("A monitor's events as a sequence", .timeLimit(.minutes(60)))
struct EventsTests {
    private let queue = MonitorQueue(label: "test.events")

    /// An active owner, and its events.
    private func owner(buffering limit: Int) -> (OwnerMonitor, MonitorEvents<Int>) {
        let owner = OwnerMonitor(queue: queue)
        let events = queue.sync {
            let events = owner.events(buffering: limit)
            owner.activate()
            return events
        }
        return (owner, events)
    }

    private func deliver(_ numbers: Range<Int>, to owner: OwnerMonitor) {
        queue.sync { for number in numbers { owner.core.deliver(number) } }
    }

    @Test("A slow consumer holds the monitor, and then gets the rest in order")
    func isHeld() async throws {
        let (owner, events) = owner(buffering: 4)
        deliver(0..<10, to: owner)
        #expect(owner.describe().delivered == 4)
        #expect(owner.describe().state == .suspended)
        var iterator = events.makeAsyncIterator()
        for number in 0..<10 { #expect(try await iterator.next() == number) }
        queue.sync {}
        #expect(owner.describe().state == .active)
        await owner.invalidated()
        #expect(try await iterator.next() == nil)
        #expect(owner.describe().dropped == 0)
    }

    @Test("While the monitor is held, events wait in the kernel")
    func kernelWaits() async throws {
        let (reading, writing) = try makePipe()
        defer { close(writing) }
        let (drains, drain) = AsyncStream<Void>.makeStream()
        let monitor = try ByteMonitor(OwnedDescriptor(taking: reading), queue: queue) { drain.yield() }
        let events = await queue.run { done in
            let events = monitor.events(buffering: 1)
            monitor.activate { done(events) }
        }
        try send("a", to: writing)
        var drained = drains.makeAsyncIterator()
        await drained.next()
        #expect(monitor.describe().state == .suspended)
        try send("bc", to: writing)
        for _ in 0..<4 { await queue.run { $0(()) } }
        var unread: Int32 = 0
        #expect(ioctl(reading, 0x541B, &unread) == 0 && unread == 2)
        var iterator = events.makeAsyncIterator()
        for byte in "abc".utf8 { #expect(try await iterator.next() == byte) }
        await monitor.invalidated()
        #expect(monitor.describe().dropped == 0)
    }

    @Test("Invalidation ends the sequence, and unconsumed events are dropped and counted")
    func invalidated() async throws {
        let (owner, events) = owner(buffering: 8)
        deliver(0..<3, to: owner)
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next() == 0)
        await owner.invalidated()
        #expect(try await iterator.next() == nil)
        #expect(owner.describe().dropped == 2)
        // With a waiting consumer.
        let (other, more) = self.owner(buffering: 8)
        let waiting = Task { try await more.first { _ in true } }
        await other.invalidated()
        #expect(try await waiting.value == nil)
    }

    @Test("The sequence ends when its monitor is released during set up")
    func releasedInSetUp() async throws {
        let events = queue.sync { OwnerMonitor(queue: queue).events() }
        for try await _ in events { Issue.record("an event of a monitor that never was active") }
    }

    @Test("A handler that is set later replaces the sequence")
    func replaced() async throws {
        let owner = OwnerMonitor(queue: queue)
        let seen = Locked(0)
        let events = queue.sync {
            let events = owner.events()
            owner.setEventHandler { number in seen.withLock { $0 += number } }
            owner.activate()
            return events
        }
        deliver(5..<6, to: owner)
        for try await _ in events { Issue.record("an event that the handler had") }
        #expect(seen.withLock { $0 } == 5)
        await owner.invalidated()
    }

    @Test("An error of the source is thrown once, after earlier events, and a re-enabled monitor continues")
    func failure() async throws {
        let (owner, events) = owner(buffering: 8)
        deliver(0..<1, to: owner)
        let outlet = EventOutlet(engine: owner.handle.engine, slot: owner.handle.slot)
        queue.sync { outlet.fail(Refusal()) }
        #expect(owner.describe().state == .disabled)
        var iterator = events.makeAsyncIterator()
        #expect(try await iterator.next() == 0)
        await #expect(throws: Refusal.self) { _ = try await iterator.next() }
        #expect(try await iterator.next() == nil)
        queue.sync { owner.reenable() }
        deliver(1..<2, to: owner)
        #expect(try await events.first { _ in true } == 1)
        await owner.invalidated()
    }

    @Test("Cancelling loops repeatedly loses no event and leaves the monitor active")
    func cancelled() async throws {
        let counter = CounterMonitor(.add, label: "c", queue: queue)
        let events = await queue.run { done in
            let events = counter.events(buffering: 2)
            counter.activate { done(events) }
        }
        let taken = Locked<UInt>(0)
        let rounds: UInt = 2_000
        for round in 0..<rounds {
            let loop = Task { for try await event in events { taken.withLock { $0 += event.value } } }
            if round % 3 == 0 { await Task.yield() }
            counter.notify()
            if round % 2 == 0 { await Task.yield() }
            loop.cancel()
            try await loop.value
        }
        #expect(counter.describe().state != .invalidated)
        for try await event in events {
            let sum = taken.withLock { taken in
                taken += event.value
                return taken
            }
            if sum == rounds { break }
            // A lost event would leave the loop waiting.
            counter.notify(0)
        }
        #expect(taken.withLock { $0 } == rounds)
        await counter.invalidated()
    }

    @Test("Iteration by two tasks at a time traps")
    func twoTasks() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = MonitorQueue(label: "test.events")
            let owner = OwnerMonitor(queue: queue)
            let events = queue.sync {
                let events = owner.events()
                owner.activate()
                return events
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 { group.addTask { for try await _ in events {} } }
                try await group.waitForAll()
            }
            withExtendedLifetime(owner) {}
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("two tasks iterate over the events of one monitor at the same time"))
    }

    @Test("Asking for the sequence after activation traps")
    func afterActivation() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = MonitorQueue(label: "test.events")
            let owner = OwnerMonitor(queue: queue)
            queue.sync {
                owner.activate()
                _ = owner.events()
            }
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("is active; rule: \(LifecycleRule.propertiesAreSetBeforeActivation.rawValue)"))
    }
}

@Suite("withMonitor", .timeLimit(.minutes(60)))
struct WithMonitorTests {
    private let queue = MonitorQueue(label: "test.scope")

    @Test("The monitor is active in the body and invalidated afterwards")
    func body() async throws {
        let timer = try TimerMonitor(.every(.milliseconds(1)), label: "scope", queue: queue)
        let count = try await withMonitor(timer, onQueue: { $0.setPriority(3) }) { timer, ticks in
            #expect(timer.describe().state != .setUp)
            #expect(timer.describe().priority == 3)
            var count = 0
            for try await _ in ticks {
                count += 1
                if count == 5 { break }
            }
            return count
        }
        #expect(count == 5)
        #expect(timer.describe().state == .invalidated)
    }

    @Test("The monitor is invalidated after a body that throws")
    func throwingBody() async throws {
        let timer = try TimerMonitor(.never, label: "scope", queue: queue)
        await #expect(throws: Refusal.self) {
            try await withMonitor(timer) { _, _ throws(Refusal) in throw Refusal() }
        }
        #expect(timer.describe().state == .invalidated)
    }

    @Test("The monitor is invalidated after a cancelled body")
    func cancelledBody() async throws {
        let timer = try TimerMonitor(.never, label: "scope", queue: queue)
        let (begun, begin) = AsyncStream<Void>.makeStream()
        let task = Task {
            try await withMonitor(timer) { _, ticks in
                begin.finish()
                for try await _ in ticks {}
                return Task.isCancelled
            }
        }
        for await _ in begun {}
        task.cancel()
        #expect(try await task.value)
        #expect(timer.describe().state == .invalidated)
    }

    @Test("A handler of its own gets the events")
    func ownHandler() async throws {
        let (ticks, tick) = AsyncStream<Void>.makeStream()
        try await withMonitor(
            TimerMonitor(.once(after: .zero), label: "scope", queue: queue),
            onQueue: { $0.setEventHandler { _ in tick.finish() } }
        ) { _, events in
            for await _ in ticks {}
            for try await _ in events { Issue.record("an event that the handler had") }
        }
    }
}

/// Runs on its monitor's queue and counts the blocks that the queue runs between two calls.
private actor Watcher {
    nonisolated let queue: MonitorQueue
    private nonisolated let executor: QueueExecutor
    private let timer: TimerMonitor
    private var ticks = 0
    private let between = Locked(0)

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ queue: MonitorQueue, executor: QueueExecutor) throws {
        self.queue = queue
        self.executor = executor
        timer = try TimerMonitor(.every(.milliseconds(1)), label: "watcher", queue: queue)
    }

    /// Uses the monitor without switching queues, until it has ticked three times.
    func run() async -> Int {
        await withCheckedContinuation { done in
            timer.setEventHandler { [self] _ in
                assumeIsolated {
                    $0.ticks += 1
                    if $0.ticks == 3 { $0.timer.invalidate { done.resume() } }
                }
            }
            timer.activate()
        }
        return ticks
    }

    /// Uses the actor's state in the body of `withMonitor`.
    func runInAScope() async throws -> Int {
        try await withMonitor(timer) { _, events in
            for try await _ in events {
                ticks += 1
                if ticks == 3 { break }
            }
        }
        return ticks
    }

    /// The number of blocks that ran before a call of another function of the same actor.
    func duringOwnCall() async -> Int {
        queue.async { [between] in between.withLock { $0 += 1 } }
        return await blocksBetween()
    }

    private func blocksBetween() async -> Int { between.withLock { $0 } }
}

/// A task executor on its own queue.
private final class Tasks: TaskExecutor {
    private let queue = MonitorQueue(label: "test.tasks")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

@Suite("Actors on a monitor's queue", .timeLimit(.minutes(60)))
struct QueueExecutorTests {
    private let queue = MonitorQueue(label: "test.actor")

    @Test("An actor uses its monitors directly")
    func monitors() async throws {
        #expect(await (try Watcher(queue, executor: queue.executor)).run() == 3)
        #expect(try await Watcher(queue, executor: queue.executor).runInAScope() == 3)
    }

    @Test("No other block runs when an actor calls itself")
    func ownCalls() async throws {
        let watcher = try Watcher(queue, executor: queue.executor)
        #expect(await watcher.duringOwnCall() == 0)
        let tasks = Tasks()
        let other = try Watcher(queue, executor: QueueExecutor(queue: queue, taskExecutor: tasks))
        #expect(await Task(executorPreference: tasks) { await other.duringOwnCall() }.value == 0)
    }

    @Test("assumeIsolated on another queue traps with a message")
    func otherQueue() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = MonitorQueue(label: "test.actor")
            let watcher = try Watcher(queue, executor: queue.executor)
            let misuse = { watcher.assumeIsolated { _ in } }
            misuse()
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("queue test.actor; rule: \(LifecycleRule.valueOnItsQueue.rawValue)"))
    }
}
