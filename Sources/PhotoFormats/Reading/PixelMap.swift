/// A range of compressed pixels in a file, and the meaning of zeros in it.
package struct PixelRange: Equatable, Sendable {
    package enum Rule: Equatable, Sendable {
        /// The coding produces no long run of zeros: where there is one, the data is not written yet.
        case neverZeros
        /// A CRC-32 of these bytes follows them and decides.
        case checked
    }

    package let bytes: Range<UInt64>
    package let rule: Rule
}

/// The ranges found while reading, up to a limit. Data outside them may contain zeros: uncompressed pixels, padding,
/// unknown blocks.
struct PixelMap {
    /// More than any photo has; a film of several hours has more chunks, of which the first are kept.
    static let most = 65_536

    private(set) var ranges: [PixelRange] = []

    mutating func note(_ start: UInt64, _ end: UInt64, _ rule: PixelRange.Rule) {
        guard start < end, ranges.count < Self.most else { return }
        ranges.append(PixelRange(bytes: start..<end, rule: rule))
    }
}
