/// The identity of one state of one file: inode, size, modification and change times.
///
/// Valid across restarts; without the device number, which changes with each mount. Equal identities mean that nothing
/// was written in between, as far as the kernel reports it (a shared mapping that is never synced is not seen).
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
