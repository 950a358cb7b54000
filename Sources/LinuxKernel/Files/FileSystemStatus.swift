import CLinux

/// The kinds of file system that are told apart here, by the magic number of statfs(2).
public enum FileSystemKind: Hashable, Sendable {
    case ext, xfs, btrfs, tmpfs, f2fs, zfs
    case overlay
    case fuse, nfs, smb, ceph, plan9
    case fat, exfat, ntfs
    /// Any other, by its number.
    case other(UInt32)

    /// The kind that statfs(2) reports as `magic`; numbers from linux/magic.h and, for ZFS, its own source.
    public init(magic: UInt32) {
        self =
            switch magic {
            case 0xEF53: .ext
            case 0x5846_5342: .xfs
            case 0x9123_683E: .btrfs
            case 0x0102_1994: .tmpfs
            case 0xF2F5_2010: .f2fs
            case 0x2FC1_2FC1: .zfs
            case 0x794C_7630: .overlay
            case 0x6573_5546: .fuse
            case 0x6969: .nfs
            case 0xFF53_4D42, 0xFE53_4D42, 0x517B: .smb
            case 0x00C3_6400: .ceph
            case 0x0102_1997: .plan9
            case 0x4D44: .fat
            case 0x2011_BAB0: .exfat
            case 0x7366_746E, 0x5346_544E: .ntfs
            default: .other(magic)
            }
    }

    /// A name for people.
    public var name: String {
        switch self {
        case .ext: "ext4"
        case .xfs: "XFS"
        case .btrfs: "btrfs"
        case .tmpfs: "tmpfs"
        case .f2fs: "F2FS"
        case .zfs: "ZFS"
        case .overlay: "overlay"
        case .fuse: "FUSE"
        case .nfs: "NFS"
        case .smb: "SMB"
        case .ceph: "Ceph"
        case .plan9: "9p"
        case .fat: "FAT"
        case .exfat: "exFAT"
        case .ntfs: "NTFS"
        case .other(let magic): "file system 0x\(String(magic, radix: 16))"
        }
    }
}

/// What a mounted file system says of itself; see statfs(2).
public struct FileSystemStatus: Hashable, Sendable {
    /// Its kind.
    public let kind: FileSystemKind
    /// Its identifier, which stays over remounts where the device number does not; 0 where there is none.
    public let identifier: UInt64
    /// Bytes that this process may still write.
    public let available: UInt64

    /// The status of the file system that an open file lies on.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        var raw = clinux_file_system()
        let number = descriptor.raw
        try systemCall("fstatfs") { clinux_file_system(number, &raw) }
        kind = FileSystemKind(magic: raw.magic)
        identifier = raw.identifier
        available = raw.available
    }
}
