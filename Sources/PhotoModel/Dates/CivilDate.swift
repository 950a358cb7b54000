import FileValues

/// A day of the Gregorian calendar, which is carried back before 1582 as ISO 8601 does. Always a day that exists.
package struct CivilDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// 0 to 9999.
    package let year: Int
    /// 1 to 12.
    package let month: Int
    /// 1 to 31.
    package let day: Int

    /// The day, or nil if there is none such: 2023-02-29, 2024-00-01, a year of five digits.
    package init?(year: Int, month: Int, day: Int) {
        guard (0...9999).contains(year), (1...12).contains(month), day >= 1,
            day <= Self.days(inMonth: month, of: year)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day that is `days` after 1970-01-01 (before, if negative), or nil if its year is not 0 to 9999.
    package init?(daysSince1970 days: Int) {
        guard (-719_528...2_932_896).contains(days) else { return nil }
        let found = CivilCalendar.day(days)
        self.init(year: found.year, month: found.month, day: found.day)
    }

    /// Days from 1970-01-01 to this day; negative before.
    package var daysSince1970: Int { CivilCalendar.daysSince1970(year: year, month: month, day: day) }

    /// The number of days of a month, 1 to 12.
    package static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: return year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    /// Earlier comes first.
    package static func < (left: CivilDate, right: CivilDate) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }

    /// As ISO 8601 has it: `2024-01-31`.
    package var description: String { "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))" }
}
