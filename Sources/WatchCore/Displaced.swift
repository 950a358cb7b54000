import FileValues

/// Directories that are not where they were, kept for a moment in case they appear elsewhere.
struct DisplacedTrees {
    struct Item {
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

    private var items: [Key: Item] = [:]

    var isEmpty: Bool { items.isEmpty }

    func contains(_ root: Int, _ inode: UInt64) -> Bool { items[Key(root: root, inode: inode)] != nil }

    /// Adds one; returns an earlier one with its number.
    mutating func add(_ item: Item, _ root: Int, _ inode: UInt64) -> Item? {
        items.updateValue(item, forKey: Key(root: root, inode: inode))
    }

    mutating func remove(_ root: Int, _ inode: UInt64) -> Item? { remove(Key(root: root, inode: inode)) }

    mutating func remove(_ key: Key) -> Item? { items.removeValue(forKey: key) }

    /// Those that were at a path or below it.
    func keys(_ root: Int, below path: BytePath) -> [Key] {
        items.filter { $0.key.root == root && $0.value.path.isInside(path) }.map(\.key)
    }

    /// Those that were there at the call before.
    mutating func age() -> [Key] {
        let due = items.filter(\.value.isOld).map(\.key)
        for key in items.keys { items[key]?.isOld = true }
        return due
    }
}

/// A tree that is out of reach, with all that is known of it: its file system was unmounted, or something else was
/// mounted or put over it.
struct ShelvedTree {
    let root: Int
    /// The directory that it was in; nil for a whole root.
    let parent: NodeID?
    /// Its top.
    let node: NodeID
    /// What it is, to be known again by: the file system where it was the root of a mount or a whole root.
    let fileSystem: FileSystem?
}

/// Trees whose place was taken by a mount, an unmount or another root. Nothing in them counts as deleted: they are kept
/// until they are back, and compared then.
struct Shelf {
    private var trees: [ShelvedTree] = []

    /// So many are kept for each root; the oldest is forgotten.
    private static let mostOfRoot = 8

    /// Adds one; returns the top of one that has to be forgotten for it.
    mutating func add(_ tree: ShelvedTree) -> NodeID? {
        trees.append(tree)
        let own = trees.indices.filter { trees[$0].root == tree.root }
        return own.count > Self.mostOfRoot ? trees.remove(at: own[0]).node : nil
    }

    /// Takes the last of them off; returns its top.
    mutating func removeLast(where matches: (ShelvedTree) -> Bool) -> NodeID? {
        trees.isEmpty ? nil : trees.lastIndex(where: matches).map { trees.remove(at: $0).node }
    }
}
