package import FileValues

/// The memory of one root, as the bytes in the file: directories, each with its entries.
///
/// A directory names its parent by its position among those before it, so that no path is repeated. 18 bytes and its
/// name for a directory, 43 bytes and its name for a file, little endian:
/// ```
/// directory  parent u32 (none: all ones) · inode u64 · files u32 · name length u16 · name, then its files
/// file       kind u8 (its highest bit: left alone) · inode u64 · size u64 · modified i64, u32 · changed i64, u32 · name length u16 · name
/// ```
/// A value, whose content was checked.
package struct RootMemory: Hashable, Sendable {
    /// An entry that is no directory, with the identity with which it was acknowledged.
    package struct Entry: Hashable, Sendable {
        package let name: BytePath
        package let kind: FileKind
        package let identity: FileIdentity
        /// It was acknowledged as one that the receiver has no use for.
        package var isLeftAlone = false
    }

    /// How many memories are kept of directories that were at one root's path, one after the other.
    static let maxOfRoot = 4

    package let identity: RootIdentity
    package private(set) var bytes: [UInt8] = []
    /// How many directories there are, the root included.
    package private(set) var directories = 0
    package private(set) var files = 0
    /// The position of the number of files of the last directory, and that number.
    private var last = (place: 0, files: UInt32(0))

    /// The root itself with nothing in it; ``addDirectory(named:inode:in:)`` goes on from position 0.
    package init(identity: RootIdentity) {
        self.identity = identity
        _ = append(parent: .max, inode: identity.inode, name: "")
    }

    /// A memory from bytes of unknown origin; throws if they are none.
    package init(identity: RootIdentity, checking bytes: [UInt8]) throws(WatchMemoryError) {
        self.identity = identity
        self.bytes = bytes
        var (directories, files) = (0, 0)
        try Self.walk(bytes, { _, _, _ in directories += 1 }, { _ in files += 1 })
        self.directories = directories
        self.files = files
    }

    package static func == (left: RootMemory, right: RootMemory) -> Bool {
        left.identity == right.identity && left.bytes == right.bytes
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
        hasher.combine(bytes)
    }

    /// Adds a directory below one that was added before, and returns its place; the entries that are added next are in
    /// it.
    package mutating func addDirectory(named name: BytePath, inode: UInt64, in parent: Int) -> Int {
        precondition(parent >= 0 && parent < directories && !name.isEmpty, "a directory without a parent")
        return append(parent: UInt32(parent), inode: inode, name: name)
    }

    /// Adds an entry to the directory that was added last.
    package mutating func add(_ entry: Entry) {
        bytes.append(entry.kind.code | (entry.isLeftAlone ? leftAloneMark : 0))
        bytes.append(littleEndian: entry.identity.inode)
        bytes.append(littleEndian: entry.identity.size)
        append(entry.identity.modified)
        append(entry.identity.changed)
        append(entry.name)
        files += 1
        last.files += 1
        for byte in 0..<4 { bytes[last.place + byte] = UInt8(truncatingIfNeeded: last.files >> (8 * byte)) }
    }

    private mutating func append(parent: UInt32, inode: UInt64, name: BytePath) -> Int {
        bytes.append(littleEndian: parent)
        bytes.append(littleEndian: inode)
        last = (bytes.count, 0)
        bytes.append(littleEndian: UInt32(0))
        append(name)
        directories += 1
        return directories - 1
    }

    private mutating func append(_ time: FileTime) {
        bytes.append(littleEndian: time.seconds)
        bytes.append(littleEndian: time.nanoseconds)
    }

    private mutating func append(_ name: BytePath) {
        bytes.append(littleEndian: UInt16(name.bytes.count))
        bytes.append(contentsOf: name.bytes)
    }
}

extension RootMemory {
    /// Calls `directory` with the position of each directory's parent (nil for the root), its name and its inode, and
    /// `entry` with each of its entries.
    package func forEach(directory: (Int?, BytePath, UInt64) -> Void, entry: (Entry) -> Void) {
        do throws(WatchMemoryError) { try Self.walk(bytes, directory, entry) } catch {
            preconditionFailure("a memory that was checked: \(error)")
        }
    }

