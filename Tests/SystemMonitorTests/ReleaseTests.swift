import Glibc
import LinuxKernel
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Releasing monitors", .timeLimit(.minutes(60)))
struct ReleaseTests {
    private struct Refusal: Error {}

    private let queue = MonitorQueue(label: "test.release")

    /// Reports its release, and the thread of it.
    private final class Token: Sendable {
        private let released: @Sendable () -> Void
        init(_ released: @escaping @Sendable () -> Void) { self.released = released }
        deinit { released() }
    }

    private func isLive(_ id: UInt64) -> Bool { MonitorRegistry.shared.descriptions().contains { $0.id == id } }

    @Test(
        "Released during set up, a monitor releases descriptor, claims and handler on its queue and leaves the registry"
    )
    func inSetUp() async throws {
        let (reading, writing) = try makePipe()
        defer { close(writing) }
        var id: UInt64 = 0
        let wasOnQueue = await withCheckedContinuation { done in
            do {
                let monitor = try DescriptorMonitor(
                    owning: OwnedDescriptor(taking: reading), for: .read, label: "pipe", queue: queue)
                id = monitor.describe().id
                let token = Token { [queue] in done.resume(returning: queue.isCurrent) }
                queue.sync { monitor.setEventHandler { _ in withExtendedLifetime(token) {} } }
            } catch {
                Issue.record(error)
            }
        }
        #expect(wasOnQueue)
        queue.sync {}
        #expect(!isLive(id))
        // The pipe has no readers, once a child of another test that inherited it is executed.
        var end = pollfd(fd: writing, events: 0, revents: 0)
        #expect(poll(&end, 1, Int32(waitLimit * 1_000)) == 1 && end.revents == Int16(POLLERR))
    }

    @Test("A monitor is released by an initialiser that throws after creating it")
    func inAFailingInitializer() async throws {
        final class Pair {
            let first: TimerMonitor
            let second: TimerMonitor
            init(_ queue: MonitorQueue, report: (UInt64) -> Void) throws {
                first = try TimerMonitor(.every(.milliseconds(1)), label: "first", queue: queue)
                report(first.describe().id)
                throw Refusal()
            }
        }
        var id: UInt64 = 0
        #expect(throws: Refusal.self) { try Pair(queue) { id = $0 } }
        for _ in 0..<2 { queue.sync {} }
        #expect(id != 0 && !isLive(id))
    }

    @Test("Released right after invalidate, a monitor runs its completion, then releases its resources, once each")
    func whileInvalidating() async throws {
        let log = Locked<[String]>([])
        let note: @Sendable (String) -> Void = { text in log.withLock { $0.append(text) } }
        await withCheckedContinuation { done in
            queue.async { [queue] in
                let owner = OwnerMonitor(queue: queue) { note("end") }
                let token = Token { note("handler released") }
                owner.setEventHandler { _ in withExtendedLifetime(token) {} }
                owner.activate()
                let last = Token { done.resume() }
                owner.invalidate {
                    note("completion")
                    withExtendedLifetime(last) {}
                }
            }
        }
        #expect(log.withLock { $0 } == ["end", "handler released", "completion"])
    }

    @Test("A monitor is suspended, invalidated and released on another thread during cancellation")
    func suspendedAndElsewhere() async throws {
        var timer: TimerMonitor? = try TimerMonitor(.every(.milliseconds(1)), label: "held", queue: queue)
        await timer?.activated()
        let id = timer?.describe().id ?? 0
        await withCheckedContinuation { done in
            queue.sync {
                timer?.suspend()
                timer?.invalidate { done.resume() }
            }
            timer = nil
        }
        #expect(!isLive(id))
    }

    @Test("README's function: only the handler holds the monitor until it is invalidated")
    func heldByItsHandler() async throws {
        var id: UInt64 = 0
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            func tickThreeTimes() throws {
                let queue = MonitorQueue(label: "test.app") { done.resume() }
                let timer = try TimerMonitor(.every(.milliseconds(1)), label: "tick", queue: queue)
                id = timer.describe().id
                queue.async {
                    timer.setEventHandler { _ in if timer.describe().delivered == 3 { timer.invalidate() } }
                    timer.activate()
                }
            }
            do { try tickThreeTimes() } catch { done.resume(throwing: error) }
        }
        #expect(!isLive(id))
    }

    @Test("A queue is deallocated with a monitor that was never activated")
    func queueDeallocation() async throws {
        await withCheckedContinuation { done in
            let queue = MonitorQueue(label: "test.dying") { done.resume() }
            _ = CounterMonitor(.add, label: "never", queue: queue)
        }
    }

    @Test("A read that fails after the invalidation is only counted")
    func lostRead() async throws {
        let owner = OwnerMonitor(queue: queue)
        queue.sync { owner.activate() }
        await owner.invalidated()
        // A read that failed after the end.
        queue.sync { EventOutlet(engine: owner.handle.engine, slot: owner.handle.slot).fail(Refusal()) }
        #expect(owner.describe().state == .invalidated)
        #expect(owner.describe().errors == 1)
    }

    @Test("Events kept during suspension are bounded and counted, and delivered in order")
    func bounded() async throws {
        let owner = OwnerMonitor(queue: queue)
        let seen = Locked<[Int]>([])
        let most = MonitorEngine.mostKept
        await withCheckedContinuation { done in
            queue.sync {
                owner.setEventHandler { number in
                    let count = seen.withLock { seen in
                        seen.append(number)
                        return seen.count
                    }
                    if count == most { done.resume() }
                }
                owner.activate()
                owner.suspend()
                for number in 0..<most + 10 { owner.core.deliver(number) }
                #expect(owner.describe().dropped == 10)
                owner.resume()
            }
        }
        #expect(seen.withLock { $0 } == Array(0..<most))
        await owner.invalidated()
        #expect(owner.describe().dropped == 10)
    }

    @Test("A backlog is first in, first out")
    func backlog() {
        var backlog = Backlog<Int>()
        var (next, expected) = (0, 0)
        for size in [1, 5, 2, 0, 7, 3] {
            for _ in 0..<size {
                backlog.append(next)
                next += 1
            }
            #expect(backlog.count == next - expected)
            #expect(backlog.all.sorted() == Array(expected..<next))
            for _ in 0..<(size + 1) / 2 {
                #expect(backlog.first == expected)
                #expect(backlog.popFirst() == expected)
                expected += 1
            }
        }
        while let number = backlog.popFirst() {
            #expect(number == expected)
            expected += 1
        }
        #expect(next == expected && backlog.isEmpty && backlog.first == nil)
    }
}
