/// The event bits of a watch or a record; see inotify(7).
public struct InotifyMask: OptionSet, Hashable, Sendable {
    /// The kernel's bits.
    public let rawValue: UInt32

    /// The kernel's bits.
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
    /// An entry of any kind was created.
    public static let created = InotifyMask(rawValue: 0x100)
    /// An entry was removed.
    public static let deleted = InotifyMask(rawValue: 0x200)
    /// The watched inode itself was deleted.
    public static let deletedSelf = InotifyMask(rawValue: 0x400)
    /// The watched inode itself was renamed.
    public static let movedSelf = InotifyMask(rawValue: 0x800)

    /// In records: the file system was unmounted.
    public static let unmounted = InotifyMask(rawValue: 0x2000)
    /// In records, with descriptor −1: the queue was full and records were lost.
    public static let queueOverflow = InotifyMask(rawValue: 0x4000)
    /// In records: the watch was removed, by a call or with its inode; the last record of its descriptor.
    public static let ignored = InotifyMask(rawValue: 0x8000)
    /// In records: the entry is a directory.
    public static let isDirectory = InotifyMask(rawValue: 0x4000_0000)

    /// In requests: only if it is a directory.
    public static let onlyDirectory = InotifyMask(rawValue: 0x0100_0000)
    /// In requests: do not follow a symbolic link at the end of the path.
    public static let dontFollow = InotifyMask(rawValue: 0x0200_0000)
    /// In requests: add to the mask of the inode's existing watch, if any, instead of replacing it.
    public static let addingToMask = InotifyMask(rawValue: 0x2000_0000)
    /// In requests: no events for files that no longer have a name in the directory.
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
