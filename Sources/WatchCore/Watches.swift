import FileValues

/// Which watch is whose: of directories in the trees, of what the paths to the roots lead through, and of others.
struct Watches {
    var agenda: Agenda
    private var table = WatchTable()
    /// The watches on the paths to the roots, some of which may be a tree's as well.
    private var paths = AncestorTable()
    /// Watches on the same instance that somebody else made.
    private var outsiders: Set<Int32> = []
    /// Records of watches that nobody knows any more.
    private(set) var strayEvents = 0

    init(agenda: Agenda) { self.agenda = agenda }

    var tree: Tree {
        @inline(__always) _read { yield agenda.tree }
        @inline(__always) _modify { yield &agenda.tree }
    }

    /// Watches in use.
    var count: Int { table.count }

    /// The directory that a watch stands for.
    @inline(__always)
    func owner(of watch: Int32) -> NodeID? { tree.directories.id(at: table.owner(of: watch)) }

    /// Records of a watch go to the output from here on, or no more.
    mutating func setOutsider(_ watch: Int32, _ isOne: Bool) {
        if isOne { outsiders.insert(watch) } else { outsiders.remove(watch) }
    }

    /// Binds a directory to the watch that a survey was given for it. Returns the records that came before.
    mutating func bind(_ node: NodeID, _ watch: Int32, from id: UInt32) -> [EventRecord] {
        if tree[node].watch == watch, owner(of: watch) == node {
            tree.setCoverage(node, .watched)
            return []
        }
        release(node)
        if let owner = owner(of: watch), owner != node, tree.directories.isValid(owner) {
            contest(owner, by: node, watch)
        } else if table.hasEnded(watch, since: id) {
            tree.setCoverage(node, .pending)
            agenda.survey(node, isRecursive: false)
        } else if table.isRetired(watch) {
            // Given up by us and about to be removed, so of no use; another is asked for after that.
            tree.setCoverage(node, .pending)
            table.await(watch, node)
        } else {
            own(node, watch)
            return table.takeEarly(watch)
        }
        return []
    }

    private mutating func own(_ node: NodeID, _ watch: Int32) {
        table.setOwner(node, of: watch)
        tree[node].watch = watch
        tree.setCoverage(node, .watched)
    }

    /// The same, from a directory that had it until now: what was reported to that one has to be found by a listing.
    private mutating func inherit(_ node: NodeID, _ watch: Int32) {
        own(node, watch)
        agenda.survey(node, isRecursive: false)
    }

    /// The kernel has one watch an inode. So either the owner is not where it was, or both are the same directory.
    private mutating func contest(_ owner: NodeID, by node: NodeID, _ watch: Int32) {
        if !tree.isAttached(owner) {
            // The owner is displaced, in another root: its watch goes to where the directory is now.
            tree[owner].watch = -1
            tree.setCoverage(owner, .unwatched)
            inherit(node, watch)
        } else if tree.isTop(owner) {
            tree.setCoverage(node, .polled)
        } else {
            tree.setCoverage(node, .polled)
            table.contest(watch, by: node)
            agenda.recheck(owner)
        }
    }

    /// Whether other directories still want this one's watch.
    @inline(__always)
    func isContested(_ node: NodeID) -> Bool { table.isContested(tree[node].watch) }

    /// A directory is where it should be: those that want its watch are other places of the same inode.
    mutating func rejectClaims(on node: NodeID) {
        for other in takeClaims(tree[node].watch, of: node) { tree.setCoverage(other, .polled) }
    }

    private mutating func takeClaims(_ watch: Int32, of owner: NodeID) -> [NodeID] {
        table.takeContestants(watch).filter {
            $0 != owner && tree.directories.isValid($0) && tree[$0].watch < 0
        }
    }

    /// A directory gives up its watch: to one that claims it, or to the kernel.
    mutating func release(_ node: NodeID) {
        let watch = tree[node].watch
        guard watch >= 0 else { return }
        tree[node].watch = -1
        guard owner(of: watch) == node else { return }
        table.clearOwner(of: watch)
        let claims = takeClaims(watch, of: node)
        if let heir = claims.first {
            inherit(heir, watch)
            // Claims of still more directories are decided by looking up the heir.
            for other in claims.dropFirst() { contest(heir, by: other, watch) }
        } else {
            retire(watch, root: tree.root(of: node))
        }
    }

