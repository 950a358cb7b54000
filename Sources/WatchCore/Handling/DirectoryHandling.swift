import FileValues

/// Directories that appear, vanish, move and take each other's places.
enum DirectoryHandling {
    /// Reports a directory that was not reported before; returns it.
    static func reportAppeared(_ node: NodeID, inode: UInt64, in state: inout TreeState) -> NodeID {
        state.tree[node].inode = inode
        reportAppeared(state.tree.root(of: node), state.tree.directories.path(of: node), in: &state)
        return node
    }

    private static func reportAppeared(_ root: Int, _ path: BytePath, in state: inout TreeState) {
        reportGone(root, below: path, in: &state)
        state.report(root, path, .directoryAppeared)
    }

    /// A directory is about to be reported at a path: whatever was reported there or below it is reported as gone first.
    private static func reportGone(_ root: Int, below path: BytePath, in state: inout TreeState) {
        if !state.moves.isEmpty { drop(state.moves.keys(root, below: path), in: &state) }
        if !state.moves.reportedPaths.isEmpty {
            let moved = state.moves.reportedPaths.filter {
                state.tree.root(of: $0.key) == root && $0.value.isInside(path)
            }
            for (node, before) in moved.sorted(by: { $0.value.bytes.count > $1.value.bytes.count }) {
                reportGone(node, from: before, in: &state)
            }
        }
        if state.moves.departed.isEmpty { return }
        let due = state.moves.departed.filter { $0.root == root && $0.path.isInside(path) }
        for (_, path) in due.sorted(by: { $0.path.bytes.count > $1.path.bytes.count }) {
            state.moves.removeDeparted(root, path)
            state.report(root, path, .directoryVanished)
        }
    }

    /// Reports a directory that was moved as gone from where it was; it is reported anew once it is listed.
    private static func reportGone(_ node: NodeID, from before: BytePath, in state: inout TreeState) {
        let root = state.tree.root(of: node)
        for (name, _) in state.tree.files(in: node) {
            state.tree.setFile(node, name, nil)
            state.report(root, before.appending(state.tree.name(name)), .vanished)
        }
        state.moves.setReportedPath(nil, of: node)
        state.tree[node].inode = 0
        state.tree[node].isRecalled = false
        state.report(root, before, .directoryVanished)
    }
}

// MARK: - Displaced directories

extension DirectoryHandling {
    /// Detaches a directory without a report: it may be found elsewhere.
    static func displace(_ node: NodeID, in state: inout TreeState) {
        guard !state.tree.isTop(node) else { return }
        let path = state.tree.directories.path(of: node)
        let inode = state.tree[node].inode
        // The inode number of one that was not listed since a restart may belong to another by now.
        if inode == 0 || state.tree[node].isRecalled || state.watches.isContested(state.tree[node].watch) {
            return drop(node, path: path, in: &state)
        }
        state.tree.detach(node)
        let displaced = PendingMoves.Displaced(node: node, path: path)
        if let earlier = state.moves.add(displaced, state.tree.root(of: node), inode: inode) {
            drop(earlier.node, path: earlier.path, in: &state)
        }
    }

    /// The directory with an inode that is known elsewhere and may have come to `parent`; detached from where it was.
    static func detachMoved(
        inode: UInt64, born: BirthMark, _ sources: [MoveSource], to parent: NodeID, in state: inout TreeState
    ) -> (node: NodeID, path: BytePath)? {
        if let item = state.moves.remove(state.tree.root(of: parent), inode: inode) {
            if !state.tree[item.node].born.differs(from: born) { return (item.node, item.path) }
            // It was deleted, and this one was given its inode number.
            drop(item.node, path: item.path, in: &state)
        }
        for source in sources {
            guard let child = source.child, state.tree.directories.isValid(child), !state.tree.isTop(child),
                state.tree[child].inode == inode, !state.tree[child].born.differs(from: born),
                state.tree.isAttached(child), !state.tree.directories.isInside(parent, child)
            else { continue }
            let path = state.tree.directories.path(of: child)
            state.tree.detach(child)
            return (child, path)
        }
        return nil
    }

    private static func drop(_ keys: [PendingMoves.Key], in state: inout TreeState) {
        for key in keys {
            // One may have been dropped along with another.
            if let item = state.moves.remove(key) { drop(item.node, path: item.path, in: &state) }
        }
    }

