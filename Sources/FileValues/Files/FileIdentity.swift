/// What tells one state of one file from another: inode, size, modification and change times.
///
/// Kept over restarts; the device number is left out because it changes with each mount. Equal identities mean that
/// nothing was written in between, as far as the kernel tells, short of a shared mapping that is never synced.
public struct FileIdentity: Hashable, Sendable {
    /// The inode number on its file system.
    public let inode: UInt64
    /// Bytes.
    public let size: UInt64
    /// Last change of the content.
    public let modified: FileTime
    /// Last change of content or attributes; cannot be set by programs.
    public let changed: FileTime

    /// An identity from its parts.
    public init(inode: UInt64, size: UInt64, modified: FileTime, changed: FileTime) {
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
    }
}
