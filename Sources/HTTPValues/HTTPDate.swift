import FileValues

/// A time, in seconds since 1970, as `Date` has it: `Thu, 26 Nov 2026 05:00:00 GMT`. Nil before 1970 and after 9999.
package func httpDate(_ seconds: Int64) -> String? {
    guard seconds >= 0, let day = CivilDate(daysSince1970: Int(seconds / 86_400)) else { return nil }
    let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let rest = Int(seconds % 86_400)
    let clock = [rest / 3_600, rest / 60 % 60, rest % 60].map { padded($0, 2) }.joined(separator: ":")
    return
        "\(weekdays[day.weekday]), \(padded(day.day, 2)) \(months[day.month - 1]) \(padded(day.year, 4)) \(clock) GMT"
}
