public import FileValues

/// A name in a directory, as a fanotify record has it; the name is valid only as long as the buffer it was read into.
public struct FanotifyEntry {
    /// The directory.
    public let directory: DirectoryHandle
    /// The name in it; empty if the record is about the directory itself.
    public let name: UnsafeRawBufferPointer

    /// The name, copied out of the buffer.
    public var copiedName: BytePath { BytePath(name) }
}

/// One record of a fanotify group, seen in the buffer it was read into: valid only as long as that buffer.
public struct FanotifyRecord {
    /// What happened; several bits if the kernel merged what one process did to one name.
    public let mask: FanotifyMask
    /// The process that did it, in this process's namespace; 0 if it is not in there, or for an overflow.
    public let process: Int32
    /// Where; of a rename the old place. Nil for an overflow, and where the handle is not one that this project keeps.
    public let entry: FanotifyEntry?
    /// The new place of a rename.
    public let target: FanotifyEntry?
}

/// The records of one read, walked in the raw buffer.
///
/// Whole records only, as the kernel writes them; bytes that are none end the sequence, and nothing beyond the buffer is
/// ever touched, whatever the lengths in it say.
public struct FanotifyRecords: RecordSequence {
    private let buffer: UnsafeRawBufferPointer

    /// The records in `buffer`, which must outlive this value and all that it gives.
    public init(_ buffer: UnsafeRawBufferPointer) { self.buffer = buffer }

    /// See ``FanotifyGroup/smallestBuffer``.
    public static var smallestBuffer: Int { FanotifyGroup.smallestBuffer }

    /// From the first to the last.
    public func makeIterator() -> Iterator { Iterator(buffer) }

    /// Walks the buffer record by record.
    public struct Iterator: IteratorProtocol {
        private let buffer: UnsafeRawBufferPointer
        /// Where the next record begins, in bytes.
        public private(set) var position = 0

        fileprivate init(_ buffer: UnsafeRawBufferPointer) { self.buffer = buffer }

        /// The next record, or nil at the end.
        public mutating func next() -> FanotifyRecord? {
            guard buffer.count - position >= metadataSize else { return nil }
            let record = UnsafeRawBufferPointer(rebasing: buffer[position...])
            let length = Int(record.loadUnaligned(as: UInt32.self))
            let start = Int(record.loadUnaligned(fromByteOffset: 6, as: UInt16.self))
            guard record[4] == metadataVersion, start >= metadataSize, length >= start, length <= record.count
            else { return nil }
            position += length
            return Self.parse(UnsafeRawBufferPointer(rebasing: record[..<length]), from: start)
        }

        /// One record: u32 length, u8 version, u8, u16 metadata length, u64 mask, i32 descriptor, i32 pid; then info
        /// records: u8 type, u8, u16 length.
        private static func parse(_ record: UnsafeRawBufferPointer, from start: Int) -> FanotifyRecord {
            var entry: FanotifyEntry?
            var target: FanotifyEntry?
            var rest = UnsafeRawBufferPointer(rebasing: record[start...])
            while rest.count >= infoHeaderSize {
                let length = Int(rest.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
                guard length >= infoHeaderSize, length <= rest.count else { break }
                let info = UnsafeRawBufferPointer(rebasing: rest[infoHeaderSize..<length])
                switch rest[0] {
                case InfoType.directoryAndName, InfoType.directory, InfoType.oldDirectoryAndName: entry = place(info)
                case InfoType.newDirectoryAndName: target = place(info)
                default: break
                }
                rest = UnsafeRawBufferPointer(rebasing: rest[length...])
            }
            return FanotifyRecord(
                mask: FanotifyMask(rawValue: record.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
                process: record.loadUnaligned(fromByteOffset: 20, as: Int32.self), entry: entry, target: target)
        }

        /// u64 file system, u32 handle length, i32 handle type, the handle, the name up to its NUL.
        private static func place(_ info: UnsafeRawBufferPointer) -> FanotifyEntry? {
            guard info.count >= handleHeaderSize else { return nil }
            let count = Int(info.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
            guard count <= info.count - handleHeaderSize else { return nil }
            let end = handleHeaderSize + count
            let handle = DirectoryHandle(
                fileSystem: info.loadUnaligned(as: UInt64.self),
                type: info.loadUnaligned(fromByteOffset: 12, as: Int32.self),
                bytes: UnsafeRawBufferPointer(rebasing: info[handleHeaderSize..<end]))
            guard let handle else { return nil }
            var name = UnsafeRawBufferPointer(rebasing: info[end...])
            if let nul = name.firstIndex(of: 0) { name = UnsafeRawBufferPointer(rebasing: name[..<nul]) }
            // What the kernel calls the directory itself; no entry that an event can be about has this name.
            let isSelf = name.count == 1 && name[0] == UInt8(ascii: ".")
            return FanotifyEntry(
                directory: handle, name: isSelf ? UnsafeRawBufferPointer(start: nil, count: 0) : name)
        }
    }
}

/// `FANOTIFY_METADATA_VERSION`.
private let metadataVersion: UInt8 = 3
/// `sizeof(struct fanotify_event_metadata)`.
private let metadataSize = 24
/// `sizeof(struct fanotify_event_info_header)`.
private let infoHeaderSize = 4
/// Up to the handle's bytes: file system, `struct file_handle`.
private let handleHeaderSize = 16

/// `FAN_EVENT_INFO_TYPE_…`.
private enum InfoType {
    static let directoryAndName: UInt8 = 2
    static let directory: UInt8 = 3
    static let oldDirectoryAndName: UInt8 = 10
    static let newDirectoryAndName: UInt8 = 12
}
