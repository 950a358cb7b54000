/// Bytes that can be read at any offset: a file through pread(2), or an array in a test.
///
/// For one thread at a time. May be move-only, so that a source can own its descriptor.
package protocol ByteSource: ~Copyable {
    /// The size in bytes when reading began. Readers do not read beyond it.
    var size: UInt64 { get }

    /// Reads `count` bytes from `offset`; fewer only at the end.
    ///
    /// Throws errors of the file system (EIO, ESTALE …), never because of the content.
    mutating func read(at offset: UInt64, count: Int) throws(ByteSourceError) -> [UInt8]
}

/// A failed read, by the file system and not the content, so that the photo is not judged by it.
package struct ByteSourceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The errno value, see errno(3); 0 if there is none.
    package let code: Int32
    /// One sentence for people, such as "Input/output error".
    package let description: String

    /// An error from its two parts.
    package init(code: Int32, description: String) {
        self.code = code
        self.description = description
    }
}

/// A ``ByteSource`` over an array.
package struct MemoryByteSource: ByteSource {
    private let bytes: [UInt8]

    /// A source over `bytes`, which are shared, not copied.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The number of bytes.
    package var size: UInt64 { UInt64(bytes.count) }

    /// The bytes from `offset`; empty beyond the end. Never throws.
    package mutating func read(at offset: UInt64, count: Int) throws(ByteSourceError) -> [UInt8] {
        guard count > 0, offset < UInt64(bytes.count) else { return [] }
        let start = Int(offset)
        return Array(bytes[start..<(start + min(count, bytes.count - start))])
    }
}
