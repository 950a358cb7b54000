/// A valid day of the proleptic Gregorian calendar of ISO 8601.
package struct CivilDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// 0 to 9999.
    package let year: Int
    /// 1 to 12.
    package let month: Int
    /// 1 to 31.
    package let day: Int

    /// The day, or nil if it does not exist: 2023-02-29, 2024-00-01, a year of five digits.
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
        // Eras of 400 years that begin in March: the leap day comes last, so months have fixed starts.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    /// Days from 1970-01-01 to this day; negative before.
    package var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// The day of the week: 0 is Sunday.
    package var weekday: Int { ((daysSince1970 + 4) % 7 + 7) % 7 }

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

    /// ISO 8601: `2024-01-31`.
    package var description: String { "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))" }
}
