/// When a timer wakes and how many ticks a wake-up stands for. Pure; times are nanoseconds of the timer's clock.
struct TimerPlan: Sendable, Equatable {
    /// The kernel's last nanosecond, 292 years after the clock's start: what is later is then.
    static let farthest = UInt64(Int64.max)

    /// When the next tick is due by the schedule; nil if there is none.
    private(set) var due: UInt64?
    /// Between ticks; nil for one tick.
    private let interval: UInt64?
    private let tolerance: UInt64
    private let offset: UInt64

    /// The plan of `schedule` begun at `now`. `offset` is where in each minute wake-ups are gathered.
    init(_ schedule: TimerSchedule, tolerance: UInt64, offset: UInt64, now: UInt64) {
        self.tolerance = tolerance
        self.offset = offset
        switch schedule {
        case .never: (due, interval) = (nil, nil)
        case .once(let delay): (due, interval) = (Self.sum(now, delay.wholeNanoseconds), nil)
        case .every(let period, let delay):
            // A period below a nanosecond would be no progress.
            let nanoseconds = max(1, period.wholeNanoseconds)
            (due, interval) = (Self.sum(now, delay?.wholeNanoseconds ?? nanoseconds), nanoseconds)
        }
    }

    /// When to wake.
    var wake: UInt64? {
        due.map { gatheredWakeUp(from: $0, to: Self.sum($0, tolerance), offset: offset) }
    }

    /// How many ticks are due at `now`; they are done then. Ticks stay on the schedule's grid, whenever they are served.
    mutating func take(at now: UInt64) -> UInt64 {
        guard let due, now >= due else { return 0 }
        guard let interval else {
            self.due = nil
            return 1
        }
        let ticks = (now - due) / interval + 1
        self.due = Self.sum(due, ticks.multipliedReportingOverflow(by: interval).partialValue)
        return ticks
    }

    private static func sum(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let (sum, overflow) = a.addingReportingOverflow(b)
        return overflow ? farthest : min(sum, farthest)
    }
}

/// When a timer ticks.
public enum TimerSchedule: Sendable, Equatable {
    /// Not, until it is given another schedule.
    case never
    /// Once, so long after activation or rescheduling.
    case once(after: Duration)
    /// Again and again, first so long after activation or rescheduling, or after one period.
    case every(Duration, after: Duration? = nil)
}

/// The time between `earliest` and `latest` at which to wake, so that timers of all processes of the machine wake
/// together and as seldom as possible: at the same offset in a minute if that lies between, else in ten seconds, in one,
/// in a quarter of one; else as late as allowed. The same rule and the same offset as systemd's sd-event has, so we also
/// wake together with its timers.
func gatheredWakeUp(from earliest: UInt64, to latest: UInt64, offset: UInt64) -> UInt64 {
    guard latest > earliest + 1_000 else { return earliest }
    for step: UInt64 in [60_000_000_000, 10_000_000_000, 1_000_000_000, 250_000_000] {
        var candidate = latest / step * step + offset % step
        if candidate >= latest {
            guard candidate >= step else { return latest }
            candidate -= step
        }
        if candidate >= earliest { return candidate }
    }
    return latest
}
