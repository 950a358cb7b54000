/// A date and local time without a time zone.
package struct CivilDateTime: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The day.
    package let date: CivilDate
    /// 0 to 23.
    package let hour: Int
    /// 0 to 59.
    package let minute: Int
    /// 0 to 59; a leap second is stored as 59.
    package let second: Int
    /// 0 to 999,999,999.
    package let nanosecond: Int

    /// The time, or nil if a part is out of range.
    package init?(_ date: CivilDate, hour: Int = 0, minute: Int = 0, second: Int = 0, nanosecond: Int = 0) {
        guard (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second),
            (0...999_999_999).contains(nanosecond)
        else { return nil }
        self.date = date
        self.hour = hour
        self.minute = minute
        self.second = min(second, 59)
        self.nanosecond = nanosecond
    }

    /// The local time at `instant`, `offset` seconds east of UTC, or nil outside the years 0 to 9999.
    package init?(_ instant: FileTime, offset: Int32 = 0) {
        let (seconds, overflow) = instant.seconds.addingReportingOverflow(Int64(offset))
        guard !overflow else { return nil }
        var (days, rest) = seconds.quotientAndRemainder(dividingBy: 86_400)
        if rest < 0 {
            rest += 86_400
            days -= 1
        }
        guard let date = CivilDate(daysSince1970: Int(days)) else { return nil }
        self.init(
            date, hour: Int(rest / 3_600), minute: Int(rest / 60 % 60), second: Int(rest % 60),
            nanosecond: Int(min(instant.nanoseconds, 999_999_999)))
    }

    /// The instant of this local time, `offset` seconds east of UTC.
    package func instant(offset: Int32) -> FileTime {
        let seconds = date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second - Int(offset)
        return FileTime(seconds: Int64(seconds), nanoseconds: UInt32(nanosecond))
    }

    /// A copy with another fraction of the second.
    package func replacingNanosecond(_ nanosecond: Int) -> CivilDateTime {
        CivilDateTime(date, hour: hour, minute: minute, second: second, nanosecond: nanosecond) ?? self
    }

    /// Earlier comes first.
    package static func < (left: CivilDateTime, right: CivilDateTime) -> Bool {
        (left.date, left.hour, left.minute, left.second, left.nanosecond)
            < (right.date, right.hour, right.minute, right.second, right.nanosecond)
    }

    /// `12:34:56`, without the fraction.
    package var clock: String { "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2))" }

    /// `2024-01-31 12:34:56`, without the fraction.
    package var description: String { "\(date) \(clock)" }
}

/// An offset from UTC as text: `+01:00`, `-03:30`; with seconds if they are not zero.
package func offsetText(_ offset: Int32) -> String {
    let magnitude = Int(offset.magnitude)
    let seconds = magnitude % 60 == 0 ? "" : ":\(padded(magnitude % 60, 2))"
    return "\(offset < 0 ? "-" : "+")\(padded(magnitude / 3_600, 2)):\(padded(magnitude / 60 % 60, 2))\(seconds)"
}
