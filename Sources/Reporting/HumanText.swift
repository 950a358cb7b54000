import FileValues

/// Numbers for people. Pure; the same in every locale, like all our output.
package enum HumanText {
    /// `61,204`.
    package static func count(_ number: some BinaryInteger) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return number < 0 ? "-" + text : text
    }

    /// `1 photo`, `61,204 photos`.
    package static func count(_ number: some BinaryInteger, _ one: String, _ many: String) -> String {
        "\(count(number)) \(number == 1 ? one : many)"
    }

    /// `0 B`, `3.1 MB`, `612 GB`: powers of ten, as on the boxes of disks; rounded down, so that it never shows more space
    /// than there is.
    package static func bytes(_ number: UInt64) -> String {
        let unit = byteUnit(of: number)
        return "\(scaled(number, unit)) \(byteUnits[unit])"
    }

    /// `88/214 GB`: both in the unit of the second.
    package static func bytes(_ part: UInt64, of whole: UInt64) -> String {
        let unit = byteUnit(of: whole)
        return "\(scaled(part, unit))/\(scaled(whole, unit)) \(byteUnits[unit])"
    }

    /// `8 s`, `14 min`, `3 h`, `12 days`, `5 months`, `2 years`: one number, rounded down. Negative counts as zero,
    /// since clocks can be set back.
    package static func age(_ seconds: Int64) -> String {
        switch max(0, seconds) {
        case let age where age < 120: "\(age) s"
        case let age where age < 120 * minute: "\(age / minute) min"
        case let age where age < 48 * hour: "\(age / hour) h"
        case let age where age < 90 * day: "\(age / day) days"
        case let age where age < 2 * year: "\(age / month) months"
        case let age: "\(count(age / year)) years"
        }
    }

    /// `8 s`, `51 m`, `3 h`, `2 d`: for lines with little space; rounded up, since it is a waiting time.
    package static func shortWait(_ seconds: Int64) -> String {
        let up = { (unit: Int64) in (max(0, seconds) - 1) / unit + 1 }
        return switch max(0, seconds) {
        case 0: "0 s"
        case let wait where wait <= 90: "\(wait) s"
        case let wait where wait <= 90 * minute: "\(up(minute)) m"
        case let wait where wait <= 36 * hour: "\(up(hour)) h"
        default: "\(count(up(day))) d"
        }
    }

    /// `480 ns`, `17 µs`, `1.2 ms`, `3.4 s`: a duration.
    package static func elapsed(nanoseconds: UInt64) -> String {
        let units: [(UInt64, String)] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "µs")]
        for (size, name) in units where nanoseconds >= size {
            let whole = nanoseconds / size
            if whole >= 10 { return "\(count(whole)) \(name)" }
            return "\(whole).\(nanoseconds % size * 10 / size) \(name)"
        }
        return "\(nanoseconds) ns"
    }

    /// `-12.50`: rounded to `places` digits behind the point. Numbers of more than 15 digits are `large`.
    package static func decimal(_ number: Double, places: Int) -> String {
        var unit: Int64 = 1
        for _ in 0..<places { unit *= 10 }
        let scaled = (number * Double(unit)).rounded()
        guard abs(scaled) < 1e15 else { return "large" }
        let (whole, rest) = Int64(abs(scaled)).quotientAndRemainder(dividingBy: unit)
        let fraction = places == 0 ? "" : "." + padded(rest, places)
        return (scaled < 0 ? "-" : "") + "\(whole)" + fraction
    }

    private static let minute: Int64 = 60
    private static let hour: Int64 = 3600
    private static let day: Int64 = 86_400
    private static let month: Int64 = 2_629_746
    private static let year: Int64 = 31_556_952

    private static let byteUnits = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]

    private static func byteUnit(of number: UInt64) -> Int {
        var unit = 0
        var rest = number
        while rest >= 1000 {
            rest /= 1000
            unit += 1
        }
        return unit
    }

    /// One digit behind the point below ten, unless it is a zero.
    private static func scaled(_ number: UInt64, _ unit: Int) -> String {
        var size: UInt64 = 1
        for _ in 0..<unit { size *= 1000 }
        let whole = number / size
        guard unit > 0, whole < 10 else { return count(whole) }
        let tenth = number % size / (size / 10)
        return tenth == 0 ? "\(whole)" : "\(whole).\(tenth)"
    }
}
