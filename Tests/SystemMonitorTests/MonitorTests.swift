import LinuxKernel
import TestSupport
import Testing

@testable import SystemMonitor

private struct HandlerFailure: Error, CustomStringConvertible {
    let description = "the handler failed"
}

@Suite("Monitors", .timeLimit(.minutes(60)))
struct MonitorTests {
    private let queue = MonitorQueue(label: "test.monitors")

    private func counter(_ label: String = "c") -> CounterMonitor {
        CounterMonitor(.add, label: label, queue: queue)
    }

    /// Waits until all earlier blocks of the queue have run, including those of kernel sources.
    private func drainQueue() async {
        for _ in 0..<4 { await queue.run { $0(()) } }
    }

    @Test("A monitor's description shows its state")
    func states() async throws {
        let monitor = counter("stages")
        #expect(monitor.describe().state == .setUp)
        #expect(monitor.describe().createdAt.hasPrefix("SystemMonitorTests/MonitorTests.swift:"))
        await monitor.activated()
        #expect(monitor.describe().state == .active)
        queue.sync { monitor.suspend() }
        #expect(monitor.describe().state == .suspended)
        queue.sync { monitor.resume() }
        #expect(monitor.describe().state == .active)
        #expect(MonitorRegistry.shared.descriptions().contains { $0.id == monitor.describe().id })
        let during = await queue.run { done in
            monitor.invalidate()
            done(monitor.describe().state)
        }
        #expect(during == .invalidating)
        await queue.run { done in queue.async { done(()) } }
        try await poll({ monitor.describe().state }, until: { $0 == .invalidated })
        #expect(!MonitorRegistry.shared.descriptions().contains { $0.id == monitor.describe().id })
    }

    @Test("A suspended monitor delivers nothing, and all notices as one event after resume")
    func suspended() async throws {
        let monitor = counter()
        let seen = Locked<[CounterEvent]>([])
        queue.sync {
            monitor.setEventHandler { event in
                // In the handler, since checking only that none was delivered so far would prove little.
                if monitor.describe().state != .active { Issue.record("delivered while suspended") }
                seen.withLock { $0.append(event) }
            }
        }
        await monitor.activated()
        queue.sync {
            monitor.suspend()
            monitor.suspend()
        }
        for _ in 0..<5 { monitor.notify(2) }
        await drainQueue()
        queue.sync { monitor.resume() }
        await drainQueue()
        #expect(seen.withLock { $0 }.isEmpty)
        queue.sync { monitor.resume() }
        try await poll({ monitor.describe().delivered }, until: { $0 > 0 })
        await monitor.invalidated()
        #expect(seen.withLock { $0 } == [CounterEvent(value: 10, notices: 5)])
        #expect(monitor.describe().coalesced == 4)
    }

    @Test("Invalidating a suspended monitor finishes, and drops and counts the held events")
    func invalidatedWhileSuspended() async {
        let monitor = counter()
        queue.sync { monitor.setEventHandler { _ in Issue.record("delivered while suspended") } }
        await monitor.activated()
        queue.sync {
            monitor.suspend()
            monitor.suspend()
        }
        monitor.notify()
        monitor.notify()
        await monitor.invalidated()
        monitor.notify()
        #expect(monitor.describe().delivered == 0)
        #expect(monitor.describe().dropped == 3)
    }

    @Test("A monitor can be invalidated during set up")
    func invalidatedInSetUp() async throws {
        let count = counter("never")
        let timer = try TimerMonitor(.once(after: .zero), label: "never", queue: queue)
        await count.invalidated()
        await timer.invalidated()
        #expect(timer.describe().state == .invalidated)
        #expect(queue.sync { timer.handle.engine.descriptor(file: #fileID, line: #line) } == nil)
    }

    @Test("Invalidation in the handler, within a batch, drops and counts the rest")
    func invalidatedInTheHandler() async throws {
        let core = await queue.run { done in
            let owner = OwnerMonitor(queue: queue)
            owner.setEventHandler { number in
                if number == 2 { owner.invalidate { done(owner) } }
            }
            owner.activate()
            for number in 0..<10 { owner.core.deliver(number) }
        }
        #expect(core.describe().delivered == 3)
        #expect(core.describe().dropped == 7)
    }

