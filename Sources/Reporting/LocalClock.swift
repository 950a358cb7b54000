import FileValues

/// Moments as texts, for one offset from universal time. Pure: the caller asks the system for the offset, since it
/// changes with the season; see localtime(3).
package struct LocalClock: Hashable, Sendable {
    /// Seconds east of Greenwich.
    package let offset: Int32

    package static let universal = LocalClock(offset: 0)

    /// Offsets beyond a day are none.
    package init(offset: Int32) { self.offset = abs(Int64(offset)) < 86_400 ? offset : 0 }

    /// `14:02`; `--:--` for a moment outside the years 0 to 9999.
    package func timeOfDay(_ seconds: Int64) -> String {
        guard let date = CivilTime(seconds, offset: offset) else { return "--:--" }
        return "\(two(date.hour)):\(two(date.minute))"
    }

    /// `Sunday 03:00`, for moments of the last days.
    package func weekdayAndTime(_ seconds: Int64) -> String {
        guard let date = CivilTime(seconds, offset: offset) else { return "--:--" }
        return "\(CivilTime.weekdays[date.weekday]) \(two(date.hour)):\(two(date.minute))"
    }

    /// `2026-11-21`.
    package func date(_ seconds: Int64) -> String {
        guard let date = CivilTime(seconds, offset: offset) else { return "----------" }
        return "\(four(date.year))-\(two(date.month))-\(two(date.day))"
    }

    /// `2026-11-21T14:07:31Z`, or with milliseconds and offset: RFC 3339. Nil outside the years 0 to 9999, which it
    /// cannot write; files may claim any time.
    package func rfc3339(_ seconds: Int64, milliseconds: Int? = nil) -> String? {
        guard let date = CivilTime(seconds, offset: offset) else { return nil }
        var text = "\(four(date.year))-\(two(date.month))-\(two(date.day))"
        text += "T\(two(date.hour)):\(two(date.minute)):\(two(date.second))"
        if let milliseconds, (0..<1000).contains(milliseconds) { text += "." + three(milliseconds) }
        if offset == 0 { return text + "Z" }
        let minutes = Int(abs(offset)) / 60
        return text + (offset < 0 ? "-" : "+") + "\(two(minutes / 60)):\(two(minutes % 60))"
    }

    private func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private func three(_ number: Int) -> String { number < 100 ? "0" + two(number) : "\(number)" }

    private func four(_ number: Int) -> String { number < 1000 ? "0" + three(number) : "\(number)" }
}

/// A moment's place in the Gregorian calendar, carried back before 1582.
struct CivilTime: Equatable {
    let year: Int
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int
    /// 0 is Sunday.
    let weekday: Int

    static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

    /// Nil outside the years 0 to 9999.
    init?(_ seconds: Int64, offset: Int32) {
        // 0000-01-02 to 9999-12-30, so that no offset leaves the range.
        guard (-62_167_132_800..<253_402_214_400).contains(seconds) else { return nil }
        let local = Int(seconds) + Int(offset)
        let days = (local >= 0 ? local : local - 86_399) / 86_400
        let rest = local - days * 86_400
        (year, month, day) = CivilCalendar.day(days)
        hour = rest / 3600
        minute = rest % 3600 / 60
        second = rest % 60
        weekday = ((days + 4) % 7 + 7) % 7
    }
}
