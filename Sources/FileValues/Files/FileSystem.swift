/// A file system, by the values of fstatfs(2) that survive remounts.
public struct FileSystem: Hashable, Sendable {
    /// The magic number of its type.
    public let type: Int64
    /// `f_fsid`: stable where `st_dev` changes with each mount (btrfs); zero if the file system has none.
    public let identifier: UInt64

    /// A file system from its parts.
    public init(type: Int64, identifier: UInt64) {
        self.type = type
        self.identifier = identifier
    }

    /// The properties of its type.
    public var kind: FileSystemKind { FileSystemKind(magic: UInt32(truncatingIfNeeded: type)) }

    /// The name of its type, for people.
    public var name: String { kind.name }

    /// Whether files may be changed without this kernel's knowledge, so that inotify(7) misses changes.
    public var changesElsewhere: Bool { kind.events == .ownChangesOnly }
}
