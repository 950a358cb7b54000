/// Which file system something lies on, as far as it stays the same over remounts; see fstatfs(2).
public struct FileSystem: Hashable, Sendable {
    /// The magic number of its type.
    public let type: Int64
    /// `f_fsid`: stays where `st_dev` changes with each mount (btrfs); zero where the file system has none.
    public let identifier: UInt64

    /// A file system from its parts.
    public init(type: Int64, identifier: UInt64) {
        self.type = type
        self.identifier = identifier
    }

    /// What is known of its type.
    public var kind: FileSystemKind { FileSystemKind(magic: UInt32(truncatingIfNeeded: type)) }

    /// The name of its type, for people.
    public var name: String { kind.name }

    /// Whether others may change files here without this kernel knowing, so that inotify(7) misses changes.
    public var changesElsewhere: Bool { kind.events == .ownChangesOnly }
}
