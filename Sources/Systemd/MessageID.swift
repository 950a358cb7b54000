import FileValues

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
        var digits = Array(text.utf8)
        if digits.count == 36, [8, 13, 18, 23].allSatisfy({ digits[$0] == UInt8(ascii: "-") }) {
            digits.removeAll { $0 == UInt8(ascii: "-") }
        }
        guard digits.count == 32, let bytes = bytes(ofHexadecimal: digits) else { return nil }
        let halves = [bytes[..<8], bytes[8...]].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        self.init(halves[0], halves[1])
    }

    /// 32 hexadecimal digits in lower case, as for `journalctl MESSAGE_ID=…`.
    public var description: String { padded(high, 16, radix: 16) + padded(low, 16, radix: 16) }
}
