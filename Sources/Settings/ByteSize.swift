/// A number of bytes as it is written in the configuration: `512K`, `200M`, `1G`, `2T`, or a plain number; in powers of
/// 1024, like du(1) and df(1).
package struct ByteSize: Hashable, Sendable {
    package let bytes: UInt64

    package init(bytes: UInt64) { self.bytes = bytes }

    /// Reads digits and at most one unit, a capital or a small letter; nil for any other text, and for sizes that are too large.
    package init?(_ text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = UInt64(digits), let shift = Self.units[text.dropFirst(digits.count).uppercased()] else {
            return nil
        }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: 1 << shift)
        if overflow || bytes > UInt64(Int64.max) { return nil }
        self.bytes = bytes
    }

    private static let units: [String: UInt64] = ["": 0, "K": 10, "M": 20, "G": 30, "T": 40]
}

extension ByteSize: CustomStringConvertible {
    /// The shortest text that reads back as the same size.
    package var description: String {
        for (unit, shift) in [("T", 40), ("G", 30), ("M", 20), ("K", 10)] as [(String, UInt64)]
        where bytes >= 1 << shift && bytes & ((1 << shift) - 1) == 0 {
            return "\(bytes >> shift)\(unit)"
        }
        return "\(bytes)"
    }
}
