import LinuxKernel
import TestSupport
import Testing

@testable import SystemMonitor

private let second: UInt64 = 1_000_000_000

@Suite("Timer plans")
struct TimerPlanTests {
    @Test("A single tick is due once")
    func once() {
        var plan = TimerPlan(.once(after: .seconds(5)), tolerance: 0, offset: 0, now: 100)
        #expect(plan.wake == 5 * second + 100)
        #expect(plan.consumeTicks(at: 5 * second) == 0)
        #expect(plan.consumeTicks(at: 5 * second + 100) == 1)
        #expect(plan.wake == nil)
        #expect(plan.consumeTicks(at: .max) == 0)
    }

    @Test("Ticks stay on their grid, and missed ones are counted")
    func repeats() {
        var plan = TimerPlan(.every(.seconds(10), after: .seconds(1)), tolerance: 0, offset: 0, now: 0)
        #expect(plan.wake == 1 * second)
        #expect(plan.consumeTicks(at: 3 * second) == 1)
        #expect(plan.wake == 11 * second)
        #expect(plan.consumeTicks(at: 41 * second) == 4)
        #expect(plan.wake == 51 * second)
    }

    @Test("Without a delay the first tick is after one period")
    func withoutDelay() {
        #expect(TimerPlan(.every(.seconds(2)), tolerance: 0, offset: 0, now: 7).wake == 2 * second + 7)
        #expect(TimerPlan(.never, tolerance: 0, offset: 0, now: 7).wake == nil)
    }

    @Test("Times beyond the kernel's range do not overflow")
    func farthest() {
        var plan = TimerPlan(.every(.seconds(Int64.max)), tolerance: .max, offset: 0, now: .max - 5)
        #expect(plan.wake == TimerPlan.farthest)
        #expect(plan.consumeTicks(at: .max) == 1)
    }

    @Test(
        "Wake-ups are aligned to an offset in a minute, ten seconds, a second or a quarter",
        arguments: [
            // earliest, latest, offset in the minute, expected: in milliseconds
            (30_000, 120_000, 20_000, 80_000), (30_000, 60_000, 20_000, 50_000), (61_000, 79_000, 23_000, 73_000),
            (61_100, 63_900, 23_450, 63_450), (61_100, 61_400, 23_450, 61_200), (61_100, 61_150, 23_450, 61_150),
            (61_100, 61_100, 23_450, 61_100), (10, 20, 30_000, 20),
        ])
    func gathers(earliest: UInt64, latest: UInt64, offset: UInt64, expected: UInt64) {
        let million: UInt64 = 1_000_000
        #expect(
            gatheredWakeUp(from: earliest * million, to: latest * million, offset: offset * million)
                == expected * million)
    }

    @Test("A wake-up is never early and never later than allowed")
    func staysWithin() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<10_000 {
            let earliest = UInt64.random(in: 0..<200 * second, using: &random)
            let latest = earliest + UInt64.random(in: 0..<100 * second, using: &random)
            let offset = UInt64.random(in: 0..<60 * second, using: &random)
            #expect((earliest...latest).contains(gatheredWakeUp(from: earliest, to: latest, offset: offset)))
        }
    }

    @Test("The offset is derived from the boot identifier")
    func bootOffset() {
        // 0x0000000000000001 ^ 0x0000000000000003 = 2 µs, the bytes of each half read from the last to the first.
        let boot = "01000000-0000-0000-0300-000000000000\n"
        #expect(BootOffset.offset(ofBoot: Array(boot.utf8)) == 2_000)
        #expect(BootOffset.offset(ofBoot: Array("nonsense".utf8)) == 0)
        #expect(BootOffset.offset(ofBoot: []) == 0)
        #expect(BootOffset.nanoseconds < 60 * second)
    }
}

@Suite("Timer monitors", .timeLimit(.minutes(60)))
struct TimerMonitorTests {
    private let queue = MonitorQueue(label: "test.timers")

