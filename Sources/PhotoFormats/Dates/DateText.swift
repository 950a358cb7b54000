package import FileValues

/// A parsed date: EXIF (`2024:01:31 12:34:56`), ISO 8601 (`2024-01-31T12:34:56.78+01:00`) and mixtures, which cameras
/// write.
package struct DateText: Equatable {
    package let local: CivilDateTime
    /// Seconds east of UTC, if given.
    package let offset: Int32?
    /// Whether a time of day is given; if not, `local` is midnight.
    package let hasTime: Bool
    /// What was read otherwise than it is written, as a clause for people.
    package var remark: String?

    package init(local: CivilDateTime, offset: Int32?, hasTime: Bool, remark: String? = nil) {
        (self.local, self.offset, self.hasTime, self.remark) = (local, offset, hasTime, remark)
    }

    /// The reason why a text is not a date.
    package enum Refusal: Error, Equatable {
        case blank, unreadable, zero, noSuchDay, noSuchTime

        /// For people, after the text itself.
        var words: String {
            switch self {
            case .blank: "is blank"
            case .unreadable: "is no date"
            case .zero: "was never set"
            case .noSuchDay: "names a day that does not exist"
            case .noSuchTime: "names a time that does not exist"
            }
        }
    }

    /// Parses `bytes`; throws the reason if they are not a date. Text after a complete date and time is ignored.
    package static func parse(_ bytes: some Collection<UInt8>) throws(Refusal) -> DateText {
        var scanner = DigitScanner(bytes)
        scanner.skipSpaces()
        if scanner.isAtEnd || bytes.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ":") || $0 == 0 }) {
            throw .blank
        }
        if let first = scanner.peek, first | 0x20 >= UInt8(ascii: "a") || scanner.isDayOfMonth {
            return try parseRFC1123(&scanner)
        }
        guard let year = scanner.number(digits: 4), scanner.skip(oneOf: ":-/."), let month = scanner.number(digits: 2),
            scanner.skip(oneOf: ":-/."), let day = scanner.number(digits: 2)
        else { throw .unreadable }
        if year == 0, month == 0, day == 0 { throw .zero }
        guard let date = CivilDate(year: year, month: month, day: day) else { throw .noSuchDay }
        guard scanner.skip(oneOf: " T_"), let hour = scanner.number(digits: 2), scanner.skip(oneOf: ":.-"),
            let minute = scanner.number(digits: 2)
        else {
            guard let midnight = CivilDateTime(date) else { throw .noSuchDay }
            return DateText(local: midnight, offset: nil, hasTime: false)
        }
        var second = 0
        var nanosecond = 0
        var remark: String?
        if scanner.skip(oneOf: ":.-") {
            guard let number = scanner.number(digits: 2) else { throw .noSuchTime }
            // Some cameras count on: the minute is right all the same.
            second = number <= 60 ? number : 0
            if number > 60 { remark = "its second \(number) does not exist" }
            if scanner.skip(oneOf: ".,") { nanosecond = scanner.fraction() }
        }
        guard let local = CivilDateTime(date, hour: hour, minute: minute, second: second, nanosecond: nanosecond)
        else { throw .noSuchTime }
        return DateText(local: local, offset: scanner.offset(), hasTime: true, remark: remark)
    }

    /// `Sun, 07 Jan 2024 10:11:12 +0100`, which PNG recommends. RFC 1123, 5.2.14.
    private static func parseRFC1123(_ scanner: inout DigitScanner) throws(Refusal) -> DateText {
        let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        _ = scanner.word()
        _ = scanner.skip(oneOf: ",")
        scanner.skipSpaces()
        guard let day = scanner.number(upTo: 2), scanner.skip(oneOf: " -"), let month = scanner.word(),
            let index = months.firstIndex(of: String(month.prefix(3))), scanner.skip(oneOf: " -"),
            let year = scanner.number(digits: 4)
        else { throw .unreadable }
        guard let date = CivilDate(year: year, month: index + 1, day: day), let midnight = CivilDateTime(date) else {
            throw .noSuchDay
        }
        guard scanner.skip(oneOf: " "), let hour = scanner.number(digits: 2), scanner.skip(oneOf: ":"),
            let minute = scanner.number(digits: 2)
        else { return DateText(local: midnight, offset: nil, hasTime: false) }
        let second = scanner.skip(oneOf: ":") ? scanner.number(digits: 2) : 0
        guard let local = CivilDateTime(date, hour: hour, minute: minute, second: second ?? 0) else {
            throw .noSuchTime
        }
        scanner.skipSpaces()
        let offset =
            scanner.peek.map { $0 | 0x20 } == UInt8(ascii: "g") || scanner.peek.map { $0 | 0x20 } == UInt8(ascii: "u")
            ? 0 : scanner.offset()
        return DateText(local: local, offset: offset, hasTime: true)
    }

    /// An EXIF offset (`+01:00`, `Z`) as seconds east of UTC; nil if malformed or beyond 15 hours.
    package static func parseOffset(_ bytes: some Collection<UInt8>) -> Int32? {
        var scanner = DigitScanner(bytes)
        return scanner.offset()
    }

    /// EXIF's fraction of a second (`78` is 0.78 s) in nanoseconds; nil without a digit.
    package static func parseFraction(_ bytes: some Collection<UInt8>) -> Int? {
        var scanner = DigitScanner(bytes)
        scanner.skipSpaces()
        guard let first = scanner.peek, first.isASCIIDigit else { return nil }
        return scanner.fraction()
    }
}

