/// A length of time as it is written in the configuration: `500ms`, `5s`, `2m`, `1h30m`, `7d`.
///
/// Whole milliseconds, never negative, at most ten years; so sums with clock readings do not overflow.
package struct TimeSpan: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    /// Clamped to the possible range.
    package init(milliseconds: Int64) { self.milliseconds = min(max(0, milliseconds), Self.limit) }

    package static func seconds(_ count: Int64) -> TimeSpan {
        let (product, overflow) = count.multipliedReportingOverflow(by: 1000)
        return TimeSpan(milliseconds: overflow ? (count < 0 ? 0 : limit) : product)
    }

    package var duration: Duration { .milliseconds(milliseconds) }

    package static func < (left: TimeSpan, right: TimeSpan) -> Bool { left.milliseconds < right.milliseconds }

    /// Reads the form of ``description``: numbers with a unit each, from the largest unit down; nil for any other text.
    package init?(_ text: String) {
        var total: Int64 = 0
        var lastUnit = Self.units.startIndex - 1
        var rest = Substring(text)
        guard !rest.isEmpty else { return nil }
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let letters = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(letters.count)
            guard let count = Int64(digits), let unit = Self.units.firstIndex(where: { $0.name == letters }),
                unit > lastUnit
            else { return nil }
            lastUnit = unit
            let (product, tooLarge) = count.multipliedReportingOverflow(by: Self.units[unit].milliseconds)
            guard !tooLarge, product <= Self.limit - total else { return nil }
            total += product
        }
        milliseconds = total
    }

    private static let units: [(name: String, milliseconds: Int64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
    ]
    private static let limit: Int64 = 3650 * 86_400_000
}

extension TimeSpan: CustomStringConvertible {
    /// The shortest text that reads back as the same span: `90m` is `1h30m`.
    package var description: String {
        var rest = milliseconds
        var text = ""
        for unit in Self.units where rest >= unit.milliseconds {
            text += "\(rest / unit.milliseconds)\(unit.name)"
            rest %= unit.milliseconds
        }
        return text.isEmpty ? "0s" : text
    }
}
