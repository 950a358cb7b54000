import FileValues

/// The state of the watcher: the trees as they were reported, and the work that is pending.
///
/// Each part is a value that changes by its own methods alone. The operations here, on several parts, are those that all
/// others use: to request file work, to report, and whether a directory is where it is known.
package struct TreeState {
    package internal(set) var tree: Tree
    package internal(set) var roots: [RootState]
    var surveys = Surveys()
    var newFiles = NewFiles()
    package internal(set) var watches = WatchTable()
    var paths = RootPathTable()
    var renames = PendingRenames()
    var moves = PendingMoves()
    var parked = ParkedTrees()
    package internal(set) var output = Output()
    /// CLOCK_MONOTONIC in nanoseconds at the beginning of the turn; for reports alone.
    package internal(set) var now: UInt64 = 0
    /// Whether changes of files that are being written are reported.
    let reportsChanges: Bool

    init(roots identifiers: [String], reportsChanges: Bool) {
        tree = Tree(roots: identifiers)
        roots = tree.roots.map { _ in RootState() }
        self.reportsChanges = reportsChanges
    }

    /// Whether something waits for ``TreeCore/age()``.
    var isWaiting: Bool { newFiles.isWaiting || !renames.isEmpty || !moves.isEmpty }

    /// Removes names that are in no part.
    mutating func sweepNames() {
        tree.sweepNames(keeping: roots.flatMap(\.lookups.names) + newFiles.names + renames.names)
    }
}

// MARK: - Requests of file work

extension TreeState {
    mutating func request(_ root: Int, _ request: WorkRequest) {
        output.work.append((root, roots[root].epoch, request))
    }

    /// Schedules a lookup of a name.
    mutating func schedule(_ directory: NodeID, _ name: NameID, _ hints: Hints) {
        guard tree.directories.isValid(directory) else { return }
        scheduleNewFile(DirtyNames.Key(directory: directory, name: name))
        roots[tree.root(of: directory)].lookups.add(directory, name, hints)
    }

    /// Schedules a lookup of a file that was made a moment ago; of no other.
    mutating func scheduleNewFile(_ key: DirtyNames.Key) {
        guard let mask = newFiles.remove(key), tree.directories.isValid(key.directory) else { return }
        roots[tree.root(of: key.directory)].lookups.add(key.directory, key.name, Hints(signs: .created, mask: mask))
    }

    /// The new files of a root, and those of directories that were removed.
    private func newFileKeys(of root: Int) -> [DirtyNames.Key] {
        if newFiles.isEmpty { return [] }
        return newFiles.keys.filter { !tree.directories.isValid($0.directory) || tree.root(of: $0.directory) == root }
    }

    /// Schedules a lookup of a directory by its name in its parent, or a check of its root.
    mutating func recheck(_ node: NodeID) {
        guard let parent = tree.directories.parent(of: node) else {
            if tree.isTop(node), roots[tree.root(of: node)].isLive { open(tree.root(of: node)) }
            return
        }
        schedule(parent, tree.directories.name(of: node), Hints(signs: []))
    }

    /// Requests that a root is opened or, while it is live, checked.
    mutating func open(_ root: Int) {
        if roots[root].opening.begin() { request(root, roots[root].isLive ? .check : .adopt) }
    }

    /// The result of opening or checking a root came.
    mutating func endOpening(_ root: Int) { if roots[root].opening.end() { open(root) } }

    /// Requests a survey of a directory that is in its root's tree. False if it is not, or the root is not live.
    @discardableResult
    mutating func survey(_ node: NodeID, isRecursive: Bool) -> Bool {
        let root = tree.root(of: node)
        guard roots[root].isLive, tree.isAttached(node) else { return false }
        // The listing would find new files, of which the events say more.
        for key in newFileKeys(of: root) { scheduleNewFile(key) }
        let id = surveys.begin(Surveys.Survey(root: root, isRecursive: isRecursive, nodes: [node]))
        roots[root].surveys += 1
        if tree[node].watch < 0, tree[node].coverage != .polled, tree[node].coverage != .unreadable {
            tree.setCoverage(node, .pending)
        }
        let parentInode = tree.directories.parent(of: node).map { tree[$0].inode } ?? 0
        request(
            root,
            .survey(
                SurveyRequest(
                    id: id, path: tree.directories.path(of: node), parentInode: parentInode,
                    isRecursive: isRecursive)))
        return true
    }

    /// Cancels all that is requested of a root's queue: results that are on their way are void.
    mutating func cancelRequests(of root: Int) {
        roots[root].cancelRequests()
        surveys.removeAll(of: root)
        surveys.postponed = surveys.postponed.filter { tree.directories.isValid($0) && tree.root(of: $0) != root }
        for key in newFileKeys(of: root) { _ = newFiles.remove(key) }
        renames.removeAll(of: root)
    }
}

// MARK: - Reports

extension TreeState {
    mutating func report(
        _ root: Int, _ path: BytePath, _ kind: WatchNotice.Kind, identity: FileIdentity? = nil, hints: Hints? = nil
    ) {
        roots[root].counts.add(kind)
        if kind == .directoryAppeared || kind == .directoryVanished { tree.noteMemoryChange() }
        output.notices.append(
            WatchNotice(root: tree.roots[root].id, path: path, kind: kind, identity: identity, mask: hints?.mask ?? []))
    }

    /// Removes a file, and reports that it vanished; without effect if none was reported under the name.
    mutating func reportVanished(_ directory: NodeID, _ name: NameID, _ hints: Hints) {
        guard tree.setFile(directory, name, nil) != nil else { return }
        report(tree.root(of: directory), reportedPath(directory, name), .vanished, hints: hints)
    }

    /// The path under which a name was reported last.
    @inline(__always)
    func reportedPath(_ directory: NodeID, _ name: NameID) -> BytePath {
        (moves.reportedPaths[directory] ?? tree.directories.path(of: directory)).appending(tree.name(name))
    }
}

// MARK: - Uncertain places

extension TreeState {
    /// The directory of a watch.
    @inline(__always)
    func owner(of watch: Int32) -> NodeID? { tree.directories.id(at: watches.owner(of: watch)) }

    /// Whether a result about a name is to come: of a lookup, or the other half of a rename.
    @inline(__always)
    func isPending(_ directory: NodeID, _ name: NameID) -> Bool {
        roots[tree.root(of: directory)].lookups.contains(directory, name) || renames.contains(directory, name)
    }

    /// Whether a directory, or one above, may not be where it is known.
    @inline(__always)
    func isUncertain(_ directory: NodeID) -> Bool {
        var node = directory
        while let parent = tree.directories.parent(of: node) {
            if isPending(parent, tree.directories.name(of: node)) { return true }
            node = parent
        }
        return false
    }

    /// Whether a directory, or one above, was moved and is not listed yet where it is now.
    @inline(__always)
    func isMoving(_ directory: NodeID) -> Bool {
        if moves.reportedPaths.isEmpty { return false }
        var node: NodeID? = directory
        while let here = node {
            if moves.reportedPaths[here] != nil { return true }
            node = tree.directories.parent(of: here)
        }
        return false
    }
}
