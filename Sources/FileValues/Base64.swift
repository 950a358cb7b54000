/// The bytes behind base64 with its padding; nil for anything else. See RFC 4648 4.
package func base64Decoded(_ text: some StringProtocol) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 4) else { return nil }
    let padding = digits.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    var bytes: [UInt8] = []
    var (bits, count): (UInt32, Int) = (0, 0)
    for digit in digits.dropLast(padding) {
        guard let value = base64Digits.firstIndex(of: digit) else { return nil }
        bits = bits << 6 | UInt32(value)
        count += 6
        if count >= 8 {
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
    }
    // What is left over is nothing, or a second text would mean the same.
    guard bits & (1 << UInt32(count) - 1) == 0 else { return nil }
    return bytes
}

/// The base64 of bytes, with its padding.
package func base64Encoded(_ bytes: some Collection<UInt8>) -> String {
    var digits: [UInt8] = []
    var (bits, count): (UInt32, Int) = (0, 0)
    for byte in bytes {
        bits = bits << 8 | UInt32(byte)
        count += 8
        while count >= 6 {
            count -= 6
            digits.append(base64Digits[Int(bits >> UInt32(count) & 63)])
        }
    }
    if count > 0 { digits.append(base64Digits[Int(bits << UInt32(6 - count) & 63)]) }
    while !digits.count.isMultiple(of: 4) { digits.append(UInt8(ascii: "=")) }
    return String(decoding: digits, as: UTF8.self)
}

private let base64Digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
