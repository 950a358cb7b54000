import FileValues

/// Directories that come, go, move and take each other's places.
struct Moves {
    var events: Events
    private var displaced = DisplacedTrees()
    private var shelf = Shelf()
    /// Directories that were moved, and are not listed yet where they are now: under which paths they, and what is in
    /// them, were reported. A directory below may have been renamed before.
    private(set) var reportedPaths: [NodeID: BytePath] = [:]
    /// Paths of directories that are listed elsewhere now; they are reported as gone after what was in them.
    private var departed: [(root: Int, path: BytePath)] = []

    init(events: Events) { self.events = events }

    var watches: Watches {
        @inline(__always) _read { yield events.watches }
        @inline(__always) _modify { yield &events.watches }
    }
    var agenda: Agenda {
        @inline(__always) _read { yield events.watches.agenda }
        @inline(__always) _modify { yield &events.watches.agenda }
    }
    var tree: Tree {
        @inline(__always) _read { yield events.watches.agenda.tree }
        @inline(__always) _modify { yield &events.watches.agenda.tree }
    }

    /// Whether something waits for ``age()``.
    var isWaiting: Bool { events.isWaiting || !displaced.isEmpty }

    mutating func report(
        _ root: Int, _ path: BytePath, _ kind: WatchNotice.Kind, identity: FileIdentity? = nil, hints: Hints? = nil
    ) {
        // What takes a path must not be reported before what had it is reported as gone.
        if kind == .directoryAppeared { makeRoom(root, path) }
        agenda.roots[root].counts.add(kind)
        if kind == .directoryAppeared || kind == .directoryVanished { tree.memoryChanges += 1 }
        agenda.output.notices.append(
            WatchNotice(root: tree.roots[root].id, path: path, kind: kind, identity: identity, mask: hints?.mask ?? []))
    }

    /// Something that was reported under this name is not there any more.
    mutating func reportVanished(_ directory: NodeID, _ name: NameID, _ hints: Hints) {
        guard tree.setFile(directory, name, nil) != nil else { return }
        report(tree.root(of: directory), reportedPath(directory, name), .vanished, hints: hints)
    }

    /// The path under which a name was reported last.
    @inline(__always)
    func reportedPath(_ directory: NodeID, _ name: NameID) -> BytePath {
        (reportedPaths[directory] ?? tree.directories.path(of: directory)).appending(tree.name(name))
    }

    /// Ends what has waited for its other half since the call before.
    mutating func age() {
        events.age()
        drop(displaced.age())
    }

    /// Ends a root's life: what waits in it is known where it was.
    mutating func endLife(_ root: Int) {
        events.endLife(root)
        restoreDisplaced(root, below: "")
    }
}

// MARK: - Displaced directories

extension Moves {
    @inline(__always)
    func isDisplaced(inode: UInt64, in root: Int) -> Bool { displaced.contains(root, inode) }

    /// Takes a directory out of its place without a report: it may be found elsewhere.
    mutating func displace(_ node: NodeID) {
        guard !tree.isTop(node) else { return }
        let path = tree.directories.path(of: node)
        let inode = tree[node].inode
        // The number of one that was not seen in this life may belong to another by now.
        if inode == 0 || tree[node].isRecalled || watches.isContested(node) { return drop(node, path: path) }
        tree.detach(node)
        if let earlier = displaced.add(DisplacedTrees.Item(node: node, path: path), tree.root(of: node), inode) {
            drop(earlier.node, path: earlier.path)
        }
    }

    /// The directory of that inode that is known elsewhere and may have come to `parent`; detached from where it was.
    mutating func detachMoved(
        inode: UInt64, born: BirthMark, _ sources: [MoveSource], to parent: NodeID
    ) -> (node: NodeID, path: BytePath)? {
        if let item = displaced.remove(tree.root(of: parent), inode) {
            if !tree[item.node].born.differs(from: born) { return (item.node, item.path) }
            // It was deleted: this one was given its number.
            drop(item.node, path: item.path)
        }
        for source in sources {
            guard let child = source.child, tree.directories.isValid(child), !tree.isTop(child),
                tree[child].inode == inode, !tree[child].born.differs(from: born), tree.isAttached(child),
                !tree.directories.isInside(parent, child)
            else { continue }
            let path = tree.directories.path(of: child)
            tree.detach(child)
            return (child, path)
        }
        return nil
    }

    private mutating func drop(_ keys: [DisplacedTrees.Key]) {
        for key in keys {
            // One may have been dropped along with another.
            if let item = displaced.remove(key) { drop(item.node, path: item.path) }
        }
    }

