import CLinux
import FileValues

/// What a directory is, whatever its path leads to: by its file system's own name, never by a device's number.
package struct PlaceIdentity: Hashable, Sendable {
    /// `f_type` of its file system; see statfs(2).
    package let fileSystemType: Int64
    /// What its file system is called wherever and whenever it is mounted: its UUID, folded. nil where it has none that
    /// the kernel tells: FAT, exFAT, networks, FUSE, and before Linux 6.9 all but ext4 and btrfs; and where it is another
    /// one with each mount: tmpfs, overlay.
    package let fileSystem: UInt64?
    /// The directory's inode.
    package let inode: UInt64
    /// The number of its mount, which no other is given until the next boot; nil before Linux 6.8.
    package let mount: UInt64?

    /// The identity of an open directory; see fstatfs(2), fstat(2) and statx(2). Waits as long as the file system does.
    package init(of directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        let found = try FileSystem(of: directory)
        fileSystemType = found.type
        fileSystem = Self.passing.contains(found.type) ? nil : found.fromUUID ?? Self.uuid(of: directory)
        inode = try FileStatus(of: directory).identity.inode
        var number: UInt64 = 0
        let raw = directory.raw
        mount = try systemCall("statx") { clinux_mount_number(raw, &number) } == 1 ? number : nil
    }

    /// Whether it is known from all others, on its own word: so not where inodes are numbered in memory.
    package var isLasting: Bool {
        fileSystem != nil && FileSystemKind(magic: UInt32(truncatingIfNeeded: fileSystemType)).inodes == .lasting
    }

    /// tmpfs, overlay.
    private static let passing: Set<Int64> = [0x0102_1994, 0x794C_7630]

    private static func uuid(of directory: borrowing OwnedDescriptor) -> UInt64? {
        var bytes: (UInt64, UInt64) = (0, 0)
        let raw = directory.raw
        let length = withUnsafeMutableBytes(of: &bytes) { buffer in
            buffer.baseAddress.map { clinux_file_system_uuid(raw, $0.assumingMemoryBound(to: UInt8.self)) } ?? -1
        }
        // Shorter ones are serial numbers, which makers of disks do not keep apart.
        guard length == 16 else { return nil }
        let folded = bytes.0 ^ bytes.1
        return folded == 0 ? nil : folded
    }
}

extension FileSystem {
    /// ``identifier``, where it comes from the UUID: on btrfs together with the subvolume, whose roots all have one inode.
    fileprivate var fromUUID: UInt64? {
        [0xEF53, 0x9123_683E].contains(type) && identifier != 0 ? identifier : nil
    }
}
