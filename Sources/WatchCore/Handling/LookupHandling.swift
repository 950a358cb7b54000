import FileValues

/// Lookups of names: their requests, and their observations compared with the tree.
enum LookupHandling {
    /// A name whose events come during this many lookups is reported as it is, and again once it has changed.
    private static let maxRounds = 8
    /// A name whose directory was not found under its path in this many lookups waits for a survey of the directory.
    private static let maxTries = 3

    /// Requests a lookup of all names that are due. Those whose directory is gone or displaced are dropped, and those
    /// whose directory was moved wait until that is listed.
    static func send(_ root: Int, in state: inout TreeState) {
        var lookups = PendingLookups()
        swap(&lookups, &state.roots[root].lookups)
        let due = lookups.begin {
            !state.tree.directories.isValid($0) || !state.tree.isAttached($0)
        } hasToWait: {
            state.isMoving($0)
        }
        if let due {
            let request = LookupRequest(due.items, in: state.tree, mayHaveMoved: lookups.mayHaveMoved)
            state.request(root, .lookUp(request))
            lookups.mayHaveMoved = false
        }
        swap(&lookups, &state.roots[root].lookups)
    }

    /// Applies the observations of the lookup under way, one for each name.
    static func apply(_ observations: [Observation], root: Int, in state: inout TreeState) {
        guard let items = state.roots[root].lookups.end() else { return }
        // Renames first, so that an old name is not reported as vanished before its new one is known.
        let hasRenames = items.contains { !$0.hints.sources.isEmpty }
        var void: Set<DirtyNames.Key> = []
        for renames in hasRenames ? [true, false] : [false] {
            for position in items.indices where items[position].hints.sources.isEmpty != renames {
                var item = items[position]
                guard state.tree.directories.isValid(item.directory), !observations[position].isUnreached
                else { continue }
                let key = DirtyNames.Key(directory: item.directory, name: item.name)
                let isElsewhere = state.isUncertain(item.directory) || state.isMoving(item.directory)
                // More events came meanwhile.
                let isVoid =
                    state.roots[root].lookups[item.directory, item.name] != nil
                    || state.renames.contains(item.directory, item.name) || void.contains(key)
                if isElsewhere || isVoid {
                    // Under a path that may be wrong nothing is reported, however long its directories move.
                    if !isElsewhere { item.hints.rounds += 1 }
                    if isElsewhere || item.hints.rounds <= maxRounds {
                        state.roots[root].lookups.addEarlier(item.directory, item.name, item.hints)
                        // The names that it may have had are looked up along with it.
                        for source in item.hints.sources {
                            void.insert(DirtyNames.Key(directory: source.directory, name: source.name))
                        }
                        continue
                    }
                    item.hints.signs.insert(.unstable)
                }
                observe(item.directory, item.name, observations[position], item.hints, in: &state)
            }
        }
        let unreached = items.indices.filter { observations[$0].isUnreached }
        if !unreached.isEmpty { retry(unreached.map { items[$0] }, in: &state) }
    }

    /// Retries names whose directories were not where they are known: lookups of these show where they are.
    private static func retry(_ items: [DirtyNames.Item], in state: inout TreeState) {
        var rechecked: Set<NodeID> = []
        var surveyed: Set<NodeID> = []
        for var item in items where state.tree.directories.isValid(item.directory) {
            if rechecked.insert(item.directory).inserted { state.recheck(item.directory) }
            item.hints.tries += 1
            if item.hints.tries <= maxTries {
                let root = state.tree.root(of: item.directory)
                state.roots[root].lookups.addEarlier(item.directory, item.name, item.hints)
            } else if surveyed.insert(item.directory).inserted {
                state.survey(item.directory, isRecursive: true)
            }
        }
    }

    /// Applies one observation of a name.
    static func observe(
        _ directory: NodeID, _ name: NameID, _ observation: Observation, _ hints: Hints, in state: inout TreeState
    ) {
        guard state.tree.directories.isValid(directory), state.tree.isAttached(directory) else { return }
        switch observation {
        case .absent, .excluded:
            leaveDirectory(directory, name, hints, in: &state)
            state.reportVanished(directory, name, hints)
        case .directory(let inode, let born):
            state.reportVanished(directory, name, hints)
            enterDirectory(directory, name, inode: inode, born: born, isMountRoot: false, hints, in: &state)
        case .mountRoot(let inode):
            state.reportVanished(directory, name, hints)
            enterDirectory(directory, name, inode: inode, born: .unknown, isMountRoot: true, hints, in: &state)
        case .file(let kind, let identity, let links):
            leaveDirectory(directory, name, hints, in: &state)
            if kind == .regular {
                FileHandling.observe(
                    directory, name, identity, links: links, isUnwritten: false, hints, in: &state)
            } else {
                FileHandling.observeSpecial(directory, name, kind, identity, hints, in: &state)
            }
        case .unwritten(let identity, let links):
            leaveDirectory(directory, name, hints, in: &state)
            FileHandling.observe(directory, name, identity, links: links, isUnwritten: true, hints, in: &state)
        case .writing(let identity):
            leaveDirectory(directory, name, hints, in: &state)
            FileHandling.observeOpen(directory, name, identity, hints, in: &state)
        case .failed:
            // Nothing is known, so nothing is reported, and no event needs to come: the next ticks retry.
            state.roots[state.tree.root(of: directory)].lookups.addFailed(directory)
        case .unreached:
            // Retried already, or its directory is surveyed.
            break
        }
    }

