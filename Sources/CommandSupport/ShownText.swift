package import FileValues

/// Any text as one printable line.
package func shown(_ text: String) -> String { escapeForDisplay(Array(text.utf8)) }

/// `14:07` of today, else `2026-11-21 14:07`.
package func shortTime(_ time: FileTime, now: Int64) -> String {
    let clock = LocalClock(at: time.seconds)
    let date = clock.date(time.seconds)
    let today = LocalClock(at: now).date(now)
    return date == today ? clock.timeOfDay(time.seconds) : "\(date) \(clock.timeOfDay(time.seconds))"
}
