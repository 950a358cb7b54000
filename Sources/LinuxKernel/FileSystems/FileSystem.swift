import CLinux

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

    /// The file system of an open file.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        self = try FileSystemStatus(of: descriptor).fileSystem
    }

    /// What is known of its type.
    public var kind: FileSystemKind { FileSystemKind(magic: UInt32(truncatingIfNeeded: type)) }

    /// The name of its type, for people.
    public var name: String { kind.name }

    /// Whether others may change files here without this kernel knowing, so that inotify(7) misses changes.
    public var changesElsewhere: Bool { kind.events == .ownChangesOnly }
}

/// What a mounted file system says of itself; see fstatfs(2).
public struct FileSystemStatus: Hashable, Sendable {
    /// Which it is.
    public let fileSystem: FileSystem
    /// Bytes that this process may still write.
    public let available: UInt64

    /// The status of the file system that an open file lies on. Waits as long as that file system does.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        var raw = clinux_file_system()
        let number = descriptor.raw
        try systemCall("fstatfs") { clinux_file_system(number, &raw) }
        fileSystem = FileSystem(type: Int64(raw.magic), identifier: raw.identifier)
        available = raw.available
    }

    /// What is known of its type.
    public var kind: FileSystemKind { fileSystem.kind }
}
