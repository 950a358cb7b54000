/// The identity of a root directory, independent of its path and valid across restarts and remounts.
package struct RootIdentity: Hashable, Sendable {
    /// The file system; its identifier is stable where `st_dev` changes with each mount.
    package let fileSystem: FileSystem
    /// The directory's inode.
    package let inode: UInt64

    /// An identity from its parts.
    package init(fileSystem: FileSystem, inode: UInt64) {
        self.fileSystem = fileSystem
        self.inode = inode
    }
}
