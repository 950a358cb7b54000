import CLinux
import Glibc
public import LinuxKernel

/// An event of a ``TimerMonitor``: the ticks since the last event.
public struct TimerEvent: Sendable, Equatable {
    /// The number of ticks: more than one if the handler was late or the machine slept.
    public let expirations: UInt64
}

/// A timer over timerfd_create(2), once or repeating.
///
/// Its clock stops while the machine sleeps or does not. Wake-ups are aligned within a tolerance (libdispatch ignores
/// its leeway on Linux).
public final class TimerMonitor: Monitor {
    /// The timer's clock.
    public enum Clock: String, Sendable {
        /// CLOCK_MONOTONIC: stops while the machine sleeps.
        case monotonic
        /// CLOCK_BOOTTIME: runs while the machine sleeps, but does not wake it.
        case boottime

        var id: clockid_t {
            switch self {
            case .monotonic: CLOCK_MONOTONIC
            case .boottime: CLOCK_BOOTTIME
            }
        }
    }

    /// See ``Monitor/handle``.
    public var handle: MonitorHandle<TimerEvent> { core.handle }
    private let core: MonitorCore<TimerEvent>
    private let state: QueueBound<Contents>

    private struct Contents {
        let clock: Clock
        var schedule: TimerSchedule
        var tolerance: Duration
        /// Nil before activation.
        var plan: TimerPlan?

        var now: UInt64 { nanoseconds(of: clock.id) }

        /// Starts the schedule now.
        mutating func begin(_ timer: Int32) {
            plan = TimerPlan(
                schedule, tolerance: tolerance.wholeNanoseconds, offset: BootOffset.nanoseconds, now: now)
            arm(timer)
        }

        func arm(_ timer: Int32) {
            // A time in the past expires at once; 0 disarms.
            let wake = plan?.wake.map { max(1, $0) } ?? 0
            let result = clinux_timerfd_arm(
                timer, Int64(wake / 1_000_000_000), Int64(wake % 1_000_000_000), 0)
            precondition(result == 0, "timerfd_settime: \(errno)")
        }
    }

    /// Sets up a monitor; from any thread. Its schedule begins with activation.
    ///
    /// - Parameter tolerance: How much later than due it may tick, to save wake-ups.
    /// - Throws: The error of timerfd_create(2), such as EMFILE.
    public init(
        clock: Clock = .monotonic, _ schedule: TimerSchedule, tolerance: Duration = .zero, label: String,
        queue: MonitorQueue, file: StaticString = #fileID, line: UInt = #line
    ) throws(SystemCallError) {
        let timer = try descriptorCall("timerfd_create") { clinux_timerfd_create(clock.id) }
        let state = QueueBound(Contents(clock: clock, schedule: schedule, tolerance: tolerance), queue: queue)
        self.state = state
        core = MonitorCore(
            kind: "TimerMonitor", label: label, queue: queue, descriptor: timer,
            prepare: { timer in state.confined { $0.begin(timer) } },
            drain: { timer, outlet in
                var count: UInt64 = 0
                // EAGAIN: rescheduled after it became ready.
                guard read(timer, &count, MemoryLayout.size(ofValue: count)) > 0 else { return }
                let ticks = state.confined { contents in
                    let now = contents.now
                    let ticks = contents.plan?.consumeTicks(at: now) ?? 0
                    contents.arm(timer)
                    return ticks
                }
                guard ticks > 0 else { return }
                if ticks > 1 { outlet.countCoalesced(ticks - 1) }
                outlet.deliver(TimerEvent(expirations: ticks))
            }, file: file, line: line)
    }

    /// Changes the schedule, and the tolerance if given. On its queue, during set up or active, also in its own
    /// handler. While active the schedule begins now, and undelivered ticks of the old one are dropped.
    public func reschedule(
        _ schedule: TimerSchedule, tolerance: Duration? = nil, file: StaticString = #fileID, line: UInt = #line
    ) {
        core.checkUsable(file: file, line: line)
        let isActive = state.confined { contents in
            contents.schedule = schedule
            if let tolerance { contents.tolerance = tolerance }
            return contents.plan != nil
        }
        if isActive { core.withDescriptor { timer in state.confined { $0.begin(timer) } } }
    }
}
