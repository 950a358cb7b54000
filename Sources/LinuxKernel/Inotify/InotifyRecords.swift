public import FileValues
import Glibc

/// One record of an inotify queue, a view of its buffer: valid only as long as the buffer.
public struct InotifyRecord {
    /// The watch descriptor; −1 for an overflow.
    public let watch: Int32
    /// What happened.
    public let mask: InotifyMask
    /// Connects the two records of a rename; 0 otherwise.
    public let cookie: UInt32
    /// The entry's name without its padding; empty if the record concerns the watched directory itself.
    public let name: UnsafeRawBufferPointer

    /// The name, copied out of the buffer.
    public var copiedName: BytePath { BytePath(name) }
}

/// The records of one read, parsed in the raw buffer: copying `struct inotify_event` would lose the names.
///
/// The kernel writes whole records; malformed bytes end the sequence.
public struct InotifyRecords: Sequence {
    private let buffer: UnsafeRawBufferPointer

    /// The records in `buffer`, which must outlive this value and its records.
    public init(_ buffer: UnsafeRawBufferPointer) { self.buffer = buffer }

    /// `sizeof(struct inotify_event)`: i32 wd, u32 mask, u32 cookie, u32 len; the name follows, padded.
    public static let headerSize = 16

    /// Their size in bytes.
    public var byteCount: Int { buffer.count }

    /// An iterator over the records in order.
    public func makeIterator() -> Iterator { Iterator(buffer) }

    /// Parses the buffer record by record.
    public struct Iterator: IteratorProtocol {
        private let buffer: UnsafeRawBufferPointer
        private var position = 0

        fileprivate init(_ buffer: UnsafeRawBufferPointer) { self.buffer = buffer }

        /// The next record, or nil at the end.
        public mutating func next() -> InotifyRecord? {
            guard buffer.count - position >= InotifyRecords.headerSize else { return nil }
            let padded = Int(buffer.loadUnaligned(fromByteOffset: position + 12, as: UInt32.self))
            let start = position + InotifyRecords.headerSize
            guard padded <= buffer.count - start else { return nil }
            let field = UnsafeRawBufferPointer(rebasing: buffer[start..<(start + padded)])
            let length = field.baseAddress.map { strnlen($0.assumingMemoryBound(to: CChar.self), padded) } ?? 0
            defer { position = start + padded }
            return InotifyRecord(
                watch: buffer.loadUnaligned(fromByteOffset: position, as: Int32.self),
                mask: InotifyMask(rawValue: buffer.loadUnaligned(fromByteOffset: position + 4, as: UInt32.self)),
                cookie: buffer.loadUnaligned(fromByteOffset: position + 8, as: UInt32.self),
                name: UnsafeRawBufferPointer(rebasing: field[..<length]))
        }
    }
}
