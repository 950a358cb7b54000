import CLinux
import Glibc
public import LinuxKernel

/// A change of the wall clock.
public struct ClockChange: Sendable, Equatable {
    /// How far the wall clock advanced relative to the boot-time clock; negative if it was set back. Changes before the
    /// handler runs are combined.
    public let jump: Duration
}

/// Reports that the wall clock (CLOCK_REALTIME) was set, or that the machine woke from sleep.
///
/// Uses a timer that never expires and is cancelled by such a change; see TFD_TIMER_CANCEL_ON_SET in timerfd_create(2).
/// Slewing, as by adjtime(3), is not reported.
public final class ClockMonitor: Monitor {
    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<ClockChange> { core.handle }
    private let core: MonitorCore<ClockChange>

    /// Sets up a monitor; from any thread. Throws if the process has no descriptor left.
    public init(
        label: String, queue: MonitorQueue, file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let timer = try descriptorCall("timerfd_create") { clinux_timerfd_create(CLOCK_REALTIME) }
        let offset = QueueBound(Duration.zero, queue: queue)
        core = MonitorCore(
            kind: "ClockMonitor", label: label, queue: queue, descriptor: timer,
            prepare: { timer in
                offset.confined { $0 = Self.arm(timer) }
            },
            drain: { timer, outlet in
                var expirations: UInt64 = 0
                // ECANCELED after a change; the timer itself never expires.
                guard read(timer, &expirations, MemoryLayout.size(ofValue: expirations)) < 0, errno == ECANCELED else {
                    return
                }
                // Armed before the offset is read: a change in between is included in it, and cancels again.
                let now = Self.arm(timer)
                let jump = offset.confined { before in
                    defer { before = now }
                    return now - before
                }
                outlet.deliver(ClockChange(jump: jump))
            }, file: file, line: line)
    }

    /// Arms the timer and returns how far the wall clock is ahead of the boot-time clock.
    private static func arm(_ timer: Int32) -> Duration {
        let result = clinux_timerfd_arm(timer, Int64(Int32.max) << 8, 0, 1)
        precondition(result == 0, "timerfd_settime: \(errno)")
        return .nanoseconds(Int64(nanoseconds(of: CLOCK_REALTIME)) - Int64(nanoseconds(of: CLOCK_BOOTTIME)))
    }
}
