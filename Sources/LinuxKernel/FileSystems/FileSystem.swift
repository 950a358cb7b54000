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

/// The status of a mounted file system; see fstatfs(2).
public struct FileSystemStatus: Hashable, Sendable {
    /// Its identity.
    public let fileSystem: FileSystem
    /// Bytes available to this process.
    public let available: UInt64

    /// The status of an open file's file system. Blocks if that file system hangs.
    public init(of descriptor: borrowing OwnedDescriptor) throws(SystemCallError) {
        var raw = clinux_file_system()
        let number = descriptor.raw
        try systemCall("fstatfs") { clinux_file_system(number, &raw) }
        fileSystem = FileSystem(type: Int64(raw.magic), identifier: raw.identifier)
        available = raw.available
    }

    /// The properties of its type.
    public var kind: FileSystemKind { fileSystem.kind }
}
