package import FileValues

/// A tree that is out of reach, with all that is known of it: its file system was unmounted, or something else was
/// mounted or put over it.
package struct ShelvedTree {
    package let root: Int
    /// The directory that it was in; nil for a whole root.
    package let parent: NodeID?
    /// Its top.
    package let node: NodeID
    /// What it is, to be known again by: the file system where it was the root of a mount or a whole root.
    package let fileSystem: FileSystem?
}

/// Trees whose place was taken by a mount, an unmount or another root. Nothing in them counts as deleted: they are kept
/// until they are back, and compared then.
extension TreeCore {
    /// So many are kept for each root; the oldest is forgotten.
    private static let mostShelved = 8

    /// Takes a tree out of reach, as it is known. Its watches are given up: some are gone with their file system, the
    /// others tell of what no path leads to.
    package mutating func shelve(_ node: NodeID, _ fileSystem: FileSystem?) {
        let root = Int(table[node].root)
        let parent = table.parent(of: node)
        if parent != nil {
            let path = table.path(of: node)
            for directory in table.subtree(of: node).reversed() {
                if let told = toldPaths[directory] { forgetTold(directory, told) }
            }
            if !limbo.isEmpty { returnFromLimbo(root, below: path) }
            notify(root, path, .treeGone)
        }
        table.detach(node)
        for directory in table.subtree(of: node) {
            releaseWatch(of: directory)
            setCoverage(directory, .unwatched)
        }
        count(node, as: -1)
        shelf.append(ShelvedTree(root: root, parent: parent, node: node, fileSystem: fileSystem))
        let own = shelf.indices.filter { shelf[$0].root == root }
        if own.count > Self.mostShelved { forgetShelved(own[0]) }
    }

    /// The tree with this top that was in this place, if it is known; out of the shelf, and detached.
    package mutating func unshelve(
        _ root: Int, in parent: NodeID?, named name: NameID?, _ fileSystem: FileSystem?, inode: UInt64
    ) -> NodeID? {
        guard !shelf.isEmpty else { return nil }
        let place = shelf.lastIndex { tree in
            tree.root == root && tree.parent == parent && tree.fileSystem == fileSystem
                && table[tree.node].inode == inode && (name == nil || table.name(of: tree.node) == name)
        }
        guard let place else { return nil }
        let node = shelf.remove(at: place).node
        count(node, as: 1)
        return node
    }

    /// Forgets what was in directories that are gone for good.
    package mutating func sweepShelf() {
        while let place = shelf.firstIndex(where: { $0.parent.map { !table.isValid($0) } ?? false }) {
            forgetShelved(place)
        }
    }

    private mutating func forgetShelved(_ place: Int) {
        let node = shelf.remove(at: place).node
        count(node, as: 1)
        drop(node, path: "", isSilent: true)
    }

    /// What is on the shelf is not in the root's numbers.
    private mutating func count(_ node: NodeID, as sign: Int) {
        let root = Int(table[node].root)
        for directory in table.subtree(of: node) {
            roots[root].directories += sign
            for (name, file) in files.files(from: table[directory].firstFile) {
                roots[root].knownFiles += sign
                guard file.state == .writing || file.state == .resting else { continue }
                let key = DirtyNames.Key(directory: directory, name: name)
                if sign > 0 { roots[root].unsettled.insert(key) } else { roots[root].unsettled.remove(key) }
            }
        }
    }
}

/// Mounts inside a root.
extension TreeCore {
    /// The mount table changed in these places, as paths from the process's root directory.
    package mutating func takeMounts(_ points: Set<BytePath>) {
        doubtAllWays()
        for root in roots.indices where roots[root].isLive {
            roots[root].mayHaveMoved = true
            guard let place = roots[root].place else { continue }
            for point in points {
                guard let path = point.relative(to: place), !path.isEmpty else { continue }
                lookAtMount(root, path)
            }
        }
    }

    private mutating func lookAtMount(_ root: Int, _ path: BytePath) {
        var node = roots[root].top
        for name in path.components {
            let name = table.names.intern(name)
            guard let child = table.child(of: node, named: name) else { return note(node, name, Hints(signs: [])) }
            node = child
        }
        // Opened, not looked at: the root of one disk has the same number as that of any other.
        survey(node, isRecursive: true)
    }

    /// The directories of a subtree that lie on mounts in it; their tops are told as out of reach.
    package mutating func tellMountsGone(below path: BytePath, among directories: [NodeID]) -> Set<NodeID> {
        var inside: Set<NodeID> = []
        // Each directory comes before what is in it.
        for directory in directories {
            if let parent = table.parent(of: directory), inside.contains(parent) {
                inside.insert(directory)
            } else if mounts[directory] != nil {
                inside.insert(directory)
                notify(Int(table[directory].root), path.appending(table.path(of: directory)), .treeGone)
            }
        }
        return inside
    }
}
