/// Computes a timer's wake-ups and the ticks at each. Pure; times are nanoseconds of the timer's clock.
struct TimerPlan: Sendable, Equatable {
    /// The kernel's last nanosecond, 292 years after the clock's start; later times are clamped to it.
    static let farthest = UInt64(Int64.max)

    /// The time of the next tick by the schedule; nil if there is none.
    private(set) var due: UInt64?
    /// Between ticks; nil for a single tick.
    private let interval: UInt64?
    private let tolerance: UInt64
    private let offset: UInt64

    /// The plan of `schedule`, started at `now`. Wake-ups are aligned to `offset` in each minute.
    init(_ schedule: TimerSchedule, tolerance: UInt64, offset: UInt64, now: UInt64) {
        self.tolerance = tolerance
        self.offset = offset
        switch schedule {
        case .never: (due, interval) = (nil, nil)
        case .once(let delay): (due, interval) = (Self.sum(now, delay.wholeNanoseconds), nil)
        case .every(let period, let delay):
            // A period below a nanosecond would not advance.
            let nanoseconds = max(1, period.wholeNanoseconds)
            (due, interval) = (Self.sum(now, delay?.wholeNanoseconds ?? nanoseconds), nanoseconds)
        }
    }

    /// The time of the next wake-up.
    var wake: UInt64? {
        due.map { gatheredWakeUp(from: $0, to: Self.sum($0, tolerance), offset: offset) }
    }

    /// Removes the ticks that are due at `now` and returns their number. Later ticks stay on the schedule's grid.
    mutating func consumeTicks(at now: UInt64) -> UInt64 {
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

/// The schedule of a timer's ticks.
public enum TimerSchedule: Sendable, Equatable {
    /// None, until it is rescheduled.
    case never
    /// Once, after this delay from activation or rescheduling.
    case once(after: Duration)
    /// Repeatedly, first after the given delay from activation or rescheduling, or after one period.
    case every(Duration, after: Duration? = nil)
}

/// The time between `earliest` and `latest` at which timers of all processes of the machine wake together and as seldom
/// as possible.
///
/// It is at `offset` in a minute if that lies between, otherwise in ten seconds, one second or a quarter of one;
/// otherwise it is `latest`. systemd's sd-event uses the same rule and offset, so its timers wake at the same times.
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
