import FileValues

/// The form in which a memory is kept: little endian, with a length before whatever has no fixed one.
/// ```
/// "DWMEMORY" · format u32 · CRC-32C of the rest u32 · length of the rest u64
/// note length u32 · note · roots u32
/// each root, several times if several directories were there, the latest first: identifier length u16 · identifier (UTF-8) · file system's type i64 and identifier u64 · inode u64
///            · length u64 · directories and files: see RootMemory
/// ```
extension WatchMemory {
    static let magic = Array("DWMEMORY".utf8)
    static let format: UInt32 = 1
    private static let headerSize = 24
    static let longestNote = 1 << 16

    /// The bytes to be kept.
    public func encoded() -> [UInt8] {
        precondition(note.count <= Self.longestNote, "a note of more than 64 KiB")
        var bytes: [UInt8] = []
        let memories = rootIdentifiers.flatMap { id in (roots[id] ?? []).map { (id, $0) } }
        bytes.reserveCapacity(128 + memories.reduce(note.count) { $0 + $1.0.utf8.count + $1.1.bytes.count + 64 })
        bytes += Self.magic
        bytes.append(littleEndian: Self.format)
        bytes += [UInt8](repeating: 0, count: Self.headerSize - bytes.count)
        bytes.append(littleEndian: UInt32(note.count))
        bytes += note
        bytes.append(littleEndian: UInt32(memories.count))
        for (id, root) in memories { Self.append(id, root, to: &bytes) }
        var header: [UInt8] = []
        header.append(littleEndian: bytes.withUnsafeBytes { CRC32C.checksum(.init(rebasing: $0[Self.headerSize...])) })
        header.append(littleEndian: UInt64(bytes.count - Self.headerSize))
        bytes.replaceSubrange(Self.magic.count + 4..<Self.headerSize, with: header)
        return bytes
    }

    private static func append(_ id: String, _ root: RootMemory, to bytes: inout [UInt8]) {
        bytes.append(littleEndian: UInt16(id.utf8.count))
        bytes += id.utf8
        bytes.append(littleEndian: root.identity.fileSystem.type)
        bytes.append(littleEndian: root.identity.fileSystem.identifier)
        bytes.append(littleEndian: root.identity.inode)
        bytes.append(littleEndian: UInt64(root.bytes.count))
        bytes += root.bytes
    }

    /// The memory that these bytes are; throws for any that ``encoded()`` did not give.
    public init(decoding bytes: [UInt8]) throws(WatchMemoryError) {
        self = try withBytes(of: bytes) { (buffer) throws(WatchMemoryError) in
            var cursor = ByteCursor(buffer)
            guard buffer.starts(with: Self.magic) else { throw WatchMemoryError(.foreign) }
            _ = try cursor.read(count: Self.magic.count)
            let format = try cursor.read(UInt32.self)
            guard format == Self.format else { throw WatchMemoryError(.version(format)) }
            let checksum = try cursor.read(UInt32.self)
            guard try cursor.read(UInt64.self) == UInt64(cursor.rest) else { throw WatchMemoryError(.length) }
            guard CRC32C.checksum(.init(rebasing: buffer[Self.headerSize...])) == checksum else {
                throw WatchMemoryError(.checksum)
            }
            return try WatchMemory(body: &cursor)
        }
    }

    private init(body cursor: inout ByteCursor) throws(WatchMemoryError) {
        self.init()
        let length = try cursor.read(UInt32.self)
        guard length <= Self.longestNote else { throw WatchMemoryError(.malformed("a note that is too long")) }
        note = Array(try cursor.read(count: Int(length)))
        for _ in 0..<(try cursor.read(UInt32.self)) {
            let name = try cursor.read(count: Int(try cursor.read(UInt16.self)))
            guard let id = String(validating: name, as: UTF8.self),
                roots[id, default: []].count < RootMemory.maxOfRoot
            else { throw WatchMemoryError(.malformed("the name of a root")) }
            let fileSystem = FileSystem(type: try cursor.read(), identifier: try cursor.read())
            let identity = RootIdentity(fileSystem: fileSystem, inode: try cursor.read())
            guard let length = Int(exactly: try cursor.read(UInt64.self)) else { throw WatchMemoryError(.length) }
            roots[id, default: []].append(
                try RootMemory(identity: identity, checking: Array(try cursor.read(count: length))))
        }
        guard cursor.isAtEnd else { throw WatchMemoryError(.length) }
    }
}