    @Test("Suspension in the handler, within a batch, keeps the rest in order")
    func suspendedInTheHandler() async throws {
        let owner = OwnerMonitor(queue: queue)
        let seen = Locked<[Int]>([])
        queue.sync {
            owner.setEventHandler { number in
                seen.withLock { $0.append(number) }
                if number == 2 { owner.suspend() }
            }
            owner.activate()
            for number in 0..<6 { owner.core.deliver(number) }
        }
        await drainQueue()
        #expect(seen.withLock { $0 } == [0, 1, 2])
        queue.sync {
            owner.resume()
            owner.core.deliver(6)
        }
        try await poll({ seen.withLock { $0.count } }, until: { $0 >= 7 })
        #expect(seen.withLock { $0 } == Array(0...6))
        await owner.invalidated()
    }

    @Test("The last reference may be released in the completion, and the handler may hold the monitor")
    func releasedInTheCompletion() async {
        weak var gone: CounterMonitor?
        await queue.run { done in
            let monitor = counter()
            monitor.setEventHandler { _ in monitor.notify(0) }
            monitor.activate()
            monitor.invalidate { done(()) }
        }
        do {
            let monitor = counter()
            gone = monitor
            queue.sync {
                monitor.setEventHandler { _ in monitor.notify(0) }
                monitor.activate()
            }
            await monitor.invalidated()
        }
        await drainQueue()
        #expect(gone == nil)
    }

