import FileValues

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
            consume("-:/") == mark, let day = number(2, 1...31),
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        if rest.isEmpty {
            bytes = Array("\(date)".utf8)
            return
        }
        guard consume("T ") != nil, let hour = number(2, 0...23), consume(":") != nil, let minute = number(2, 0...59)
        else {
            return nil
        }
        var second = 0
        if consume(":") != nil {
            guard let value = number(2, 0...60) else { return nil }
            second = value
            if consume(".,") != nil { rest = rest.drop { (0x30...0x39).contains($0) } }
        }
        guard let time = CivilDateTime(date, hour: hour, minute: minute, second: second) else { return nil }
        var text = "\(date)T\(time.clock)"
        if consume("Z") != nil {
            text += "Z"
        } else if let sign = consume("+-") {
            guard let hours = number(2, 0...18) else { return nil }
            _ = consume(":")
            guard let minutes = number(2, 0...59) else { return nil }
            text += "\(Unicode.Scalar(sign))\(padded(hours, 2)):\(padded(minutes, 2))"
        }
        guard rest.isEmpty else { return nil }
        bytes = Array(text.utf8)
    }
}
