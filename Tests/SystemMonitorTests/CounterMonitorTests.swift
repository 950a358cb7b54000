import LinuxKernel
import Testing

@testable import SystemMonitor

@Suite("Counter monitors")
struct CounterMonitorTests {
    @Test(
        "Notices since the last event are combined by the mode",
        arguments: [
            (CounterMonitor.Mode.add, [1, 2, 4, 4], 11), (.or, [1, 2, 4, 4], 7), (.replace, [1, 2, 4, 0], 0),
        ] as [(CounterMonitor.Mode, [UInt], UInt)])
    func combines(mode: CounterMonitor.Mode, notices: [UInt], expected: UInt) async {
        let queue = MonitorQueue(label: "test.counter")
        let monitor = CounterMonitor(mode, label: "\(mode)", queue: queue)
        for notice in notices { monitor.notify(notice) }
        let event = await withCheckedContinuation { continuation in
            queue.async {
                monitor.setEventHandler { event in
                    monitor.invalidate { continuation.resume(returning: event) }
                }
                monitor.activate()
            }
        }
        #expect(event == CounterEvent(value: expected, notices: UInt64(notices.count)))
        #expect(monitor.describe().coalesced == UInt64(notices.count - 1))
        #expect(monitor.describe().state == .invalidated)
    }
}
