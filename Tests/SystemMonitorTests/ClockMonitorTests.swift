import Glibc
import TestSupport
import Testing

@testable import SystemMonitor

@Suite("Clock monitors", .timeLimit(.minutes(60)))
struct ClockMonitorTests {
    @Test(
        "A step of the wall clock is reported",
        .enabled(if: mayStepClock, "skipped: needs root, or CAP_SYS_TIME, to step the wall clock"))
    func steps() async throws {
        let queue = MonitorQueue(label: "test.clock")
        let monitor = try ClockMonitor(label: "clock", queue: queue)
        let change = await queue.run { done in
            monitor.setEventHandler { change in
                if monitor.describe().delivered == 1 { done(change) }
            }
            // A microsecond forwards, and back below.
            monitor.activate { #expect(stepClock(seconds: 0, microseconds: 1)) }
        }
        #expect(change.jump < .seconds(1) && change.jump > .seconds(-1))
        #expect(stepClock(seconds: -1, microseconds: 999_999))
        try await poll({ monitor.describe().delivered }, until: { $0 >= 2 })
        await monitor.invalidated()
    }
}

/// CAP_SYS_TIME is number 25; see capabilities(7).
private let mayStepClock: Bool = {
    guard let file = fopen("/proc/self/status", "r") else { return false }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 4096)
    while fgets(&line, 4096, file) != nil {
        guard strncmp(line, "CapEff:\t", 8) == 0 else { continue }
        return strtoul(Array(line[8...]), nil, 16) & (1 << 25) != 0
    }
    return false
}()

/// adjtimex(2) with ADJ_SETOFFSET, which Swift's import of the C library omits.
private func stepClock(seconds: Int, microseconds: Int) -> Bool {
    typealias Adjust = @convention(c) (UnsafeMutableRawPointer) -> Int32
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "adjtimex") else { return false }
    let adjust = unsafeBitCast(symbol, to: Adjust.self)
    return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { timex in
        timex.initializeMemory(as: UInt8.self, repeating: 0)
        timex.storeBytes(of: 0x0100, as: UInt32.self)
        timex.storeBytes(of: seconds, toByteOffset: 72, as: Int.self)
        timex.storeBytes(of: microseconds, toByteOffset: 80, as: Int.self)
        return timex.baseAddress.map { adjust($0) >= 0 } ?? false
    }
}
