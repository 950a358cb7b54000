/// A local time of every day or of one weekday: `03:00`, `sun 03:00`.
package struct TimeOfDay: Hashable, Sendable {
    /// Days of the week, numbered as `tm_wday` is; see localtime(3).
    package enum Weekday: Int, CaseIterable, Hashable, Sendable {
        case sunday, monday, tuesday, wednesday, thursday, friday, saturday
    }

    /// Nil for every day.
    package let weekday: Weekday?
    /// 0 to 23.
    package let hour: Int
    /// 0 to 59.
    package let minute: Int

    /// Reads `HH:MM`, optionally after a day's name or its first three letters; nil for anything else.
    package init?(_ text: String) {
        let words = text.lowercased().split(separator: " ").map(String.init)
        guard let clock = words.last, words.count <= 2 else { return nil }
        if words.count == 2 {
            let name = words[0]
            guard let day = Weekday.allCases.first(where: { "\($0)" == name || "\($0)".prefix(3) == name }) else {
                return nil
            }
            weekday = day
        } else {
            weekday = nil
        }
        let parts = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2,
            parts.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let hour = Int(parts[0]), let minute = Int(parts[1]), hour < 24, minute < 60
        else { return nil }
        self.hour = hour
        self.minute = minute
    }
}

extension TimeOfDay: CustomStringConvertible {
    /// `sun 03:00`.
    package var description: String {
        let two = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        return (weekday.map { "\($0)".prefix(3) + " " } ?? "") + two(hour) + ":" + two(minute)
    }
}
