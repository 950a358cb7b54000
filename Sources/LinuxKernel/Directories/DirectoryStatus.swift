import CLinux
import Glibc

/// Which directory it is, and whether something is mounted there; see statx(2).
public struct DirectoryStatus: Hashable, Sendable {
    /// Its inode, that of what is mounted there.
    public let inode: UInt64
    /// Whether it is the root of a mount, bind mounts included. Always false before Linux 5.8.
    public let isMountRoot: Bool

    /// The status of an open directory.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        try self.init("", descriptor.raw)
    }

    /// The status of the directory under a name, which is ended by NUL; of a symbolic link as such.
    package init(
        ofName name: UnsafePointer<CChar>, in directory: borrowing OwnedDescriptor
    ) throws(SystemCallError) {
        try self.init(name, directory.raw)
    }

    private init(_ name: UnsafePointer<CChar>, _ directory: Int32) throws(SystemCallError) {
        var inode: UInt64 = 0
        var isMountRoot: Int32 = 0
        try systemCall("statx") { clinux_statx_directory(directory, name, &inode, &isMountRoot) }
        self.inode = inode
        self.isMountRoot = isMountRoot != 0
    }
}