    /// Drops the directories that were displaced before the last call.
    static func age(in state: inout TreeState) { drop(state.moves.age(), in: &state) }

    /// Drops a root's displaced directories: a comparison of the whole tree did not find them elsewhere.
    static func dropDisplaced(of root: Int, in state: inout TreeState) {
        drop(state.moves.keys(root, below: ""), in: &state)
    }

    /// Puts displaced directories back where they were: they are out of reach, and cannot be found elsewhere any more.
    static func restoreDisplaced(_ root: Int, below path: BytePath, in state: inout TreeState) {
        for key in state.moves.keys(root, below: path) {
            guard let item = state.moves.remove(key) else { continue }
            let name = state.tree.intern(item.path.name)
            if let parent = state.tree.find(root, item.path.parent),
                state.tree.directories.child(of: parent, named: name) == nil
            {
                state.tree.attach(item.node, to: parent, name: name)
            } else {
                drop(item.node, path: item.path, isSilent: true, in: &state)
            }
        }
    }

    /// Attaches a detached subtree where it is now. Its entries are reported there once they are listed: a survey must
    /// follow.
    static func attach(
        _ node: NodeID, from old: BytePath, to parent: NodeID, _ name: NameID, in state: inout TreeState
    ) {
        state.tree.attach(node, to: parent, name: name)
        let new = state.tree.directories.path(of: node)
        guard new != old else { return }
        for directory in state.tree.directories.subtree(of: node) {
            for (name, file) in state.tree.files(in: directory) where file.isAcknowledged {
                state.tree.setFile(directory, name, file.unacknowledged)
            }
            let here = state.tree.directories.path(of: directory)
            let before = state.moves.reportedPaths[directory] ?? old.appending(here.relative(to: new) ?? "")
            let isElsewhere = state.tree[directory].wasReported && before != here
            state.moves.setReportedPath(isElsewhere ? before : nil, of: directory)
        }
    }

    /// Reports where a directory that was moved, and its files, are now; `seen` is its listing, nil if it cannot be listed.
    static func reportMoved(_ node: NodeID, seen: [NameID: Observation]?, in state: inout TreeState) {
        guard let before = state.moves.removeReportedPath(of: node) else { return }
        let (root, here) = (state.tree.root(of: node), state.tree.directories.path(of: node))
        reportAppeared(root, here, in: &state)
        for (name, file) in state.tree.files(in: node) {
            let (old, new) = (before.appending(state.tree.name(name)), here.appending(state.tree.name(name)))
            // One that was closed before it was moved is reported as finished, here, by the lookup that is due.
            let isClosed = state.roots[root].lookups[node, name]?.signs.contains(.closed) == true
            if isClosed || seen.map({ !file.isSame(as: $0[name], state.tree.roots[root].rule) }) == true {
                state.tree.setFile(node, name, nil)
                state.report(root, old, .vanished)
                continue
            }
            switch file.state {
            case .reported: state.report(root, new, .renamed(from: old), identity: file.identity)
            case .writing, .resting:
                state.report(root, old, .vanished)
                state.report(root, new, .created, identity: file.identity)
            case .special(let kind):
                state.report(root, old, .vanished)
                state.report(root, new, .notRegular(kind))
            }
        }
        state.moves.addDeparted(root, before)
        reportDeparted(in: &state)
    }

    /// Reports directories as gone that are listed elsewhere, once everything in them is reported.
    private static func reportDeparted(in state: inout TreeState) {
        for (root, path) in state.moves.departed.sorted(by: { $0.path.bytes.count > $1.path.bytes.count }) {
            let isLeft = state.moves.reportedPaths.contains {
                state.tree.root(of: $0.key) == root && $0.value.isInside(path)
            }
            if isLeft { continue }
            state.moves.removeDeparted(root, path)
            state.report(root, path, .directoryVanished)
        }
    }

