import Filing
import LinuxKernel

/// A hash of some blocks of a file: its beginning, its end, and three in between. Photos of one size, whose times are
/// equal because a camera's clock restarts each day, differ there; reading them costs little more than the seeks.
struct ImportSample: Hashable, Sendable {
    /// Hexadecimal.
    let text: String

    /// A stored sample; nil if `text` is not one.
    init?(_ text: Substring) {
        let areDigits = text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard text.utf8.count == Self.digits, areDigits else { return nil }
        self.text = String(text)
    }

    /// Reads the blocks.
    init(of file: borrowing OwnedDescriptor, size: UInt64) throws(SystemCallError) {
        var hasher = ContentHasher()
        let tail = size > UInt64(Self.block) ? size - UInt64(Self.block) : 0
        var places: [(offset: UInt64, length: Int)] = [(0, Self.head)]
        if size > UInt64(Self.head) {
            places += (1...3).map { (size / 4 * UInt64($0) / 4_096 * 4_096, Self.block) } + [(tail, Self.block)]
        }
        for (offset, length) in places {
            try file.read(length, at: offset).withUnsafeBytes { hasher.update($0) }
        }
        text = String(hasher.hash().description.prefix(Self.digits))
    }

    private static let head = 32 << 10
    private static let block = 4 << 10
    private static let digits = 32
}