    /// The same without the entries that a rule excludes, by paths below the root.
    package func without(_ exclude: (BytePath, FileKind) -> Bool) -> RootMemory {
        var rest = RootMemory(identity: identity)
        // Of each directory its position in the rest and its path; nil for one that is excluded.
        var kept: [(place: Int, path: BytePath)?] = []
        forEach(
            directory: { parent, name, inode in
                guard let parent else { return kept.append((0, "")) }
                guard let above = kept[parent], !exclude(above.path.appending(name), .directory) else {
                    return kept.append(nil)
                }
                kept.append((rest.addDirectory(named: name, inode: inode, in: above.place), above.path.appending(name)))
            },
            entry: { entry in
                guard let last = kept.last, let above = last, !exclude(above.path.appending(entry.name), entry.kind)
                else { return }
                rest.add(entry)
            })
        return rest
    }

    /// Longer names are on no Linux file system.
    private static let longestName = 1023
    /// Deeper than any path that open(2) accepts.
    private static let deepest: UInt16 = 2048

    private static func walk(
        _ bytes: [UInt8], _ directory: (Int?, BytePath, UInt64) -> Void, _ entry: (Entry) -> Void
    ) throws(WatchMemoryError) {
        try withBytes(of: bytes) { (buffer) throws(WatchMemoryError) in
            var cursor = ByteCursor(buffer)
            var depths: [UInt16] = []
            repeat {
                let parent = try cursor.read(UInt32.self)
                let inode = try cursor.read(UInt64.self)
                let files = try cursor.read(UInt32.self)
                if depths.isEmpty {
                    guard parent == .max, try cursor.read(UInt16.self) == 0 else {
                        throw WatchMemoryError(.malformed("it does not begin with a root"))
                    }
                    depths.append(0)
                    directory(nil, "", inode)
                } else {
                    guard Int(parent) < depths.count, depths[Int(parent)] < deepest else {
                        throw WatchMemoryError(.malformed("a directory without a parent"))
                    }
                    let name = try readName(&cursor)
                    depths.append(depths[Int(parent)] + 1)
                    directory(Int(parent), name, inode)
                }
                for _ in 0..<files { entry(try readEntry(&cursor)) }
            } while !cursor.isAtEnd
        }
    }

    private static func readEntry(_ cursor: inout ByteCursor) throws(WatchMemoryError) -> Entry {
        let code = try cursor.read(UInt8.self)
        guard let kind = FileKind(code: code & ~leftAloneMark) else {
            throw WatchMemoryError(.malformed("an entry of no kind"))
        }
        let identity = FileIdentity(
            inode: try cursor.read(), size: try cursor.read(), modified: try readTime(&cursor),
            changed: try readTime(&cursor))
        return Entry(
            name: try readName(&cursor), kind: kind, identity: identity, isLeftAlone: code & leftAloneMark != 0)
    }

    private static func readTime(_ cursor: inout ByteCursor) throws(WatchMemoryError) -> FileTime {
        let time = FileTime(seconds: try cursor.read(), nanoseconds: try cursor.read())
        guard time.nanoseconds < 1_000_000_000 else { throw WatchMemoryError(.malformed("a time that is none")) }
        return time
    }

    private static func readName(_ cursor: inout ByteCursor) throws(WatchMemoryError) -> BytePath {
        let bytes = try cursor.read(count: Int(try cursor.read(UInt16.self)))
        guard bytes.count <= longestName, !bytes.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") }) else {
            throw WatchMemoryError(.malformed("a name that is none"))
        }
        let name = BytePath(bytes)
        guard !name.isEmpty, name != ".", name != ".." else {
            throw WatchMemoryError(.malformed("a name that is none"))
        }
        return name
    }
}

/// In the kind of an entry in the file.
private let leftAloneMark: UInt8 = 0x80

extension FileKind {
    /// Kinds of entries by their number in the file; directories have none, being no entries.
    private static let codes: [FileKind] = [
        .regular, .symbolicLink, .fifo, .socket, .characterDevice, .blockDevice, .unknown,
    ]

    fileprivate var code: UInt8 {
        guard let code = Self.codes.firstIndex(of: self) else { preconditionFailure("a directory is no entry") }
        return UInt8(code)
    }

    fileprivate init?(code: UInt8) {
        guard Int(code) < Self.codes.count else { return nil }
        self = Self.codes[Int(code)]
    }
}
