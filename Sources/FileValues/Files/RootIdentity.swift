/// Which directory a root really is, whatever its path leads to now: identity that is kept over restarts and remounts.
package struct RootIdentity: Hashable, Sendable {
    /// The file system, which keeps its identifier where `st_dev` changes with each mount.
    package let fileSystem: FileSystem
    /// The directory's inode on it.
    package let inode: UInt64

    /// An identity from its parts.
    package init(fileSystem: FileSystem, inode: UInt64) {
        self.fileSystem = fileSystem
        self.inode = inode
    }
}