    /// Gives up the watches of a subtree.
    mutating func releaseAll(below node: NodeID) {
        for directory in tree.directories.subtree(of: node) {
            release(directory)
            tree.setCoverage(directory, .unwatched)
        }
    }

    /// Gives up a watch that a survey made for a directory that is gone by now.
    mutating func releaseUnowned(_ watch: Int32, root: Int, from id: UInt32) {
        guard watch >= 0, owner(of: watch) == nil, !table.isRetired(watch), !table.hasEnded(watch, since: id)
        else { return }
        retire(watch, root: root)
    }

    private mutating func retire(_ watch: Int32, root: Int) {
        table.retire(watch)
        _ = table.takeEarly(watch)
        agenda.request(root, .unwatch([watch]))
    }

    /// Watches were removed, as was asked.
    mutating func applyRemoved(_ removed: [Int32]) {
        for watch in removed { end(watch) }
    }

    private mutating func end(_ watch: Int32) {
        for node in table.end(watch, survey: agenda.surveys.last) ?? [] where tree.directories.isValid(node) {
            agenda.survey(node, isRecursive: false)
        }
    }

    /// The kernel dropped a directory's watch: the directory is gone, or its file system.
    mutating func lose(_ node: NodeID) {
        let watch = tree[node].watch
        tree[node].watch = -1
        table.clearOwner(of: watch)
        _ = table.end(watch, survey: agenda.surveys.last)
        tree.setCoverage(node, .unwatched)
        for other in takeClaims(watch, of: node) { agenda.survey(other, isRecursive: false) }
        if tree.isTop(node) {
            // Unmounted and mounted again, the root may be the same as before, so its identity is not enough.
            agenda.survey(node, isRecursive: false)
        } else if tree.isAttached(node) {
            agenda.recheck(node)
        }
    }

    /// A record of a watch that no directory has. False if it had to be dropped: records were lost.
    mutating func applyStray(_ record: EventRecord) -> Bool {
        if outsiders.contains(record.watch) {
            if record.mask.contains(.ignored) { outsiders.remove(record.watch) }
            agenda.output.outside.append(record)
        } else if record.mask.contains(.ignored), table.isRetired(record.watch) {
            end(record.watch)
        } else if table.isRetired(record.watch) || agenda.surveys.isEmpty {
            strayEvents += 1
        } else if !table.keepEarly(record) {
            // Too many to keep: as good as lost.
            strayEvents += 1 + table.dropEarly()
            return false
        }
        return true
    }

    /// At the end of a turn: without a survey nothing asks for ended watches and early records any more.
    mutating func forgetPast() {
        if agenda.surveys.isEmpty { strayEvents += table.forgetPast() }
    }
}

// MARK: - Paths to the roots

extension Watches {
    /// A record may be of a watch on a root's path, be it a tree's as well or not. Returns whether it is of no other.
    mutating func applyToPaths(_ watch: Int32, _ mask: InotifyMask, _ name: UnsafeRawBufferPointer) -> Bool {
        // Seldom: a record of what became of a watched inode itself, or of names while some path ends too early.
        guard name.isEmpty || paths.listensToNames, paths.concerns(watch) else { return false }
        let isOfPath = paths.uses(watch)
        for root in paths.apply(watch: watch, mask: mask, name: BytePath(name)) { recheckPath(root) }
        return isOfPath && !table.isRetired(watch)
    }

    /// Asks for a root's path to be followed and watched. Before it is opened or checked: watch, then look.
    mutating func trace(_ root: Int) { if paths.begin(root) { agenda.request(root, .trace) } }

    /// Something happened that may lead a root's path elsewhere, or to it again.
    mutating func recheckPath(_ root: Int) {
        trace(root)
        agenda.open(root)
    }

    /// The same of all roots: records were lost, or the mount table changed.
    mutating func recheckAllPaths() { for root in agenda.roots.indices { recheckPath(root) } }

    /// A root's path was followed.
    mutating func applyTraced(_ root: Int, _ way: RootWay) {
        let (isStale, released) = paths.end(root, way)
        for watch in released where owner(of: watch) == nil && !table.isRetired(watch) {
            retire(watch, root: root)
        }
        if isStale { recheckPath(root) }
    }

    /// Whether a path that was followed has to be followed again at the next tick.
    func isPathUncertain(_ root: Int) -> Bool {
        guard let way = paths.way(to: root) else { return true }
        return !way.isSettled || !way.isWhole
    }
}
