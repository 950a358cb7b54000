/// Bytes as two lower-case hexadecimal digits each, as sha256sum(1) prints them.
package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }
    var digits: [UInt8] = []
    digits.reserveCapacity(2 * bytes.underestimatedCount)
    for byte in bytes {
        digits.append(digit(byte >> 4))
        digits.append(digit(byte & 15))
    }
    return String(decoding: digits, as: UTF8.self)
}

/// Random bytes of the system's generator as hexadecimal digits, two for each.
package func randomHexadecimal(bytes count: Int) -> String {
    hexadecimal((0..<count).map { _ in UInt8.random(in: .min ... .max) })
}

/// The bytes that hexadecimal digits of either case denote; nil if malformed.
package func bytes(ofHexadecimal digits: some Collection<UInt8>) -> [UInt8]? {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    var high: UInt8?
    for digit in digits {
        let value: UInt8
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
        default: return nil
        }
        if let first = high {
            bytes.append(first << 4 | value)
            high = nil
        } else {
            high = value
        }
    }
    return bytes
}
