import Glibc
import LinuxKernel
import Testing

@testable import Inbox
@testable import SystemMonitor

/// A busy monitor on a queue of its own, and what it told.
private final class Busy: Sendable {
    let queue = MonitorQueue(label: "test.busy")
    let monitor: BusyMonitor
    private let told: AsyncStream<BusyMonitor.Activity>
    private let tell: AsyncStream<BusyMonitor.Activity>.Continuation

    init(delay: Duration) {
        monitor = BusyMonitor(label: "test", queue: queue, delay: delay)
        (told, tell) = AsyncStream.makeStream()
    }

    func activate() {
        queue.sync {
            monitor.setEventHandler { [tell] in tell.yield($0) }
            monitor.activate()
        }
    }

    /// The next `count` that were told.
    func next(_ count: Int) async -> [BusyMonitor.Activity] {
        var found: [BusyMonitor.Activity] = []
        for await activity in told {
            found.append(activity)
            if found.count == count { break }
        }
        return found
    }

    /// Ends it, and gives what was told and not asked for.
    func end() async -> [BusyMonitor.Activity] {
        await withCheckedContinuation { done in queue.async { self.monitor.invalidate { done.resume() } } }
        tell.finish()
        var rest: [BusyMonitor.Activity] = []
        for await activity in told { rest.append(activity) }
        return rest
    }
}

private func text(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
}

@Suite("Busy at once, idle after a while, never flickering", .timeLimit(.minutes(60)))
struct BusyMonitorTests {
    @Test func busyIsToldWithTheFirstActivityAndOnce() async {
        let busy = Busy(delay: .seconds(3600))
        busy.activate()
        busy.queue.sync {
            busy.monitor.begin()
            busy.monitor.begin()
            busy.monitor.end()
            busy.monitor.begin()
        }
        #expect(await busy.next(1) == [.busy])
        #expect(await busy.end() == [], "the second activity is no news")
    }

    @Test func idleIsToldAfterTheDelay() async {
        let busy = Busy(delay: .milliseconds(20))
        busy.activate()
        busy.queue.sync {
            busy.monitor.begin()
            busy.monitor.end()
        }
        #expect(await busy.next(2) == [.busy, .idle])
        busy.queue.sync { busy.monitor.begin() }
        #expect(await busy.next(1) == [.busy], "and begins anew")
        #expect(await busy.end() == [])
    }

    @Test func idleIsToldWhereNothingEverBegins() async {
        let busy = Busy(delay: .milliseconds(20))
        busy.activate()
        busy.queue.sync { busy.monitor.expectIdle() }
        #expect(await busy.next(1) == [.idle])
        #expect(await busy.end() == [])
    }

    @Test func activitiesThatFollowEachOtherWithinTheDelayAreOne() async {
        let busy = Busy(delay: .milliseconds(50))
        busy.activate()
        // In one turn of the queue: no delay can end in between, however slow the machine is.
        busy.queue.sync {
            for _ in 0..<100 {
                busy.monitor.begin()
                busy.monitor.end()
            }
        }
        #expect(await busy.next(2) == [.busy, .idle])
        #expect(await busy.end() == [], "a hundred ends, told once")
    }

    @Test func aDelayThatWasOvertakenSaysNothing() async {
        let busy = Busy(delay: .milliseconds(20))
        busy.activate()
        busy.queue.sync {
            busy.monitor.begin()
            busy.monitor.end()
            busy.monitor.begin()
        }
        #expect(await busy.next(1) == [.busy])
        // The delay of the first end lies before this one on the same queue.
        await withCheckedContinuation { done in busy.queue.after(.milliseconds(40)) { done.resume() } }
        #expect(await busy.end() == [])
    }

    @Test func nothingIsToldAfterInvalidation() async {
        let busy = Busy(delay: .milliseconds(10))
        busy.activate()
        // In one turn of the queue: the delay cannot end before the invalidation.
        await withCheckedContinuation { done in
            busy.queue.async {
                busy.monitor.begin()
                busy.monitor.end()
                busy.monitor.invalidate { done.resume() }
            }
        }
        await withCheckedContinuation { done in busy.queue.after(.milliseconds(20)) { done.resume() } }
        #expect(busy.monitor.describe().delivered == 1)
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
