import CLinux
import Glibc
import SystemPackage

/// What a directory is called in fanotify(7) records: its file system and the handle that the file system gives it.
///
/// A directory has the same handle for as long as it exists, whatever its path, and another that is made on its inode
/// has another. Compact, because a watched tree keeps one for each directory: 40 bytes.
public struct DirectoryHandle: Hashable, Sendable {
    /// `f_fsid` of the file system; see fstatfs(2). Two file systems may have the same, if one is a copy of the other.
    public let fileSystem: UInt64
    let type: Int32
    let count: UInt32
    let words: InlineArray<3, UInt64>

    /// The longest handle that has room: btrfs takes 20 bytes, tmpfs and xfs 12, ext4 8.
    public static let longest = 24

    /// A handle from its parts; nil if it is longer than ``longest``.
    public init?(fileSystem: UInt64, type: Int32, bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Self.longest else { return nil }
        self.fileSystem = fileSystem
        self.type = type
        count = UInt32(bytes.count)
        var words: InlineArray<3, UInt64> = [0, 0, 0]
        withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: bytes) }
        self.words = words
    }

    /// The handle of an open directory. Throws EOPNOTSUPP where the file system has none (proc, many FUSE), EOVERFLOW
    /// where it is longer than ``longest``.
    public init(of directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        try self.init(of: directory, on: try FileSystem(of: directory))
    }

    /// The same, where the file system is known already.
    public init(of directory: borrowing OwnedDescriptor, on fileSystem: FileSystem) throws(SystemCallError) {
        let number = directory.raw
        self.fileSystem = fileSystem.identifier
        var words: InlineArray<3, UInt64> = [0, 0, 0]
        var (count, type) = (UInt32(Self.longest), Int32(0))
        try systemCall("name_to_handle_at") {
            withUnsafeMutableBytes(of: &words) { clinux_directory_handle(number, $0.baseAddress, &count, &type) }
        }
        self.type = type
        self.count = count
        self.words = words
    }

    /// Whether both are of the same directory.
    public static func == (one: DirectoryHandle, other: DirectoryHandle) -> Bool {
        one.words[0] == other.words[0] && one.words[1] == other.words[1] && one.words[2] == other.words[2]
            && one.fileSystem == other.fileSystem && one.count == other.count && one.type == other.type
    }

    /// All but the length and the type, which are the same for all of a file system.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fileSystem)
        for place in words.indices { hasher.combine(words[place]) }
    }

    /// The handle's bits, mixed: for tables that look one up for every record of a busy file system.
    public func scattered(by seed: UInt64) -> UInt64 {
        var value = seed ^ fileSystem
        for place in words.indices {
            let (high, low) = (value ^ words[place]).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
            value = high ^ low
        }
        return value ^ (value >> 32)
    }
}