    @Test("A single timer fires once, on both clocks", arguments: [TimerMonitor.Clock.monotonic, .boottime])
    func once(clock: TimerMonitor.Clock) async throws {
        let timer = try TimerMonitor(clock: clock, .once(after: .milliseconds(5)), label: "once", queue: queue)
        let start = nanoseconds(of: clock.id)
        let event = await queue.run { done in
            timer.setEventHandler { done($0) }
            timer.activate()
        }
        #expect(event == TimerEvent(expirations: 1))
        #expect(nanoseconds(of: clock.id) >= start + 5_000_000)
        await timer.invalidated()
        #expect(timer.describe().delivered == 1)
    }

    @Test("A timer repeats until it is invalidated")
    func repeats() async throws {
        let timer = try TimerMonitor(.every(.milliseconds(1)), label: "often", queue: queue)
        let ticks = await queue.run { done in
            let total = Locked<UInt64>(0)
            timer.setEventHandler { event in
                let sum = total.withLock { total in
                    total += event.expirations
                    return total
                }
                if sum >= 20, timer.describe().state == .active { timer.invalidate { done(sum) } }
            }
            timer.activate()
        }
        #expect(ticks == timer.describe().delivered + timer.describe().coalesced)
    }

    @Test("Ticks that a slow handler missed are one event")
    func missed() async throws {
        let timer = try TimerMonitor(.every(.milliseconds(2)), label: "slow", queue: queue)
        let second = await queue.run { (done: @escaping @Sendable (TimerEvent) -> Void) in
            timer.setEventHandler { event in
                if timer.describe().delivered == 2 { return timer.invalidate { done(event) } }
                let start = monotonicNanoseconds()
                while monotonicNanoseconds() < start + 9_000_000 {}
            }
            timer.activate()
        }
        #expect(second.expirations >= 4)
        #expect(timer.describe().coalesced >= 3)
    }

    @Test("A timer can be rescheduled while active, in its handler and before activation")
    func rescheduled() async throws {
        let timer = try TimerMonitor(.once(after: .seconds(3600)), label: "moved", queue: queue)
        let count = await queue.run { done in
            timer.reschedule(.once(after: .seconds(7200)))
            timer.setEventHandler { _ in
                switch timer.describe().delivered {
                case 1: timer.reschedule(.every(.milliseconds(1)))
                case 2, 3: break
                default:
                    timer.reschedule(.never)
                    timer.suspend()
                    timer.resume()
                    done(timer.describe().delivered)
                }
            }
            timer.activate { timer.reschedule(.once(after: .milliseconds(1)), tolerance: .microseconds(10)) }
        }
        #expect(count == 4)
        await timer.invalidated()
    }

    @Test("Rescheduling after invalidation traps")
    func rescheduledTooLate() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let queue = MonitorQueue(label: "test.timers")
            let timer = try TimerMonitor(.never, label: "late", queue: queue)
            await timer.invalidated()
            queue.sync { timer.reschedule(.once(after: .zero)) }
        }
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            said.contains("monitor TimerMonitor \"late\" (queue test.timers) is invalidated; rule: a monitor is not"))
    }

    @Test("A tick during suspension is reported afterwards")
    func suspended() async throws {
        let timer = try TimerMonitor(.every(.milliseconds(1)), label: "held", queue: queue)
        let ticks = Locked<[UInt64]>([])
        queue.sync {
            timer.setEventHandler { event in
                if timer.describe().state != .active { Issue.record("a tick was delivered while suspended") }
                ticks.withLock { $0.append(event.expirations) }
            }
        }
        await timer.activated()
        let before = queue.sync {
            timer.suspend()
            return ticks.withLock { $0.count }
        }
        // Five of its ticks have passed when another timer fires.
        let other = try TimerMonitor(.once(after: .milliseconds(6)), label: "other", queue: queue)
        await queue.run { done in
            other.setEventHandler { _ in done(()) }
            other.activate()
        }
        queue.sync { timer.resume() }
        let after = try await poll({ ticks.withLock { $0 } }, until: { $0.count > before })
        #expect(after[before] >= 5, "missed ticks are one event")
        await timer.invalidated()
        await other.invalidated()
    }
}
