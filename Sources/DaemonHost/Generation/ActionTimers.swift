import Glibc
import Settings
import SystemMonitor

/// The timers of the configuration: each asks for its action.
final class ActionTimers: Sendable {
    private struct Entry: Sendable {
        let settings: TimerSettings
        let monitor: TimerMonitor
    }

    private let entries: [Entry]
    private let act: @Sendable (Action, String) -> Void

    var count: Int { entries.count }

    init(
        _ settings: [TimerSettings], queue: MonitorQueue, act: @escaping @Sendable (Action, String) -> Void
    ) throws {
        self.act = act
        entries = try settings.map { try Self.entry($0, queue) }
    }

    private static func entry(_ timer: TimerSettings, _ queue: MonitorQueue) throws -> Entry {
        let clock: TimerMonitor.Clock
        let schedule: TimerSchedule
        var tolerance = Duration.zero
        switch timer.schedule {
        case .every(let span, let ours):
            clock = ours == .boottime ? .boottime : .monotonic
            schedule = .every(span.duration)
            // Nobody needs these to the moment; others' wake-ups may be shared.
            tolerance = min(.seconds(1), span.duration / 10)
        case .at:
            clock = .boottime
            schedule = .never
        }
        return Entry(
            settings: timer,
            monitor: try TimerMonitor(
                clock: clock, schedule, tolerance: tolerance, label: timer.name, queue: queue))
    }

    /// On their queue.
    func activate() {
        for entry in entries {
            entry.monitor.setEventHandler { [act] _ in
                Self.setDaily(entry)
                act(entry.settings.action, "timer \(entry.settings.name)")
            }
            Self.setDaily(entry)
            entry.monitor.activate()
        }
    }

    /// The wall clock was set: times of day have to be found anew. On their queue.
    func clockChanged() { for entry in entries { Self.setDaily(entry) } }

    /// `completion` is called once for each. On their queue.
    func invalidate(completion: @escaping @Sendable () -> Void) {
        for entry in entries { entry.monitor.invalidate(completion: completion) }
    }

    /// A time of day is found anew after each ring, since days have 23, 24 or 25 hours.
    private static func setDaily(_ entry: Entry) {
        guard case .at(let time) = entry.settings.schedule else { return }
        entry.monitor.reschedule(.once(after: .seconds(secondsUntil(time))))
    }

    private static func secondsUntil(_ time: TimeOfDay) -> Int {
        var now = Glibc.time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        parts.tm_hour = Int32(time.hour)
        parts.tm_min = Int32(time.minute)
        parts.tm_sec = 0
        // A week from now it has come at the latest.
        for _ in 0...7 {
            parts.tm_isdst = -1
            let next = mktime(&parts)
            let isTheDay = time.weekday.map { $0.rawValue == Int(parts.tm_wday) } ?? true
            if next > now, isTheDay { return Int(next - now) }
            parts.tm_mday += 1
        }
        return 86_400
    }
}
