import FileValues
import Glibc

/// All mounts of a mount namespace at one moment.
public struct MountTable: Hashable, Sendable {
    /// The mounts by their numbers.
    public let mounts: [Int: Mount]

    /// A table of these mounts.
    public init(_ mounts: some Sequence<Mount>) {
        self.mounts = Dictionary(mounts.map { ($0.identifier, $0) }) { $1 }
    }

    /// Parses the text of a mountinfo file; malformed lines are skipped.
    public init(parsing text: some Collection<UInt8>) {
        self.init(text.split(separator: UInt8(ascii: "\n")).compactMap { Mount(line: $0) })
    }

    /// Reads a mountinfo file from its start; the caller keeps `descriptor`.
    public init(reading descriptor: Int32) throws(SystemCallError) {
        self.init(parsing: try contents(ofKernelFile: descriptor, name: "mountinfo"))
    }

    /// The current table of this process.
    public static func ofProcess() throws(SystemCallError) -> MountTable {
        MountTable(parsing: try contents(of: "/proc/self/mountinfo"))
    }

    /// The differences between this table and `later`.
    public func changes(to later: MountTable) -> MountChanges {
        var changes = MountChanges()
        for (identifier, before) in mounts {
            guard let after = later.mounts[identifier] else {
                changes.removed.append(before)
                continue
            }
            if after == before { continue }
            // Numbers are reused: it is the same mount only if the same thing is mounted.
            if after.device == before.device, after.root == before.root, after.type == before.type,
                after.source == before.source
            {
                changes.changed.append(MountChanges.Pair(before: before, after: after))
            } else {
                changes.removed.append(before)
                changes.added.append(after)
            }
        }
        for (identifier, after) in later.mounts where mounts[identifier] == nil { changes.added.append(after) }
        changes.added.sort { $0.identifier < $1.identifier }
        changes.removed.sort { $0.identifier < $1.identifier }
        changes.changed.sort { $0.after.identifier < $1.after.identifier }
        return changes
    }
}

/// The differences between two readings of a mount table. An unmount and a mount with the same number in between are
/// not detected.
public struct MountChanges: Hashable, Sendable {
    /// One mount before and after.
    public struct Pair: Hashable, Sendable {
        /// The earlier state.
        public let before: Mount
        /// The later state: moved, remounted with other options, or with other propagation.
        public let after: Mount
    }

    /// Mounted, in the order of their numbers.
    public internal(set) var added: [Mount] = []
    /// Unmounted, with their last state.
    public internal(set) var removed: [Mount] = []
    /// Still mounted, but changed.
    public internal(set) var changed: [Pair] = []

    /// Whether there is no difference.
    public var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
}

/// All bytes of a file in /proc, from its start. Such a file has no size, and read(2) returns whole records.
func contents(ofKernelFile descriptor: Int32, name: BytePath) throws(SystemCallError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = try systemCall("pread", path: name) {
            pread(descriptor, &buffer, buffer.count, off_t(bytes.count))
        }
        if count == 0 { return bytes }
        bytes += buffer[..<count]
    }
}
