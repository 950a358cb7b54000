/// The table of known types.
extension FileSystemKind {
    static let table: [UInt32: FileSystemKind] = Dictionary(
        uniqueKeysWithValues: (disks + others + remote).map { ($0.magic, $0) })

    /// Local, with decisive leases.
    private static let disks: [FileSystemKind] = [
        (0xEF53, "ext4"), (0x5846_5342, "XFS"), (0x9123_683E, "btrfs"), (0x0102_1994, "tmpfs"), (0xF2F5_2010, "F2FS"),
        (0x2FC1_2FC1, "ZFS"),
    ].map { FileSystemKind($0, $1, .all, leases: .decides, inodes: .lasting) }

    private static let others: [FileSystemKind] =
        [
            (0x3153_464A, "JFS"), (0x5265_4973, "ReiserFS"), (0xCA45_1A4E, "bcachefs"), (0x3434, "NILFS"),
            (0x482B, "HFS+"), (0x5346_544E, "NTFS"), (0x7366_746E, "NTFS"), (0x2405_1905, "UBIFS"),
            (0x9660, "ISO 9660"), (0x1501_3346, "UDF"), (0x7371_7368, "squashfs"), (0xE0F5_E1E2, "EROFS"),
        ].map { FileSystemKind($0, $1, .all, leases: .refusalOnly, inodes: .lasting) }
        // FAT stores no inodes; ramfs exists in memory only.
        + [(0x4D44, "FAT"), (0x2011_BAB0, "exFAT"), (0x8584_58F6, "ramfs")].map {
            FileSystemKind($0, $1, .all, leases: .refusalOnly, inodes: .passing)
        }
        // The number changes when a file of a lower layer is copied up.
        + [(0x794C_7630, "overlay"), (0x6175_6673, "aufs"), (0xF15F, "eCryptfs")].map {
            FileSystemKind($0, $1, .notBelow, leases: .refusalOnly, inodes: .passing)
        }

    private static let remote: [FileSystemKind] =
        [
            (0x6969, "NFS"), (0x00C3_6400, "Ceph"), (0x5346_414F, "AFS"), (0x6B41_4653, "AFS"), (0x7375_7245, "Coda"),
            (0x0116_1970, "GFS2"), (0x7461_636F, "OCFS2"), (0x0BD0_0BD0, "Lustre"), (0x4750_4653, "GPFS"),
            (0x1983_0326, "BeeGFS"), (0x2003_0528, "OrangeFS"), (0xAAD7_AAEA, "PanFS"),
        ].map { FileSystemKind($0, $1, .ownChangesOnly, leases: .nothing, inodes: .lasting) }
        + [
            (0xFF53_4D42, "SMB"), (0xFE53_4D42, "SMB"), (0x517B, "SMB"), (0x564C, "NCP"), (0x0102_1997, "9p"),
            (0x786F_4256, "VirtualBox share"), (0xBACB_ACBC, "VMware share"),
        ].map { FileSystemKind($0, $1, .ownChangesOnly, leases: .nothing, inodes: .passing) }
        // May be backed by a disk (ntfs-3g), another machine (sshfs) or the host (virtiofs).
        + [FileSystemKind(0x6573_5546, "FUSE", .ownChangesOnly, leases: .refusalOnly, inodes: .passing)]
}
