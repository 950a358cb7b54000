import Glibc
import LinuxKernel
import Testing

@testable import Ingest
@testable import SystemMonitor

/// A busy monitor on a queue of its own, and what it reported.
private final class Busy: Sendable {
    let queue = MonitorQueue(label: "test.busy")
    let monitor: BusyMonitor
    private let reported: AsyncStream<BusyMonitor.Activity>
    private let continuation: AsyncStream<BusyMonitor.Activity>.Continuation
    /// Delays that have begun and not ended.
    private let delays = Locked<[Delay]>([])

    private struct Delay { let body: @Sendable () -> Void }

    init() {
        monitor = BusyMonitor(label: "test", queue: queue) { [delays] _, body in
            delays.withLock { $0.append(Delay(body: body)) }
        }
        (reported, continuation) = AsyncStream.makeStream()
    }

    /// Lets all delays end that have begun so far; returns how many.
    @discardableResult
    func endDelays() -> Int {
        let ended = delays.withLock { delays in
            defer { delays = [] }
            return delays
        }
        queue.sync { for delay in ended { delay.body() } }
        return ended.count
    }

    func activate() {
        queue.sync {
            monitor.setEventHandler { [continuation] in continuation.yield($0) }
            monitor.activate()
        }
    }

    /// The next `count` that were reported.
    func next(_ count: Int) async -> [BusyMonitor.Activity] {
        var found: [BusyMonitor.Activity] = []
        for await activity in reported {
            found.append(activity)
            if found.count == count { break }
        }
        return found
    }

    /// Ends it, and gives what was reported and not asked for.
    func end() async -> [BusyMonitor.Activity] {
        await withCheckedContinuation { done in queue.async { self.monitor.invalidate { done.resume() } } }
        continuation.finish()
        var rest: [BusyMonitor.Activity] = []
        for await activity in reported { rest.append(activity) }
        return rest
    }
}

private func text(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}

@Suite("Busy at once, idle after a while, never flickering", .timeLimit(.minutes(60)))
struct BusyMonitorTests {
    @Test func busyIsToldWithTheFirstActivityAndOnce() async {
        let busy = Busy()
        busy.activate()
        busy.queue.sync {
            busy.monitor.begin()
            busy.monitor.begin()
            busy.monitor.end()
            busy.monitor.begin()
        }
        #expect(await busy.end() == [.busy], "the second activity is no news")
    }

    @Test func idleIsToldAfterTheDelay() async {
        let busy = Busy()
        busy.activate()
        busy.queue.sync {
            busy.monitor.begin()
            busy.monitor.end()
        }
        #expect(await busy.next(1) == [.busy])
        #expect(busy.endDelays() == 1)
        #expect(await busy.next(1) == [.idle])
        busy.queue.sync { busy.monitor.begin() }
        #expect(await busy.end() == [.busy], "and begins anew")
    }

    @Test func idleIsToldWhereNothingEverBegins() async {
        let busy = Busy()
        busy.activate()
        busy.queue.sync { busy.monitor.expectIdle() }
        #expect(busy.endDelays() == 1)
        #expect(await busy.end() == [.idle])
    }

    @Test func activitiesThatFollowEachOtherWithinTheDelayAreOne() async {
        let busy = Busy()
        busy.activate()
        busy.queue.sync {
            for _ in 0..<100 {
                busy.monitor.begin()
                busy.monitor.end()
            }
        }
        #expect(busy.endDelays() == 100)
        #expect(await busy.end() == [.busy, .idle], "a hundred ends, reported once")
    }

    @Test func aDelayThatWasOvertakenSaysNothing() async {
        let busy = Busy()
        busy.activate()
        busy.queue.sync {
            busy.monitor.begin()
            busy.monitor.end()
            busy.monitor.begin()
        }
        #expect(busy.endDelays() == 1)
        #expect(await busy.end() == [.busy])
    }

    @Test func nothingIsToldAfterInvalidation() async {
        let busy = Busy()
        busy.activate()
        busy.queue.sync {
            busy.monitor.begin()
            busy.monitor.end()
        }
        await withCheckedContinuation { done in busy.queue.async { busy.monitor.invalidate { done.resume() } } }
        #expect(busy.endDelays() == 1)
        #expect(busy.monitor.describe().delivered == 1)
    }

    @Test func theDelayIsMeasuredOnTheQueueByDefault() async {
        let queue = MonitorQueue(label: "test.busy")
        let monitor = BusyMonitor(label: "test", queue: queue, delay: .milliseconds(1))
        let activity = await withCheckedContinuation { reported in
            queue.sync {
                monitor.setEventHandler { reported.resume(returning: $0) }
                monitor.activate()
                monitor.expectIdle()
            }
        }
        #expect(activity == .idle)
        await withCheckedContinuation { done in queue.async { monitor.invalidate { done.resume() } } }
    }

    @Test func itsLifecycleIsEnforced() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = MonitorQueue(label: "test.busy")
            let monitor = BusyMonitor(label: "line", queue: queue)
            queue.sync {
                monitor.activate()
                monitor.invalidate()
                monitor.begin(file: "Test/Here.swift", line: 5)
            }
        }
        #expect(text(result).contains("monitor BusyMonitor \"line\" (queue test.busy)"), "\(text(result))")
        #expect(text(result).contains("Test/Here.swift:5"))
    }

    @Test func anEndWithoutABeginningTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = MonitorQueue(label: "test.busy")
            let monitor = BusyMonitor(label: "line", queue: queue)
            queue.sync {
                monitor.activate()
                monitor.end()
            }
        }
        #expect(text(result).contains("an activity ended that had not begun"), "\(text(result))")
    }
}
