/// A type of file system, and what leases, events and inode numbers are worth on it.
///
/// Found by the magic number of statfs(2), which says less than mount(8): all of FUSE is one type (sshfs, ntfs-3g, and
/// virtiofs too), and so are ext2, ext3 and ext4.
public struct FileSystemKind: Hashable, Sendable {
    /// What inotify(7) tells of changes to its files.
    public enum Events: Hashable, Sendable {
        /// All that this kernel makes, and nobody else makes any.
        case all
        /// Not what is changed directly in the directories that it is laid over.
        case notBelow
        /// Only what this machine changes: others may change files without this kernel knowing.
        case ownChangesOnly
    }

    /// What the number of an inode is worth.
    public enum Inodes: Hashable, Sendable {
        /// A file keeps it as long as it lives.
        case lasting
        /// Made up in memory: another after a remount, or even after the file was forgotten and looked up again.
        case passing
    }

    /// The number that statfs(2) reports, from linux/magic.h or the file system's own source.
    public let magic: UInt32
    /// A name for people.
    public let name: String
    /// See ``Events-swift.enum``.
    public let events: Events
    /// What an answer to a request for a lease says of writers.
    public let leases: LeaseTrust
    /// See ``Inodes-swift.enum``.
    public let inodes: Inodes

    /// What is known of the type with this number. Of an unknown one the events are believed, as far as comparisons do
    /// not refute them; leases and inode numbers are not.
    public init(magic: UInt32) {
        self =
            Self.table[magic]
            ?? FileSystemKind(
                magic, "file system 0x\(String(magic, radix: 16))", .all, leases: .refusalOnly, inodes: .passing)
    }

    init(_ magic: UInt32, _ name: String, _ events: Events, leases: LeaseTrust, inodes: Inodes) {
        self.magic = magic
        self.name = name
        self.events = events
        self.leases = leases
        self.inodes = inodes
    }
}

/// How much a lease (fcntl(2), F_SETLEASE) says of writers.
public enum LeaseTrust: Hashable, Sendable {
    /// Both answers are right.
    case decides
    /// A refusal means a writer; a grant may overlook one (overlay: a mapping of the lower file; FUSE: whoever writes
    /// to the file behind it).
    case refusalOnly
    /// Neither: NFSv4 without a delegation says "writer" for ever, and servers have writers that we can't see.
    case nothing
}
