/// `number` with commas between thousands: `1,048,576`.
package func grouped(_ number: some BinaryInteger) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
        text.append(digit)
    }
    return text
}

/// `count` bytes in words: `1 byte`, `1,048,576 bytes`.
package func byteCount(_ count: UInt64) -> String { count == 1 ? "1 byte" : "\(grouped(count)) bytes" }

extension Collection<UInt8> {
    /// Whether these bytes begin with the ASCII bytes of `text`.
    package func begins(with text: StaticString) -> Bool {
        text.withUTF8Buffer { prefix in starts(with: prefix) }
    }

    /// Whether these bytes are exactly the ASCII bytes of `text`.
    package func equals(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { other in elementsEqual(other) }
    }
}