    @Test("A handler that throws disables only its own monitor")
    func throwingHandler() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let queue = MonitorQueue(label: "test.throwing")
            MonitorRegistry.shared.setHandlerErrorSink { description, error in
                tell("\(description.label) \(description.state.rawValue): \(error)")
            }
            let failing = CounterMonitor(.add, label: "failing", queue: queue)
            let other = CounterMonitor(.add, label: "other", queue: queue)
            queue.sync {
                failing.setEventHandler { event in if event.value == 1 { throw HandlerFailure() } }
                other.setEventHandler { _ in }
            }
            await failing.activated()
            await other.activated()
            failing.notify(1)
            try await poll({ failing.describe().state }, until: { $0 == .disabled })
            failing.notify(2)
            other.notify()
            try await poll({ other.describe().delivered }, until: { $0 == 1 })
            #expect(failing.describe().delivered == 1)
            #expect(failing.describe().errors == 1)
            #expect(failing.describe().lastError == "the handler failed")
            queue.sync { failing.reenable() }
            try await poll({ failing.describe().delivered }, until: { $0 == 2 })
            #expect(failing.describe().state == .active)
            failing.notify(1)
            try await poll({ failing.describe().state }, until: { $0 == .disabled })
            await failing.invalidated()
            await other.invalidated()
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("failing disabled: the handler failed"))
    }

    @Test("A monitor over its burst is held until the interval ends, and can be invalidated meanwhile")
    func rateLimited() async {
        let owner = OwnerMonitor(queue: queue)
        queue.sync {
            owner.setRateLimit(interval: .seconds(3600), burst: 3)
            owner.setEventHandler { _ in }
            owner.activate()
            for number in 0..<10 { owner.core.deliver(number) }
        }
        await drainQueue()
        #expect(owner.describe().state == .rateLimited)
        #expect(owner.describe().delivered == 3)
        #expect(owner.describe().rateLimitHits == 1)
        await owner.invalidated()
        #expect(owner.describe().dropped == 7)
    }

    @Test("When the interval has ended all held events are delivered")
    func rateLimitEnds() async throws {
        let owner = OwnerMonitor(queue: queue)
        let seen = Locked<[Int]>([])
        queue.sync {
            owner.setRateLimit(interval: .milliseconds(20), burst: 2)
            owner.setEventHandler { number in seen.withLock { $0.append(number) } }
            owner.activate()
            for number in 0..<9 { owner.core.deliver(number) }
        }
        try await poll({ seen.withLock { $0.count } }, until: { $0 >= 9 })
        #expect(seen.withLock { $0 } == Array(0..<9))
        #expect(owner.describe().rateLimitHits >= 1)
        await owner.invalidated()
    }

    @Test("The most urgent of the ready monitors is served first", arguments: [false, true])
    func priorities(differ: Bool) async throws {
        let order = Locked<[String]>([])
        let monitors = ["idle", "normal", "urgent", "normal too"].map { counter($0) }
        let priorities = ["idle": 100, "normal": 0, "normal too": 0, "urgent": -100]
        for monitor in monitors {
            queue.sync {
                if differ { monitor.setPriority(priorities[monitor.label] ?? 0) }
                monitor.setEventHandler { _ in order.withLock { $0.append(monitor.label) } }
            }
            await monitor.activated()
        }
        // All become ready while the queue is busy.
        queue.sync { for monitor in monitors { monitor.notify() } }
        try await poll({ order.withLock { $0.count } }, until: { $0 >= 4 })
        for monitor in monitors { await monitor.invalidated() }
        #expect(
            order.withLock { $0 }
                == (differ
                    ? ["urgent", "normal", "normal too", "idle"] : ["idle", "normal", "urgent", "normal too"]))
        #expect(queue.sync { !queue.turns.onQueue { $0.isMixed } })
    }

    @Test("A monitor that waits for its turn can be suspended and invalidated")
    func invalidatedBeforeItsTurn() async throws {
        let urgent = counter("urgent")
        let idle = counter("idle")
        let held = counter("held")
        queue.sync {
            urgent.setPriority(-1)
            urgent.setEventHandler { _ in
                idle.invalidate()
                held.suspend()
            }
            idle.setEventHandler { _ in Issue.record("delivered after invalidation") }
            held.setEventHandler { _ in if held.describe().state == .suspended { Issue.record("while suspended") } }
        }
        for monitor in [urgent, idle, held] { await monitor.activated() }
        queue.sync { for monitor in [idle, held, urgent] { monitor.notify() } }
        try await poll({ idle.describe().state }, until: { $0 == .invalidated })
        #expect(idle.describe().dropped == 1)
        await drainQueue()
        #expect(held.describe().delivered == 0)
        queue.sync { held.resume() }
        try await poll({ held.describe().delivered }, until: { $0 == 1 })
        await held.invalidated()
        await urgent.invalidated()
    }

    @Test("A queue is deallocated with its monitors")
    func queueDeallocation() async throws {
        let deaths = await withCheckedContinuation { continuation in
            let queue = MonitorQueue(label: "test.dying") { continuation.resume(returning: true) }
            queue.async {
                guard let timer = try? TimerMonitor(.every(.milliseconds(1)), label: "t", queue: queue) else { return }
                let count = CounterMonitor(.add, label: "c", queue: queue)
                let owner = OwnerMonitor(queue: queue)
                count.setPriority(5)
                owner.setRateLimit(interval: .seconds(3600), burst: 1)
                owner.setEventHandler { _ in timer.suspend() }
                timer.setEventHandler { _ in
                    count.notify()
                    owner.core.deliver(1)
                    owner.core.deliver(2)
                }
                count.setEventHandler { _ in
                    for _ in 0..<2 { count.notify() }
                    guard count.describe().delivered == 1 else { return }
                    timer.invalidate { owner.invalidate { count.invalidate() } }
                }
                timer.activate()
                owner.activate()
                count.activate()
            }
        }
        #expect(deaths)
    }

    @Test("Run times of handlers are measured")
    func handlerTimes() async {
        let owner = OwnerMonitor(queue: queue)
        queue.sync {
            owner.setEventHandler { number in
                #expect(owner.describe().handlerRunningSince != nil)
                let start = monotonicNanoseconds()
                while monotonicNanoseconds() < start + UInt64(number) * 1_000 {}
            }
            owner.activate()
            for number in [1, 1, 1, 500] { owner.core.deliver(number) }
        }
        let description = owner.describe()
        let time = description.handlerTime
        #expect(time?.count == 4)
        #expect(time.map { $0.min >= 1_000 && $0.min <= $0.median && $0.median <= $0.p99 && $0.p99 <= $0.max } == true)
        #expect(time.map { $0.max >= 500_000 } == true)
        #expect(description.lastEvent.map { $0 >= description.since && $0 <= description.describedAt } == true)
        #expect(description.handlerRunningSince == nil)
        await owner.invalidated()
    }
}