/// Parses numbers and separators from the front of a text.
package struct DigitScanner {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: some Collection<UInt8>) { rest = Array(bytes.prefix(64))[...] }

    package var isAtEnd: Bool { rest.isEmpty }
    package var peek: UInt8? { rest.first }

    package mutating func skipSpaces() {
        while rest.first == UInt8(ascii: " ") { rest.removeFirst() }
    }

    /// Skips one byte if it is one of `separators`.
    package mutating func skip(oneOf separators: StaticString) -> Bool {
        guard let first = rest.first, separators.withUTF8Buffer({ $0.contains(first) }) else { return false }
        rest.removeFirst()
        return true
    }

    /// Parses exactly `digits` digits; consumes nothing if there are fewer.
    package mutating func number(digits: Int) -> Int? {
        let taken = rest.prefix(digits)
        guard digits > 0, taken.count == digits, taken.allSatisfy(\.isASCIIDigit) else { return nil }
        rest.removeFirst(digits)
        return taken.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Whether one or two digits and a space come next.
    package var isDayOfMonth: Bool {
        let digits = rest.prefix(3).prefix(while: \.isASCIIDigit)
        return (1...2).contains(digits.count) && rest.dropFirst(digits.count).first == UInt8(ascii: " ")
    }

    /// Parses the letters that come next, in lower case; nil if there are none.
    package mutating func word() -> String? {
        let letters = rest.prefix { (0x61...0x7A).contains($0 | 0x20) }
        rest = rest[letters.endIndex...]
        return letters.isEmpty ? nil : String(decoding: letters.map { $0 | 0x20 }, as: UTF8.self)
    }

    /// Parses at least one digit and at most `most`.
    package mutating func number(upTo most: Int) -> Int? {
        number(digits: rest.prefix(most).prefix(while: \.isASCIIDigit).count)
    }

    /// Parses all digits as a decimal fraction, in billionths.
    package mutating func fraction() -> Int {
        var value = 0
        var unit = 100_000_000
        while let byte = rest.first, byte.isASCIIDigit {
            value += Int(byte - 0x30) * unit
            unit /= 10
            rest.removeFirst()
        }
        return value
    }

    /// Parses `Z`, `+01:00`, `+0100` or `-03`.
    package mutating func offset() -> Int32? {
        skipSpaces()
        if skip(oneOf: "Z") { return 0 }
        let negative = rest.first == UInt8(ascii: "-")
        guard skip(oneOf: "+-"), let hours = number(digits: 2) else { return nil }
        _ = skip(oneOf: ":")
        let minutes = number(digits: 2) ?? 0
        guard hours <= 15, minutes <= 59 else { return nil }
        let seconds = Int32(hours * 3_600 + minutes * 60)
        return negative ? -seconds : seconds
    }
}
