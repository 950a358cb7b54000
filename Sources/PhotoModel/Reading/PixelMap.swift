/// A part of a file that holds compressed pixels, and what zeros in it mean.
package struct PixelRange: Equatable, Sendable {
    package enum Rule: Equatable, Sendable {
        /// What is coded so has no long run of zeros: where one is, nothing was written yet.
        case neverZeros
        /// A CRC-32 of these bytes follows on them, which decides.
        case checked
    }

    package let bytes: Range<UInt64>
    package let rule: Rule
}

/// The ranges that a walk comes past, as many as are kept. What lies outside them, or beyond the bound, may be zeros for all
/// that is known: uncompressed pixels, padding, other people's blocks.
struct PixelMap {
    /// More than any photo has; a film of some hours has more chunks, of which the first are kept.
    static let most = 65_536

    private(set) var ranges: [PixelRange] = []

    mutating func note(_ start: UInt64, _ end: UInt64, _ rule: PixelRange.Rule) {
        guard start < end, ranges.count < Self.most else { return }
        ranges.append(PixelRange(bytes: start..<end, rule: rule))
    }
}
