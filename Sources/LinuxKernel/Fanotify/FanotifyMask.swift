/// Which events a mark asks for, or a record tells of; the bits of fanotify_mark(2) that this project uses.
///
/// One record may carry several: what one process did to one name while the record waited in the queue, in no order.
public struct FanotifyMask: OptionSet, Hashable, Sendable {
    /// The bits as the kernel has them.
    public let rawValue: UInt64

    /// The bits as the kernel has them.
    public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Written to, truncated.
    public static let modified = FanotifyMask(rawValue: 0x2)
    /// Attributes changed; also the number of links.
    public static let attributes = FanotifyMask(rawValue: 0x4)
    /// A file that was open for writing was closed.
    public static let closedAfterWriting = FanotifyMask(rawValue: 0x8)
    /// An entry was made: file, directory, link, anything.
    public static let created = FanotifyMask(rawValue: 0x100)
    /// An entry was removed.
    public static let deleted = FanotifyMask(rawValue: 0x200)
    /// The inode itself is gone.
    public static let deletedSelf = FanotifyMask(rawValue: 0x400)
    /// The inode itself got another name.
    public static let movedSelf = FanotifyMask(rawValue: 0x800)
    /// An entry was renamed: one record with its old and its new place. Since Linux 5.17.
    public static let renamed = FanotifyMask(rawValue: 0x1000_0000)

    /// Told: the queue was full and records were lost.
    public static let queueOverflow = FanotifyMask(rawValue: 0x4000)
    /// Asked: events of directories, too. Told: the entry is a directory.
    public static let isDirectory = FanotifyMask(rawValue: 0x4000_0000)
}
