import CLinux
public import FileValues

extension FileSystem {
    /// The file system of an open file.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        self = try FileSystemStatus(of: descriptor).fileSystem
    }
}

extension RootIdentity {
    /// The identity of an open directory; see fstatfs(2) and fstat(2).
    package init(of directory: borrowing OwnedDescriptor) throws(SystemCallError) {
        self.init(fileSystem: try FileSystem(of: directory), inode: try FileStatus(of: directory).identity.inode)
    }
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
