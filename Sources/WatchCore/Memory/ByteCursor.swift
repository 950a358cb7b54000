/// Reads little-endian values from bytes that may be anything; never beyond their end.
package struct ByteCursor {
    private let bytes: UnsafeRawBufferPointer
    package private(set) var position = 0

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package var isAtEnd: Bool { position == bytes.count }

    /// How many bytes are left.
    package var rest: Int { bytes.count - position }

    package mutating func read<Value: FixedWidthInteger & BitwiseCopyable>(
        _ type: Value.Type = Value.self
    ) throws(WatchMemoryError) -> Value {
        guard rest >= MemoryLayout<Value>.size else { throw WatchMemoryError(.length) }
        defer { position += MemoryLayout<Value>.size }
        return Value(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: Value.self))
    }

    /// The next `count` bytes, valid as long as those that are read from.
    package mutating func read(count: Int) throws(WatchMemoryError) -> UnsafeRawBufferPointer {
        guard count >= 0, rest >= count else { throw WatchMemoryError(.length) }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }
}

extension [UInt8] {
    /// Adds a value, little endian.
    package mutating func append<Value: FixedWidthInteger>(littleEndian value: Value) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}

/// Runs a body with typed errors over the bytes of an array.
package func withBytes<R, E: Error>(of bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    // The array's own call rethrows untyped, so the result is carried out of it.
    let result: Result<R, E> = bytes.withUnsafeBytes { buffer in
        do throws(E) { return .success(try body(buffer)) } catch { return .failure(error) }
    }
    return try result.get()
}