    /// A whole comparison did not find them elsewhere.
    mutating func dropDisplaced(_ root: Int) { drop(displaced.keys(root, below: "")) }

    /// Whether a displaced directory was moved or deleted can't be asked any more: it is known where it was.
    private mutating func restoreDisplaced(_ root: Int, below path: BytePath) {
        for key in displaced.keys(root, below: path) {
            guard let item = displaced.remove(key) else { continue }
            let name = tree.intern(item.path.name)
            if let parent = tree.find(root, item.path.parent),
                tree.directories.child(of: parent, named: name) == nil
            {
                tree.attach(item.node, to: parent, name: name)
            } else {
                drop(item.node, path: item.path, isSilent: true)
            }
        }
    }

    /// Attaches a detached subtree where it is now. What is in it is reported there once it is listed: a survey of it
    /// must follow.
    mutating func attach(_ node: NodeID, from old: BytePath, to parent: NodeID, _ name: NameID) {
        tree.attach(node, to: parent, name: name)
        let new = tree.directories.path(of: node)
        guard new != old else { return }
        for directory in tree.directories.subtree(of: node) {
            for (name, file) in tree.files(in: directory) where file.isAcknowledged {
                tree.setFile(directory, name, file.unacknowledged)
            }
            let here = tree.directories.path(of: directory)
            let before = reportedPaths[directory] ?? old.appending(here.relative(to: new) ?? "")
            reportedPaths[directory] = tree[directory].wasReported && before != here ? before : nil
        }
    }

    /// Whether a directory, or one above, was moved and is not listed yet where it is now.
    @inline(__always)
    func isMoving(_ directory: NodeID) -> Bool {
        if reportedPaths.isEmpty { return false }
        var node: NodeID? = directory
        while let here = node {
            if reportedPaths[here] != nil { return true }
            node = tree.directories.parent(of: here)
        }
        return false
    }

    /// Reports where a directory that was moved, and the files in it, are now; `seen` is what it was listed with, nil if
    /// it cannot be listed.
    mutating func reportMoved(_ node: NodeID, seen: [NameID: Observation]?) {
        guard let before = reportedPaths.removeValue(forKey: node) else { return }
        let (root, here) = (tree.root(of: node), tree.directories.path(of: node))
        report(root, here, .directoryAppeared)
        for (name, file) in tree.files(in: node) {
            let (old, new) = (before.appending(tree.name(name)), here.appending(tree.name(name)))
            // One that was closed before it was moved is reported as finished, here, by the lookup that is due.
            let isClosed = agenda.roots[root].names[node, name]?.signs.contains(.closed) == true
            if isClosed || seen.map({ !file.isSame(as: $0[name], tree.roots[root].rule) }) == true {
                tree.setFile(node, name, nil)
                report(root, old, .vanished)
                continue
            }
            switch file.state {
            case .reported: report(root, new, .renamed(from: old), identity: file.identity)
            case .writing, .resting:
                report(root, old, .vanished)
                report(root, new, .created, identity: file.identity)
            case .special(let kind):
                report(root, old, .vanished)
                report(root, new, .notRegular(kind))
            }
        }
        departed.append((root, before))
        reportDeparted()
    }

    /// Reports directories as gone that are listed elsewhere, once what was in them is reported.
    private mutating func reportDeparted() {
        for (root, path) in departed.sorted(by: { $0.path.bytes.count > $1.path.bytes.count }) {
            let isLeft = reportedPaths.contains { tree.root(of: $0.key) == root && $0.value.isInside(path) }
            if isLeft { continue }
            departed.removeAll { $0.root == root && $0.path == path }
            report(root, path, .directoryVanished)
        }
    }

    /// A directory is about to be reported at a path: what was reported there is reported as gone.
    private mutating func makeRoom(_ root: Int, _ path: BytePath) {
        if !displaced.isEmpty { drop(displaced.keys(root, below: path)) }
        if !reportedPaths.isEmpty {
            let moved = reportedPaths.filter { tree.root(of: $0.key) == root && $0.value.isInside(path) }
            for (node, before) in moved.sorted(by: { $0.value.bytes.count > $1.value.bytes.count }) {
                forgetReported(node, before)
            }
        }
        if departed.isEmpty { return }
        let due = departed.filter { $0.root == root && $0.path.isInside(path) }
        for (_, path) in due.sorted(by: { $0.path.bytes.count > $1.path.bytes.count }) {
            departed.removeAll { $0.root == root && $0.path == path }
            report(root, path, .directoryVanished)
        }
    }

