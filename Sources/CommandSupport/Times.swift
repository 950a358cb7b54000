import ArgumentParser
package import FileValues
import Glibc
import LinuxKernel

/// Any text as one printable line.
package func printable(_ text: String) -> String { escapeForDisplay(Array(text.utf8)) }

/// The same of what may be escaped already, as paths of the state are: that stays as it is.
package func printableOnce(_ text: String) -> String {
    BytePath(escaped: text)?.escaped == text ? text : printable(text)
}

/// `14:07` of today, else `2026-11-21 14:07`.
package func shortTime(_ time: FileTime, now: Int64) -> String {
    let clock = LocalClock(at: time.seconds)
    let date = clock.date(time.seconds)
    let today = LocalClock(at: now).date(now)
    return date == today ? clock.timeOfDay(time.seconds) : "\(date) \(clock.timeOfDay(time.seconds))"
}

/// A time in the past as people write it: `2h`, `yesterday`, `2026-11-21`, `2026-11-21T14:07`, in local time.
package struct SinceText: Hashable {
    private enum Kind: Hashable {
        case ago(Int64)
        /// The beginning of the day so many days ago.
        case day(Int32)
        case local(year: Int32, month: Int32, day: Int32, hour: Int32, minute: Int32, second: Int32)
    }

    private let kind: Kind

    package init?(_ text: String) {
        if let days = ["today": Int32(0), "yesterday": 1][text] {
            kind = .day(days)
        } else if let seconds = Self.span(text) {
            kind = .ago(seconds)
        } else if let local = Self.local(text) {
            kind = local
        } else {
            return nil
        }
    }

    /// Seconds since 1970; nil for an impossible date, such as the 30th of February.
    package func moment(now: Int64) -> Int64? {
        switch kind {
        case .ago(let seconds): return now - seconds
        case .day(let days):
            var parts = tm()
            var today = time_t(now)
            guard localtime_r(&today, &parts) != nil else { return nil }
            parts.tm_mday -= days
            (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (0, 0, 0, -1)
            return Int64(mktime(&parts))
        case .local(let year, let month, let day, let hour, let minute, let second):
            var parts = tm()
            (parts.tm_year, parts.tm_mon, parts.tm_mday) = (year - 1900, month - 1, day)
            (parts.tm_hour, parts.tm_min, parts.tm_sec, parts.tm_isdst) = (hour, minute, second, -1)
            let time = mktime(&parts)
            // mktime(3) turns the 30th of February into the 2nd of March.
            return parts.tm_mday == day && parts.tm_mon == month - 1 ? Int64(time) : nil
        }
    }

    /// The time that an option names; nil without one, and for one that ``check(_:_:)`` refuses.
    package static func time(_ text: String?, now: Int64) -> FileTime? {
        text.flatMap { SinceText($0)?.moment(now: now) }.map { FileTime(seconds: $0, nanoseconds: 0) }
    }

    /// Throws unless `text` is a time in the past, or nil; `examples` begin the list of what it may be.
    package static func check(_ text: String?, _ examples: String = "") throws {
        if let text, SinceText(text)?.moment(now: 0) == nil {
            throw ValidationError(
                "--since must be like \(examples)90s, 15m, 2h, 7d, 2026-11-21 or 2026-11-21T14:07.")
        }
    }

    private static func span(_ text: String) -> Int64? {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
        guard let unit = text.last.flatMap({ units[$0] }), let count = number(text.dropLast()) else { return nil }
        return Int64(count) * unit
    }

    private static func local(_ text: String) -> Kind? {
        let halves = text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "T" || $0 == " " })
        guard (1...2).contains(halves.count) else { return nil }
        let date = halves[0].split(separator: "-", omittingEmptySubsequences: false).map { number($0) }
        guard date.count == 3, let year = date[0], let month = date[1], let day = date[2], (1970...9999).contains(year),
            (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        var clock: [Int32] = [0, 0, 0]
        if halves.count == 2 {
            let given = halves[1].split(separator: ":", omittingEmptySubsequences: false).map { number($0) }
            guard (2...3).contains(given.count) else { return nil }
            for (place, value) in given.enumerated() {
                guard let value, value < (place == 0 ? 24 : 60) else { return nil }
                clock[place] = value
            }
        }
        return .local(year: year, month: month, day: day, hour: clock[0], minute: clock[1], second: clock[2])
    }

    private static func number(_ text: Substring) -> Int32? {
        guard (1...6).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int32(text)
    }
}
