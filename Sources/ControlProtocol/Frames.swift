/// A refused frame; what follows cannot be read either.
package struct FrameRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    package let length: Int
    /// The longest frame, in bytes.
    package let limit: Int

    package var description: String {
        length == 0 ? "an empty frame" : "a frame of \(length) bytes; at most \(limit) are accepted"
    }
}

/// Splits a stream of bytes into frames: a big-endian length of four bytes, then as many bytes. A value without I/O.
package struct FrameReader: Sendable {
    /// The bytes of a length.
    static let header = 4

    private let limit: Int
    private var bytes: [UInt8] = []
    private var start = 0

    /// Frames longer than `limit` bytes are refused as soon as their length is known.
    package init(limit: Int) { self.limit = limit }

    /// Whether a frame is incomplete.
    package var isInside: Bool { start < bytes.count }

    package mutating func add(_ more: [UInt8]) {
        // Returned frames are removed once they are more than half.
        if start > bytes.count / 2 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes += more
    }

    /// The content of the next whole frame; nil until more bytes arrive.
    package mutating func next() throws(FrameRefusal) -> [UInt8]? {
        guard bytes.count - start >= Self.header else { return nil }
        let length = bytes[start..<start + Self.header].reduce(0) { $0 << 8 | Int($1) }
        guard (1...limit).contains(length) else { throw FrameRefusal(length: length, limit: limit) }
        guard bytes.count - start - Self.header >= length else { return nil }
        start += Self.header + length
        return Array(bytes[start - length..<start])
    }
}

/// `content` as one frame. It must not be empty.
package func framed(_ content: [UInt8]) -> [UInt8] {
    let length = UInt32(content.count)
    return [UInt8(length >> 24), UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255)] + content
}
