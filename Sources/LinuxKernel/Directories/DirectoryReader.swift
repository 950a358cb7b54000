import CLinux
public import FileValues
import Glibc

/// One entry of a directory listing.
public struct DirectoryEntry: Hashable, Sendable {
    /// Its name: any bytes but NUL and slash, at most 255 on common file systems.
    public let name: BytePath
    /// Its inode number; for a mount point, that of the covered directory.
    public let inode: UInt64
    /// Its kind; unknown if the file system does not store kinds in directories, so that stat(2) is needed.
    public let kind: FileKind

    /// An entry from its parts.
    public init(name: BytePath, inode: UInt64, kind: FileKind) {
        self.name = name
        self.inode = inode
        self.kind = kind
    }
}

/// Reads directories with getdents64(2) into one reused buffer.
///
/// Not `Sendable`. Concurrent readers of one directory need a descriptor each, because the position belongs to the
/// open file.
public final class DirectoryReader {
    private let buffer: UnsafeMutableRawBufferPointer

    /// A reader with a buffer of `capacity` bytes; 64 KiB hold some 2,000 camera names.
    public init(capacity: Int = 64 << 10) {
        buffer = .allocate(byteCount: max(capacity, 4096), alignment: 8)
    }

    deinit { buffer.deallocate() }

    /// Calls `body` with each entry of an open directory except `.` and `..`, in the file system's order.
    ///
    /// Entries created or removed meanwhile may be reported or not; each of the others is reported once. An error is
    /// thrown after the entries before it: entries missing from such a listing may exist.
    public func read(
        _ directory: borrowing OwnedDescriptor, _ body: (DirectoryEntry) -> Void
    ) throws(SystemCallError) {
        try readInPlace(directory) { name, inode, kind in
            body(DirectoryEntry(name: BytePath(name), inode: inode, kind: kind))
        }
    }

    /// The same without copying names: the bytes of a name, followed by a NUL, are valid only during the call.
    /// `isAtStart` saves the seek for a directory that was just opened.
    package func readInPlace(
        _ directory: borrowing OwnedDescriptor, isAtStart: Bool = false,
        _ body: (UnsafeRawBufferPointer, UInt64, FileKind) -> Void
    ) throws(SystemCallError) {
        if !isAtStart { try rewind(directory) }
        while true {
            let records = try next(directory)
            if records.isEmpty { return }
            Self.parse(records, body)
        }
    }

    /// The names in an open directory except `.` and `..`; nil if they are more than fit into the buffer.
    package func allNames(in directory: borrowing OwnedDescriptor) throws(SystemCallError) -> Set<BytePath>? {
        try rewind(directory)
        var names: Set<BytePath> = []
        Self.parse(try next(directory)) { name, _, _ in names.insert(BytePath(name)) }
        return try next(directory).isEmpty ? names : nil
    }

    private func rewind(_ directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        let descriptor = directory.raw
        try systemCall("lseek") { lseek(descriptor, 0, SEEK_SET) }
    }

    /// The next records of a directory; none at its end.
    private func next(_ directory: borrowing OwnedDescriptor) throws(SystemCallError) -> UnsafeRawBufferPointer {
        let descriptor = directory.raw
        let count = try systemCall("getdents64") {
            clinux_getdents64(descriptor, buffer.baseAddress, UInt64(buffer.count))
        }
        return UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)])
    }

    /// Parses the records of one read: u64 inode, i64 offset, u16 length, u8 type, then the name up to its NUL.
    static func parse(
        _ records: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, UInt64, FileKind) -> Void
    ) {
        var start = 0
        while records.count - start >= headerSize {
            let length = Int(records.loadUnaligned(fromByteOffset: start + 16, as: UInt16.self))
            guard length > headerSize, length <= records.count - start else { return }
            let first = start + headerSize
            var end = first
            while end < start + length, records[end] != 0 { end += 1 }
            // A record without its NUL is malformed.
            guard end < start + length else { return }
            let name = UnsafeRawBufferPointer(rebasing: records[first..<end])
            let isDots = name.count <= 2 && name.allSatisfy { $0 == UInt8(ascii: ".") }
            if !isDots {
                let kind = FileKind(directoryType: records[start + 18])
                body(name, records.loadUnaligned(fromByteOffset: start, as: UInt64.self), kind)
            }
            start += length
        }
    }

    private static let headerSize = 19
}

extension FileKind {
    /// The kind for `d_type` of a directory entry; see readdir(3).
    init(directoryType: UInt8) {
        switch Int(directoryType) {
        case DT_REG: self = .regular
        case DT_DIR: self = .directory
        case DT_LNK: self = .symbolicLink
        case DT_FIFO: self = .fifo
        case DT_SOCK: self = .socket
        case DT_CHR: self = .characterDevice
        case DT_BLK: self = .blockDevice
        default: self = .unknown
        }
    }
}
