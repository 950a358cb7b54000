/// A type of file system, and how reliable leases, events and inode numbers are on it.
///
/// Identified by the magic number of statfs(2), which is coarser than mount(8): all of FUSE is one type (sshfs,
/// ntfs-3g, virtiofs), and so are ext2, ext3 and ext4.
public struct FileSystemKind: Hashable, Sendable {
    /// Which changes to its files inotify(7) reports.
    public enum Events: Hashable, Sendable {
        /// All: only this kernel makes changes.
        case all
        /// Not changes made directly in its lower directories.
        case notBelow
        /// Only changes made by this machine; others may change files without this kernel's knowledge.
        case ownChangesOnly
    }

    /// How stable inode numbers are.
    public enum Inodes: Hashable, Sendable {
        /// A file keeps its number until it is deleted.
        case lasting
        /// Assigned in memory: changes after a remount, or even when the kernel drops the inode and reads it again.
        case passing
    }

    /// The number that statfs(2) reports, from linux/magic.h or the file system's own source.
    public let magic: UInt32
    /// Its display name.
    public let name: String
    /// See ``Events-swift.enum``.
    public let events: Events
    /// What the answer to a lease request proves about writers.
    public let leases: LeaseTrust
    /// See ``Inodes-swift.enum``.
    public let inodes: Inodes

    /// The type with this number. An unknown type's events are trusted until a comparison refutes them; its leases and
    /// inode numbers are not.
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

/// What a lease (fcntl(2), F_SETLEASE) proves about writers.
public enum LeaseTrust: Hashable, Sendable {
    /// Both answers are reliable.
    case decides
    /// A refusal means a writer; a grant may overlook one (overlay: a mapping of the lower file; FUSE: a writer of
    /// the backing file).
    case refusalOnly
    /// Neither: NFSv4 without a delegation always refuses, and a server may have writers that this machine cannot see.
    case nothing
}
