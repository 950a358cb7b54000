/// A 128-bit identifier of one kind of journal entry, independent of its text: the journal's MESSAGE_ID field. See
/// sd-id128(3) and systemd.journal-fields(7).
public struct MessageID: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// An identifier from its halves, the first 16 hexadecimal digits first.
    public init(_ high: UInt64, _ low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses 32 hexadecimal digits, also with the hyphens of a UUID; nil for other text.
    public init?(_ text: String) {
        let digits = Array(text.utf8)
        let plain: [UInt8]
        switch digits.count {
        case 32: plain = digits
        case 36:
            guard [8, 13, 18, 23].allSatisfy({ digits[$0] == UInt8(ascii: "-") }) else { return nil }
            plain = digits.filter { $0 != UInt8(ascii: "-") }
        default: return nil
        }
        guard plain.count == 32, plain.allSatisfy(Self.isHexadecimalDigit) else { return nil }
        guard let high = UInt64(String(decoding: plain.prefix(16), as: UTF8.self), radix: 16),
            let low = UInt64(String(decoding: plain.suffix(16), as: UTF8.self), radix: 16)
        else { return nil }
        self.init(high, low)
    }

    /// 32 hexadecimal digits in lower case, as for `journalctl MESSAGE_ID=…`.
    public var description: String { Self.sixteenDigits(high) + Self.sixteenDigits(low) }

    private static func sixteenDigits(_ half: UInt64) -> String {
        let digits = String(half, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    // UInt64(_:radix:) would accept a sign.
    private static func isHexadecimalDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }
}