    /// Reports a directory that was moved as gone from where it was; it is reported anew when it is listed.
    private mutating func forgetReported(_ node: NodeID, _ before: BytePath) {
        let root = tree.root(of: node)
        for (name, _) in tree.files(in: node) {
            tree.setFile(node, name, nil)
            report(root, before.appending(tree.name(name)), .vanished)
        }
        reportedPaths[node] = nil
        tree[node].inode = 0
        tree[node].isRecalled = false
        report(root, before, .directoryVanished)
    }

    /// Forgets a subtree and reports that it is gone: what is in a directory before the directory.
    mutating func drop(_ node: NodeID, path: BytePath, isSilent: Bool = false) {
        let root = tree.root(of: node)
        tree.detach(node)
        // What was in it is reported as gone before it is.
        if !displaced.isEmpty, !isSilent { drop(displaced.keys(root, below: path)) }
        let directories = tree.directories.subtree(of: node)
        let mounted = tree.mounts.isEmpty || isSilent ? [] : reportMountsGone(below: path, among: directories)
        for directory in directories.reversed() {
            let here =
                reportedPaths.removeValue(forKey: directory)
                ?? path.appending(tree.directories.path(of: directory))
            let isSilent = isSilent || mounted.contains(directory)
            for (name, _) in tree.files(in: directory) {
                tree.setFile(directory, name, nil)
                if !isSilent { report(root, here.appending(tree.name(name)), .vanished) }
            }
            if tree[directory].wasReported, !isSilent { report(root, here, .directoryVanished) }
            watches.release(directory)
            tree.setCoverage(directory, .unwatched)
            tree.remove(directory)
        }
        if !departed.isEmpty { reportDeparted() }
    }

    /// The directories of a subtree that lie on mounts in it; their tops are reported as out of reach.
    private mutating func reportMountsGone(below path: BytePath, among directories: [NodeID]) -> Set<NodeID> {
        var inside: Set<NodeID> = []
        // Each directory comes before what is in it.
        for directory in directories {
            if let parent = tree.directories.parent(of: directory), inside.contains(parent) {
                inside.insert(directory)
            } else if tree.mounts[directory] != nil {
                inside.insert(directory)
                report(tree.root(of: directory), path.appending(tree.directories.path(of: directory)), .treeGone)
            }
        }
        return inside
    }
}

// MARK: - The shelf

extension Moves {
    /// Takes a tree out of reach, as it is known. Its watches are given up: some are gone with their file system, the
    /// others tell of what no path leads to.
    mutating func shelve(_ node: NodeID, _ fileSystem: FileSystem?) {
        let root = tree.root(of: node)
        let parent = tree.directories.parent(of: node)
        if parent != nil {
            let path = tree.directories.path(of: node)
            for directory in tree.directories.subtree(of: node).reversed() {
                if let before = reportedPaths[directory] { forgetReported(directory, before) }
            }
            if !displaced.isEmpty { restoreDisplaced(root, below: path) }
            report(root, path, .treeGone)
        }
        tree.detach(node)
        watches.releaseAll(below: node)
        tree.setCounted(node, false)
        let shelved = ShelvedTree(root: root, parent: parent, node: node, fileSystem: fileSystem)
        if let oldest = shelf.add(shelved) { forgetShelved(oldest) }
    }

    /// The tree with this top that was in this place, if it is on the shelf; off it, and detached.
    mutating func unshelve(
        _ root: Int, in parent: NodeID?, named name: NameID?, _ fileSystem: FileSystem?, inode: UInt64
    ) -> NodeID? {
        let node = shelf.removeLast { shelved in
            let top = events.watches.agenda.tree[shelved.node]
            return shelved.root == root && shelved.parent == parent && shelved.fileSystem == fileSystem
                && top.inode == inode && (name == nil || top.name == name)
        }
        if let node { tree.setCounted(node, true) }
        return node
    }

    /// Another directory lies at a root's path than before. What is known of that one is kept on the shelf, as it may have
    /// been unmounted, covered or moved; of this one nothing is known, unless it lay there earlier.
    mutating func replaceTop(of root: Int, _ before: RootIdentity, by now: RootIdentity) {
        shelve(tree.roots[root].top, before.fileSystem)
        tree.replaceTop(of: root, with: unshelve(root, in: nil, named: nil, now.fileSystem, inode: now.inode))
    }

    /// Forgets what was in directories that are gone for good.
    mutating func sweepShelf() {
        while let node = shelf.removeLast(where: {
            $0.parent.map { !events.watches.agenda.tree.directories.isValid($0) } ?? false
        }) {
            forgetShelved(node)
        }
    }

    private mutating func forgetShelved(_ node: NodeID) {
        tree.setCounted(node, true)
        drop(node, path: "", isSilent: true)
    }
}
