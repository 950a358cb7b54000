import FileValues

/// Events, which become names to be looked up.
enum EventHandling {
    /// Applies an event of a directory, or of a name in it; the bytes of `name` are valid during the call alone.
    static func apply(
        _ mask: InotifyMask, cookie: UInt32, name bytes: UnsafeRawBufferPointer, of node: NodeID,
        in state: inout TreeState
    ) {
        if mask.contains(.ignored) { return WatchHandling.lose(node, in: &state) }
        if bytes.isEmpty {
            // Below a root the parent's events say the same, and their order can be relied on.
            if state.tree.isTop(node), !mask.isDisjoint(with: [.deletedSelf, .movedSelf, .unmounted]) {
                state.recheck(node)
            }
            return
        }
        let root = state.tree.root(of: node)
        if state.roots[root].audit.ledger.isListening {
            state.roots[root].audit.ledger.explain(AuditLedger.Key(directory: node, name: BytePath(bytes)))
        }
        // A displaced directory is surveyed once it is found.
        guard state.tree.isAttached(node) else { return }
        let isDirectory = mask.contains(.isDirectory)
        if isDirectory { state.roots[root].lookups.mayHaveMoved = true }
        let name = state.tree.intern(bytes)
        if mask.contains(.movedFrom) { return applyMovedFrom(mask, cookie: cookie, name, of: node, in: &state) }
        if mask.contains(.movedTo) { return applyMovedTo(mask, cookie: cookie, name, of: node, in: &state) }
        var signs: Hints.Signs = []
        if mask.contains(.created) { signs.insert(.created) }
        if mask.contains(.deleted) { signs.insert(.left) }
        if !isDirectory {
            if mask.contains(.closedAfterWriting) { signs.insert(.closed) }
            if !mask.isDisjoint(with: [.modified, .attributes]) { signs.insert(.modified) }
        }
        if signs.isEmpty { return }
        if signs == .left || signs == .created, !state.needsLookup(node, name) {
            if signs == .left {
                _ = state.newFiles.remove(DirtyNames.Key(directory: node, name: name))
            } else if isDirectory {
                state.survey(state.tree.add(name, in: node), isRecursive: true)
            } else {
                state.newFiles.add(DirtyNames.Key(directory: node, name: name), mask)
            }
            return
        }
        state.schedule(node, name, Hints(signs: signs, mask: mask))
    }

    /// The first half of a rename: not looked up until the second half comes or is overdue.
    private static func applyMovedFrom(
        _ mask: InotifyMask, cookie: UInt32, _ name: NameID, of node: NodeID, in state: inout TreeState
    ) {
        guard state.needsLookup(node, name) else {
            _ = state.newFiles.remove(DirtyNames.Key(directory: node, name: name))
            return
        }
        let root = state.tree.root(of: node)
        let source = MoveSource(
            directory: node, name: name, child: state.tree.directories.child(of: node, named: name))
        // Renamed again without a lookup in between: its name before that may be the one that was reported.
        let earlier = state.roots[root].lookups[node, name]?.sources ?? []
        let half = PendingRenames.Half(root: root, source: source, earlier: earlier, mask: mask)
        if let stale = state.renames.add(half, cookie: cookie) { expire(stale, in: &state) }
    }

    private static func applyMovedTo(
        _ mask: InotifyMask, cookie: UInt32, _ name: NameID, of node: NodeID, in state: inout TreeState
    ) {
        var hints = Hints(signs: .movedIn, mask: mask)
        if let half = state.renames.remove(cookie: cookie) {
            if half.root == state.tree.root(of: node) { hints.sources = [half.source] + half.earlier.prefix(3) }
            expire(half, in: &state)
        }
        // Its new name is looked up before its old one, so that a rename is reported as one.
        state.schedule(node, name, hints)
    }

    private static func expire(_ half: PendingRenames.Half, in state: inout TreeState) {
        state.schedule(half.source.directory, half.source.name, Hints(signs: .left, mask: half.mask))
    }

    /// Records were lost, and second halves of renames with them.
    static func expireRenames(in state: inout TreeState) {
        for half in state.renames.removeAll() { expire(half, in: &state) }
    }

    /// Schedules lookups of what has waited for another event since the last call.
    static func age(in state: inout TreeState) {
        let (made, linked) = state.newFiles.age()
        for key in made { state.scheduleNewFile(key) }
        for key in linked { state.schedule(key.directory, key.name, Hints(signs: .restCheck)) }
        for half in state.renames.removeOld() { expire(half, in: &state) }
    }
}

extension TreeState {
    /// Whether a name that left was reported, or may yet be by an observation that is on its way.
    @inline(__always)
    fileprivate func needsLookup(_ node: NodeID, _ name: NameID) -> Bool {
        let root = tree.root(of: node)
        return roots[root].isObserving || tree[node, name] != nil || roots[root].lookups[node, name] != nil
            || tree.directories.child(of: node, named: name) != nil
    }
}
