import CLinux
public import FileValues
import Glibc

/// Which directory it is, and whether something is mounted there; see statx(2).
public struct DirectoryStatus: Hashable, Sendable {
    /// Its inode, that of what is mounted there.
    public let inode: UInt64
    /// When it was made, as the file system keeps it; nil where it does not. Tells it from another directory that is given
    /// the inode number of one that is gone, as some file systems do at once.
    public let born: FileTime?
    /// Whether it is the root of a mount, bind mounts included. Always false before Linux 5.8.
    public let isMountRoot: Bool

    /// The status of an open directory.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        try self.init("", descriptor.raw)
    }

    /// The status of the directory under a name, which is ended by NUL; of a symbolic link, or a file, as such.
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
