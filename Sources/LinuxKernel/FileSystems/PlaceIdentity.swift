import CLinux
import FileValues

/// A directory's identity, independent of its path: by its file system's UUID, never by a device number.
package struct PlaceIdentity: Hashable, Sendable {
    /// `f_type` of its file system; see statfs(2).
    package let fileSystemType: Int64
    /// Its file system's UUID, folded. Nil if the kernel reports none (FAT, exFAT, network file systems, FUSE; before
    /// Linux 6.9 all but ext4 and btrfs) or if it changes with each mount (tmpfs, overlay).
    package let fileSystem: UInt64?
    /// The directory's inode.
    package let inode: UInt64
    /// The number of its mount, unique until the next boot; nil before Linux 6.8.
    package let mount: UInt64?

    /// The identity of an open directory; see fstatfs(2), fstat(2), statx(2). Blocks if the file system hangs.
    package init(of directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        let found = try FileSystem(of: directory)
        fileSystemType = found.type
        fileSystem = Self.passing.contains(found.type) ? nil : found.fromUUID ?? Self.uuid(of: directory)
        inode = try FileStatus(of: directory).identity.inode
        var number: UInt64 = 0
        let raw = directory.raw
        mount = try systemCall("statx") { clinux_mount_number(raw, &number) } == 1 ? number : nil
    }

    /// Whether it is unique across mounts by itself: false if inode numbers are assigned in memory.
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
        // Shorter ones are serial numbers, which are not unique.
        guard length == 16 else { return nil }
        let folded = bytes.0 ^ bytes.1
        return folded == 0 ? nil : folded
    }
}

extension FileSystem {
    /// ``identifier``, if derived from the UUID; on btrfs it includes the subvolume, whose roots all have one inode.
    fileprivate var fromUUID: UInt64? {
        [0xEF53, 0x9123_683E].contains(type) && identifier != 0 ? identifier : nil
    }
}
