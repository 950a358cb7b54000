/// Bytes that can be read at any offset: a file under pread(2), or an array in a test.
///
/// Read by one thread at a time. May be move-only, so that a source can own its descriptor.
package protocol ByteSource: ~Copyable {
    /// The size in bytes, as it was when reading began. Readers never ask beyond it.
    var size: UInt64 { get }

    /// Reads `count` bytes from `offset`; fewer only where the bytes end.
    ///
    /// Throws for what the file system refuses (EIO, ESTALE …), never for content.
    mutating func read(at offset: UInt64, count: Int) throws(ByteSourceError) -> [UInt8]
}

/// A failed read: the file system's fault, not the content's, so nothing is decided about the photo.
package struct ByteSourceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The errno value, see errno(3); 0 where there is none.
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
