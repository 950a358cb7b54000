import CLinux

/// Which file system something lies on, as far as it stays the same over remounts; see fstatfs(2).
public struct FileSystem: Hashable, Sendable {
    /// The magic number of its type.
    public let type: Int64
    /// `f_fsid`: stays where `st_dev` changes with each mount (btrfs); zero where the file system has none.
    public let identifier: UInt64

    /// A file system from its parts.
    public init(type: Int64, identifier: UInt64) {
        self.type = type
        self.identifier = identifier
    }

    /// The file system of an open file.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        var type: Int64 = 0
        var identifier: UInt64 = 0
        let number = descriptor.raw
        try systemCall("fstatfs") { clinux_fstatfs(number, &type, &identifier) }
        self.init(type: type, identifier: identifier)
    }

    /// The name that mount(8) would show, where the type is one that this project treats in its own way or meets often.
    public var name: String? { Self.names[type] }

    /// Whether others may change files here without this kernel knowing, so that inotify(7) misses changes:
    /// network file systems, and FUSE, behind which anything may be.
    public var changesElsewhere: Bool { Self.elsewhere.contains(name ?? "") }

    private static let elsewhere: Set<String> = [
        "nfs", "cifs", "smb2", "9p", "fuse", "afs", "ceph", "coda", "ncp", "vboxsf", "ocfs2", "gfs2",
    ]

    private static let names: [Int64: String] = [
        0x6969: "nfs", 0xFF53_4D42: "cifs", 0xFE53_4D42: "smb2", 0x0102_1997: "9p", 0x6573_5546: "fuse",
        0x5346_414F: "afs", 0x00C3_6400: "ceph", 0x7375_7245: "coda", 0x564C: "ncp", 0x786F_4256: "vboxsf",
        0x7461_636F: "ocfs2", 0x0116_1970: "gfs2", 0xEF53: "ext4", 0x5846_5342: "xfs", 0x9123_683E: "btrfs",
        0x0102_1994: "tmpfs", 0xF2F5_2010: "f2fs", 0x2FC1_2FC1: "zfs", 0x794C_7630: "overlay", 0x4D44: "vfat",
        0x2011_BAB0: "exfat", 0x7366_746E: "ntfs3", 0x5346_544E: "ntfs", 0x9660: "iso9660",
    ]
}
