import CLinux
public import FileValues
import Glibc

/// One entry of a directory, as the directory itself tells it.
public struct DirectoryEntry: Hashable, Sendable {
    /// Its name: any bytes but NUL and the slash, at most 255 of them on the file systems in use.
    public let name: BytePath
    /// Its inode number; that of the covered directory where something is mounted on it.
    public let inode: UInt64
    /// Its kind; unknown where the file system does not keep kinds in directories, so that it has to be asked for.
    public let kind: FileKind

    /// An entry from its parts.
    public init(name: BytePath, inode: UInt64, kind: FileKind) {
        self.name = name
        self.inode = inode
        self.kind = kind
    }
}

/// Reads directories with getdents64(2) into one buffer that is used again for each.
///
/// Not `Sendable`: it belongs to whoever lists. Readers of one directory at the same time need a descriptor each,
/// because the position belongs to the open file.
public final class DirectoryReader {
    private let buffer: UnsafeMutableRawBufferPointer

    /// A reader with a buffer of `capacity` bytes; 64 KiB hold some 2,000 camera names.
    public init(capacity: Int = 64 << 10) {
        buffer = .allocate(byteCount: max(capacity, 4096), alignment: 8)
    }

    deinit { buffer.deallocate() }

    /// Calls `body` with each entry of an open directory but `.` and `..`, from its start, in the file system's order.
    ///
    /// Entries made or removed meanwhile may be told or not; each of the others is told once. An error in the middle
    /// is thrown after the entries that came before it: such a listing says nothing of what it did not tell.
    public func read(
        _ directory: borrowing OwnedDescriptor, _ body: (DirectoryEntry) -> Void
    ) throws(SystemCallError) {
        try readInPlace(directory) { name, inode, kind in
            body(DirectoryEntry(name: BytePath(name), inode: inode, kind: kind))
        }
    }

    /// The same without a copy of each name: its bytes, which a NUL follows, are valid in the call alone. One that was
    /// just opened, and not read from yet, is at its start already.
    package func readInPlace(
        _ directory: borrowing OwnedDescriptor, isAtStart: Bool = false,
        _ body: (UnsafeRawBufferPointer, UInt64, FileKind) -> Void
    ) throws(SystemCallError) {
        let descriptor = directory.raw
        if !isAtStart { try systemCall("lseek") { lseek(descriptor, 0, SEEK_SET) } }
        while true {
            let count = try systemCall("getdents64") {
                clinux_getdents64(descriptor, buffer.baseAddress, UInt64(buffer.count))
            }
            if count == 0 { return }
            Self.parse(UnsafeRawBufferPointer(rebasing: buffer[..<Int(count)]), body)
        }
    }

    /// Walks the records of one read: u64 inode, i64 offset, u16 length, u8 type, then the name up to its NUL.
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
            // A record without its NUL is none.
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
    /// The kind that `d_type` in a directory entry stands for; see readdir(3).
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
