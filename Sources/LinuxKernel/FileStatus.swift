public import FileValues
import Glibc

extension FileKind {
    /// The kind for the type bits of a mode; see inode(7).
    init(mode: UInt32) {
        switch mode & UInt32(S_IFMT) {
        case UInt32(S_IFREG): self = .regular
        case UInt32(S_IFDIR): self = .directory
        case UInt32(S_IFLNK): self = .symbolicLink
        case UInt32(S_IFIFO): self = .fifo
        case UInt32(S_IFSOCK): self = .socket
        case UInt32(S_IFCHR): self = .characterDevice
        case UInt32(S_IFBLK): self = .blockDevice
        default: self = .unknown
        }
    }
}

/// The result of stat(2).
public struct FileStatus: Hashable, Sendable {
    /// Its kind.
    public let kind: FileKind
    /// Inode, size and times.
    public let identity: FileIdentity
    /// The file system's device number; changes with each mount, so it must not be stored.
    public let device: UInt64
    /// The number of hard links.
    public let links: UInt64
    /// Permission bits, with set-ID and sticky bits.
    public let mode: UInt32
    /// Owner.
    public let user: UInt32
    /// Group.
    public let group: UInt32
    /// Allocated bytes; less than the size if there are holes.
    public let allocated: UInt64

    /// The status of an open file; see fstat(2).
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        try self.init(descriptor: descriptor.raw)
    }

    /// The status of an open file by its raw descriptor.
    public init(descriptor: Int32) throws(SystemCallError) {
        var raw = stat()
        try systemCall("fstat") { fstat(descriptor, &raw) }
        self.init(raw)
    }

    /// The status of `name` in `directory` without following a symbolic link; see fstatat(2).
    public init(of name: BytePath, in directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        var raw = stat()
        let number = directory.raw
        try systemCall("fstatat", path: name) {
            name.withCString { fstatat(number, $0, &raw, AT_SYMLINK_NOFOLLOW) }
        }
        self.init(raw)
    }

    /// The same for a C string, without allocating.
    package init(
        ofName name: UnsafePointer<CChar>, in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) {
        var raw = stat()
        let number = directory.raw
        try systemCall("fstatat") { fstatat(number, name, &raw, AT_SYMLINK_NOFOLLOW) }
        self.init(raw)
    }

    /// The status of `path`; symbolic links in its last name are followed only if `followingLinks`.
    public init(at path: BytePath, followingLinks: Bool = false) throws(SystemCallError) {
        var raw = stat()
        try systemCall("stat", path: path) {
            path.withCString { fstatat(AT_FDCWD, $0, &raw, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) }
        }
        self.init(raw)
    }

    private init(_ raw: stat) {
        kind = FileKind(mode: raw.st_mode)
        identity = FileIdentity(
            inode: UInt64(raw.st_ino), size: UInt64(max(0, raw.st_size)),
            modified: FileTime(seconds: Int64(raw.st_mtim.tv_sec), nanoseconds: UInt32(raw.st_mtim.tv_nsec)),
            changed: FileTime(seconds: Int64(raw.st_ctim.tv_sec), nanoseconds: UInt32(raw.st_ctim.tv_nsec)))
        device = UInt64(raw.st_dev)
        links = UInt64(raw.st_nlink)
        mode = raw.st_mode & 0o7777
        user = raw.st_uid
        group = raw.st_gid
        allocated = UInt64(max(0, raw.st_blocks)) * 512
    }
}
