import CLinux
public import FileValues
import Glibc

/// A directory's identity, and whether it is the root of a mount; see statx(2).
public struct DirectoryStatus: Hashable, Sendable {
    /// Its inode; for a mount point, that of the mounted root.
    public let inode: UInt64
    /// Its creation time; nil if the file system does not store it. Distinguishes it from a later directory with the
    /// same inode number, which some file systems reuse at once.
    public let born: FileTime?
    /// Whether it is the root of a mount, bind mounts included. Always false before Linux 5.8.
    public let isMountRoot: Bool

    /// The status of an open directory.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        try self.init("", descriptor.raw)
    }

    /// The status of an entry by its name, ended by NUL; a symbolic link is not followed.
    package init(
        ofName name: UnsafePointer<CChar>, in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) {
        try self.init(name, directory.raw)
    }

    private init(_ name: UnsafePointer<CChar>, _ directory: Int32) throws(SystemCallError) {
        var status = clinux_directory_status()
        try systemCall("statx") { clinux_statx_directory(directory, name, &status) }
        inode = status.inode
        born =
            status.has_birth != 0
            ? FileTime(seconds: status.born_seconds, nanoseconds: status.born_nanoseconds) : nil
        isMountRoot = status.is_mount_root != 0
    }
}