    /// Applies an observation of a directory.
    private static func enterDirectory(
        _ parent: NodeID, _ name: NameID, inode: UInt64, born: BirthMark, isMountRoot: Bool, _ hints: Hints,
        in state: inout TreeState
    ) {
        if let existing = state.tree.directories.child(of: parent, named: name) {
            let known = state.tree[existing].inode
            if known != 0, known != inode, isMountRoot || state.tree.mounts[existing] != nil {
                // Mounted or unmounted, not renamed: it has to be opened to be identified.
                state.survey(existing, isRecursive: true)
                return
            }
            if known == inode {
                // Two directories with one watch, and the first is where it is known: one inode in two places.
                WatchHandling.rejectClaims(on: existing, in: &state)
                if state.tree[existing].coverage == .unwatched { state.survey(existing, isRecursive: true) }
                return
            }
            if known == 0 {
                if state.tree[existing].coverage == .unwatched { state.survey(existing, isRecursive: true) }
                if hints.sources.isEmpty { return }
            }
            DirectoryHandling.displace(existing, in: &state)
        }
        if hints.sources.isEmpty, state.moves.contains(state.tree.root(of: parent), inode: inode) {
            // Opening it shows whether it is the displaced one, and what is left in it.
            state.survey(state.tree.add(name, in: parent), isRecursive: true)
        } else if let moved = DirectoryHandling.detachMoved(
            inode: inode, born: born, hints.sources, to: parent, in: &state)
        {
            DirectoryHandling.attach(moved.node, from: moved.path, to: parent, name, in: &state)
            state.survey(moved.node, isRecursive: true)
        } else {
            state.survey(state.tree.add(name, in: parent), isRecursive: true)
        }
    }

    /// Applies an observation of a name that is no directory: one that is known under it has left.
    private static func leaveDirectory(_ parent: NodeID, _ name: NameID, _ hints: Hints, in state: inout TreeState) {
        guard let child = state.tree.directories.child(of: parent, named: name) else { return }
        if let mount = state.tree.mounts[child] {
            // A mount's root is neither deleted nor renamed: it was unmounted before its directory was removed.
            DirectoryHandling.park(child, mount, in: &state)
        } else if hints.signs.contains(.left) {
            DirectoryHandling.drop(child, path: state.tree.directories.path(of: child), in: &state)
        } else {
            DirectoryHandling.displace(child, in: &state)
        }
    }
}

extension LookupRequest {
    /// A request for names in a tree.
    fileprivate init(_ items: [DirtyNames.Item], in tree: borrowing Tree, mayHaveMoved: Bool) {
        self.init(mayHaveMoved: mayHaveMoved)
        self.items.reserveCapacity(items.count)
        var bytes = 0
        for item in items { bytes += tree.directories.names.length(item.name) + 1 }
        names.reserveCapacity(bytes)
        var positions = EntryIndex()
        var last: (node: NodeID, position: Int32) = (.none, -1)
        for item in items {
            if item.directory != last.node {
                last = (item.directory, position(of: item.directory, in: tree, &positions))
            }
            // Whether it may have a writer by then: no event says that it was closed, or the next program may write it
            // already.
            let mayBeOpen =
                item.hints.signs.isDisjoint(with: [.closed, .movedIn]) || item.hints.rounds > 0
                || tree[item.directory, item.name] != nil
            add(tree.directories.names[item.name], in: last.position, asksForWriter: mayBeOpen)
        }
    }

    /// The position of a directory in the request, in which each is listed once.
    private mutating func position(
        of node: NodeID, in tree: borrowing Tree, _ positions: inout EntryIndex
    ) -> Int32 {
        let hash = EntryIndex.hash(node.index, tree[node].name)
        if let known = positions.find(hash: hash, where: { directories[Int($0)].node == node }) { return known }
        let position = Int32(directories.count)
        directories.append(Directory(node: node, path: tree.directories.path(of: node), inode: tree[node].inode))
        if positions.hasRoom(for: position) {
            positions.insert(hash: hash, position)
        } else {
            positions = EntryIndex(capacity: 2 * directories.count, positions: 2 * directories.count)
            for (position, directory) in directories.enumerated() {
                positions.insert(
                    hash: EntryIndex.hash(directory.node.index, tree[directory.node].name), Int32(position))
            }
        }
        return position
    }
}
