import FileValues

/// Trees whose place was taken by a mount, an unmount or another root. Nothing in them counts as deleted: they are kept
/// until they are back, and compared then.
struct ParkedTrees {
    struct ParkedTree {
        let root: Int
        /// The directory that it was in; nil for a whole root.
        let parent: NodeID?
        /// Its top.
        let node: NodeID
        /// The file system if it was a mount or a whole root, by which it is recognised.
        let fileSystem: FileSystem?
    }

    private var trees: [ParkedTree] = []

    /// More are not kept of one root; the oldest is forgotten.
    private static let maxOfRoot = 8

    /// Adds one; returns the top of one that has to be forgotten for it.
    mutating func add(_ tree: ParkedTree) -> NodeID? {
        trees.append(tree)
        let own = trees.indices.filter { trees[$0].root == tree.root }
        return own.count > Self.maxOfRoot ? trees.remove(at: own[0]).node : nil
    }

    /// Removes the last that matches; returns its top.
    mutating func removeLast(where matches: (ParkedTree) -> Bool) -> NodeID? {
        trees.isEmpty ? nil : trees.lastIndex(where: matches).map { trees.remove(at: $0).node }
    }
}
