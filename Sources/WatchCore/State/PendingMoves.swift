import FileValues

/// Directories that were moved: those that were not found again yet, and those that are not listed yet where they are now.
struct PendingMoves {
    /// A directory that is not where it was, kept for a moment in case it appears elsewhere.
    struct Displaced {
        let node: NodeID
        /// Where it was.
        let path: BytePath
        fileprivate var isOld = false

        init(node: NodeID, path: BytePath) {
            self.node = node
            self.path = path
        }
    }

    struct Key: Hashable {
        fileprivate let root: Int
        fileprivate let inode: UInt64
    }

    private var displaced: [Key: Displaced] = [:]
    /// The paths at which directories were reported that are not listed yet where they are now; their files, too. A directory
    /// below may have been renamed before.
    private(set) var reportedPaths: [NodeID: BytePath] = [:]
    /// Paths of directories that are listed elsewhere now. They are reported as gone after their entries.
    private(set) var departed: [(root: Int, path: BytePath)] = []

    /// Whether no directory is displaced.
    @inline(__always)
    var isEmpty: Bool { displaced.isEmpty }

    /// Whether a displaced directory has this inode.
    @inline(__always)
    func contains(_ root: Int, inode: UInt64) -> Bool { displaced[Key(root: root, inode: inode)] != nil }

    /// Adds a displaced directory; returns an earlier one with its inode.
    mutating func add(_ item: Displaced, _ root: Int, inode: UInt64) -> Displaced? {
        displaced.updateValue(item, forKey: Key(root: root, inode: inode))
    }

    mutating func remove(_ root: Int, inode: UInt64) -> Displaced? { remove(Key(root: root, inode: inode)) }

    mutating func remove(_ key: Key) -> Displaced? { displaced.removeValue(forKey: key) }

    /// The displaced directories that were at a path or below it.
    func keys(_ root: Int, below path: BytePath) -> [Key] {
        displaced.filter { $0.key.root == root && $0.value.path.isInside(path) }.map(\.key)
    }

    /// Returns the displaced directories that were there at the last call.
    mutating func age() -> [Key] {
        let old = displaced.filter(\.value.isOld).map(\.key)
        for key in displaced.keys { displaced[key]?.isOld = true }
        return old
    }

    mutating func setReportedPath(_ path: BytePath?, of node: NodeID) { reportedPaths[node] = path }

    mutating func removeReportedPath(of node: NodeID) -> BytePath? { reportedPaths.removeValue(forKey: node) }

    mutating func addDeparted(_ root: Int, _ path: BytePath) { departed.append((root, path)) }

    mutating func removeDeparted(_ root: Int, _ path: BytePath) {
        departed.removeAll { $0.root == root && $0.path == path }
    }
}
