/// Which events a watch asks for, or a record tells of; the bits of inotify(7).
public struct InotifyMask: OptionSet, Hashable, Sendable {
    /// The bits as the kernel has them.
    public let rawValue: UInt32

    /// The bits as the kernel has them.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Read from.
    public static let accessed = InotifyMask(rawValue: 0x1)
    /// Written to, truncated.
    public static let modified = InotifyMask(rawValue: 0x2)
    /// Attributes changed; also the number of links.
    public static let attributes = InotifyMask(rawValue: 0x4)
    /// A file that was open for writing was closed.
    public static let closedAfterWriting = InotifyMask(rawValue: 0x8)
    /// A file that was open for reading only was closed.
    public static let closedAfterReading = InotifyMask(rawValue: 0x10)
    /// Opened.
    public static let opened = InotifyMask(rawValue: 0x20)
    /// An entry left the directory by a rename.
    public static let movedFrom = InotifyMask(rawValue: 0x40)
    /// An entry came into the directory by a rename.
    public static let movedTo = InotifyMask(rawValue: 0x80)
    /// An entry was made: file, directory, link, anything.
    public static let created = InotifyMask(rawValue: 0x100)
    /// An entry was removed.
    public static let deleted = InotifyMask(rawValue: 0x200)
    /// The watched inode itself is gone.
    public static let deletedSelf = InotifyMask(rawValue: 0x400)
    /// The watched inode itself got another name.
    public static let movedSelf = InotifyMask(rawValue: 0x800)

    /// Told: the file system was unmounted.
    public static let unmounted = InotifyMask(rawValue: 0x2000)
    /// Told, with descriptor −1: the queue was full and records were lost.
    public static let queueOverflow = InotifyMask(rawValue: 0x4000)
    /// Told: the watch is gone, removed by us or with its inode; the last record of its descriptor.
    public static let ignored = InotifyMask(rawValue: 0x8000)
    /// Told: the entry is a directory.
    public static let isDirectory = InotifyMask(rawValue: 0x4000_0000)

    /// Asked: only if it is a directory.
    public static let onlyDirectory = InotifyMask(rawValue: 0x0100_0000)
    /// Asked: do not follow a symbolic link at the end of the path.
    public static let dontFollow = InotifyMask(rawValue: 0x0200_0000)
    /// Asked: what else is asked for is added to the mask of the watch that the inode may have already. Without it, that
    /// mask is replaced.
    public static let addingToMask = InotifyMask(rawValue: 0x2000_0000)
    /// Asked: no events for files that have no name in the directory any more.
    public static let excludeUnlinked = InotifyMask(rawValue: 0x0400_0000)

    /// The names of the bits as inotifywait prints them, joined by commas.
    public var names: String {
        Self.table.filter { contains($0.0) }.map(\.1).joined(separator: ",")
    }

    private static let table: [(InotifyMask, String)] = [
        (.accessed, "ACCESS"), (.modified, "MODIFY"), (.attributes, "ATTRIB"), (.closedAfterWriting, "CLOSE_WRITE"),
        (.closedAfterReading, "CLOSE_NOWRITE"), (.opened, "OPEN"), (.movedFrom, "MOVED_FROM"), (.movedTo, "MOVED_TO"),
        (.created, "CREATE"), (.deleted, "DELETE"), (.deletedSelf, "DELETE_SELF"), (.movedSelf, "MOVE_SELF"),
        (.unmounted, "UNMOUNT"), (.queueOverflow, "Q_OVERFLOW"), (.ignored, "IGNORED"), (.isDirectory, "ISDIR"),
    ]
}
