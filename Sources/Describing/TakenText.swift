/// A time of a table, normalised: `2026-11-21`, `2026-11-21T14:07:31`, with `Z` or `+01:00` if it has one. Accepts EXIF's
/// colons, slashes, a space for the T, times without seconds, and fractions, which are dropped.
struct TakenText {
    let bytes: [UInt8]

    init?(_ text: some Collection<UInt8>) {
        var rest = Array(text)[...]
        func number(_ digits: Int, _ range: ClosedRange<Int>) -> Int? {
            guard rest.count >= digits else { return nil }
            var value = 0
            for byte in rest.prefix(digits) {
                guard (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int(byte - 0x30)
            }
            rest = rest.dropFirst(digits)
            return range.contains(value) ? value : nil
        }
        func consume(_ choices: StaticString) -> UInt8? {
            guard let first = rest.first, choices.withUTF8Buffer({ $0.contains(first) }) else { return nil }
            rest = rest.dropFirst()
            return first
        }
        guard let year = number(4, 1...9999), let mark = consume("-:/"), let month = number(2, 1...12),
            consume("-:/") == mark,
            let day = number(2, 1...31), day <= Self.days(of: month, year)
        else { return nil }
        var text = Self.digits(year, 4) + [0x2D] + Self.digits(month, 2) + [0x2D] + Self.digits(day, 2)
        if rest.isEmpty {
            bytes = text
            return
        }
        guard consume("T ") != nil, let hour = number(2, 0...23), consume(":") != nil, let minute = number(2, 0...59)
        else {
            return nil
        }
        var second = 0
        if consume(":") != nil {
            guard let value = number(2, 0...60) else { return nil }
            second = min(value, 59)
            if consume(".,") != nil { rest = rest.drop { (0x30...0x39).contains($0) } }
        }
        text += [0x54]
        text += [hour, minute, second].map { Self.digits($0, 2) }.joined(separator: [0x3A])
        if consume("Z") != nil {
            text.append(0x5A)
        } else if let sign = consume("+-") {
            guard let hours = number(2, 0...18) else { return nil }
            _ = consume(":")
            guard let minutes = number(2, 0...59) else { return nil }
            text.append(sign)
            text += Self.digits(hours, 2) + [0x3A] + Self.digits(minutes, 2)
        }
        guard rest.isEmpty else { return nil }
        bytes = text
    }

    private static func digits(_ value: Int, _ count: Int) -> [UInt8] {
        var (value, digits) = (value, [UInt8](repeating: 0x30, count: count))
        for place in digits.indices.reversed() {
            digits[place] += UInt8(value % 10)
            value /= 10
        }
        return digits
    }

    private static func days(of month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