    /// Removes a subtree, and reports that it is gone: the entries of a directory before the directory.
    static func drop(_ node: NodeID, path: BytePath, isSilent: Bool = false, in state: inout TreeState) {
        let root = state.tree.root(of: node)
        state.tree.detach(node)
        // Directories that were displaced from it are reported as gone before it is.
        if !state.moves.isEmpty, !isSilent { drop(state.moves.keys(root, below: path), in: &state) }
        let directories = state.tree.directories.subtree(of: node)
        let mounted =
            state.tree.mounts.isEmpty || isSilent
            ? [] : reportMountsGone(below: path, among: directories, in: &state)
        for directory in directories.reversed() {
            let here =
                state.moves.removeReportedPath(of: directory)
                ?? path.appending(state.tree.directories.path(of: directory))
            let isSilent = isSilent || mounted.contains(directory)
            for (name, _) in state.tree.files(in: directory) {
                state.tree.setFile(directory, name, nil)
                if !isSilent { state.report(root, here.appending(state.tree.name(name)), .vanished) }
            }
            if state.tree[directory].wasReported, !isSilent { state.report(root, here, .directoryVanished) }
            WatchHandling.release(directory, in: &state)
            state.tree.setCoverage(directory, .unwatched)
            state.tree.remove(directory)
        }
        if !state.moves.departed.isEmpty { reportDeparted(in: &state) }
    }

    /// Reports the mounts in a subtree as out of reach; returns all directories on them.
    private static func reportMountsGone(
        below path: BytePath, among directories: [NodeID], in state: inout TreeState
    ) -> Set<NodeID> {
        var inside: Set<NodeID> = []
        // Each directory comes before those in it.
        for directory in directories {
            if let parent = state.tree.directories.parent(of: directory), inside.contains(parent) {
                inside.insert(directory)
            } else if state.tree.mounts[directory] != nil {
                inside.insert(directory)
                let path = path.appending(state.tree.directories.path(of: directory))
                state.report(state.tree.root(of: directory), path, .treeGone)
            }
        }
        return inside
    }
}

// MARK: - Parked trees

extension DirectoryHandling {
    /// Parks a tree that is out of reach. Its watches are released: some were removed with their file system, the others
    /// are on directories that no path leads to.
    static func park(_ node: NodeID, _ fileSystem: FileSystem?, in state: inout TreeState) {
        let root = state.tree.root(of: node)
        let parent = state.tree.directories.parent(of: node)
        if parent != nil {
            let path = state.tree.directories.path(of: node)
            for directory in state.tree.directories.subtree(of: node).reversed() {
                guard let before = state.moves.reportedPaths[directory] else { continue }
                reportGone(directory, from: before, in: &state)
            }
            if !state.moves.isEmpty { restoreDisplaced(root, below: path, in: &state) }
            state.report(root, path, .treeGone)
        }
        state.tree.detach(node)
        WatchHandling.releaseAll(below: node, in: &state)
        state.tree.setCounted(node, false)
        let parked = ParkedTrees.ParkedTree(root: root, parent: parent, node: node, fileSystem: fileSystem)
        if let oldest = state.parked.add(parked) { forgetParked(oldest, in: &state) }
    }

    /// The parked tree that was in this place, with the same top; detached, and parked no longer. Nil if there is none.
    static func unpark(
        _ root: Int, in parent: NodeID?, named name: NameID?, _ fileSystem: FileSystem?, inode: UInt64,
        from state: inout TreeState
    ) -> NodeID? {
        let node = state.parked.removeLast { parked in
            parked.root == root && parked.parent == parent && parked.fileSystem == fileSystem
                && state.tree[parked.node].inode == inode && (name == nil || state.tree[parked.node].name == name)
        }
        if let node { state.tree.setCounted(node, true) }
        return node
    }

    /// Another directory is at a root's path than before. The former tree is parked, since it may have been unmounted,
    /// covered or moved; the new one is empty, unless it is parked itself.
    static func replaceTop(of root: Int, _ before: RootIdentity, by now: RootIdentity, in state: inout TreeState) {
        park(state.tree.roots[root].top, before.fileSystem, in: &state)
        let top = unpark(root, in: nil, named: nil, now.fileSystem, inode: now.inode, from: &state)
        state.tree.replaceTop(of: root, with: top)
    }

    /// Forgets parked trees whose directory was removed.
    static func sweepParked(in state: inout TreeState) {
        while let node = state.parked.removeLast(where: {
            $0.parent.map { !state.tree.directories.isValid($0) } ?? false
        }) {
            forgetParked(node, in: &state)
        }
    }

    private static func forgetParked(_ node: NodeID, in state: inout TreeState) {
        state.tree.setCounted(node, true)
        drop(node, path: "", isSilent: true, in: &state)
    }
}
