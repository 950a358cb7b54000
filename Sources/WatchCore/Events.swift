import FileValues

/// Events, which become names to be looked up.
struct Events {
    /// The first half of a rename, waiting for the second.
    private struct HalfMove {
        let root: Int
        let source: MoveSource
        var earlier: [MoveSource]
        let mask: InotifyMask
        var isOld = false
    }

    var watches: Watches
    /// First halves of renames by their cookies.
    private var halves: [UInt32: HalfMove] = [:]

    init(watches: Watches) { self.watches = watches }

    /// Whether something waits for ``age()``.
    var isWaiting: Bool { !halves.isEmpty }

    /// An event of a directory, or of a name in it.
    mutating func apply(_ mask: InotifyMask, cookie: UInt32, name bytes: UnsafeRawBufferPointer, in node: NodeID) {
        if mask.contains(.ignored) { return watches.lose(node) }
        if bytes.isEmpty {
            // Of a directory below a root its parent says the same, in an order that can be relied on.
            if watches.agenda.tree.isTop(node), !mask.isDisjoint(with: [.deletedSelf, .movedSelf, .unmounted]) {
                watches.agenda.recheck(node)
            }
            return
        }
        let root = watches.agenda.tree.root(of: node)
        if watches.agenda.roots[root].audit.ledger.isListening {
            watches.agenda.roots[root].audit.ledger.explain(AuditLedger.Key(directory: node, name: BytePath(bytes)))
        }
        // A displaced directory is surveyed when it finds its place.
        guard watches.agenda.tree.isAttached(node) else { return }
        let isDirectory = mask.contains(.isDirectory)
        if isDirectory { watches.agenda.roots[root].names.mayHaveMoved = true }
        let name = watches.agenda.tree.intern(bytes)
        if mask.contains(.movedFrom) { return applyMovedFrom(mask, cookie: cookie, name, in: node) }
        if mask.contains(.movedTo) { return applyMovedTo(mask, cookie: cookie, name, in: node) }
        var signs: Hints.Signs = []
        if mask.contains(.created) { signs.insert(.created) }
        if mask.contains(.deleted) { signs.insert(.left) }
        if !isDirectory {
            if mask.contains(.closedAfterWriting) { signs.insert(.closed) }
            if !mask.isDisjoint(with: [.modified, .attributes]) { signs.insert(.modified) }
        }
        if signs.isEmpty { return }
        if signs == .left || signs == .created, !isWorthALookup(name, in: node) {
            if signs == .left {
                _ = watches.agenda.newFiles.remove(DirtyNames.Key(directory: node, name: name))
            } else if isDirectory {
                watches.agenda.survey(watches.agenda.tree.add(name, in: node), isRecursive: true)
            } else {
                watches.agenda.newFiles.add(DirtyNames.Key(directory: node, name: name), mask)
            }
            return
        }
        watches.agenda.schedule(node, name, Hints(signs: signs, mask: mask))
    }

    /// Whether a name that left was reported, or may yet be reported by an observation that is on its way.
    @inline(__always)
    private func isWorthALookup(_ name: NameID, in node: NodeID) -> Bool {
        let root = watches.agenda.tree.root(of: node)
        return watches.agenda.roots[root].isObserving || watches.agenda.tree[node, name] != nil
            || watches.agenda.roots[root].names[node, name] != nil
            || watches.agenda.tree.directories.child(of: node, named: name) != nil
    }

    /// The first half of a rename: not looked up until the second half came or is overdue.
    private mutating func applyMovedFrom(_ mask: InotifyMask, cookie: UInt32, _ name: NameID, in node: NodeID) {
        guard isWorthALookup(name, in: node) else {
            _ = watches.agenda.newFiles.remove(DirtyNames.Key(directory: node, name: name))
            return
        }
        let root = watches.agenda.tree.root(of: node)
        let source = MoveSource(
            directory: node, name: name, child: watches.agenda.tree.directories.child(of: node, named: name))
        // Renamed again before anybody looked: where it was before that may be the name that was reported.
        let earlier = watches.agenda.roots[root].names[node, name]?.sources ?? []
        if let stale = halves.removeValue(forKey: cookie) { expire(stale) }
        halves[cookie] = HalfMove(root: root, source: source, earlier: earlier, mask: mask)
    }

    /// The second half.
    private mutating func applyMovedTo(_ mask: InotifyMask, cookie: UInt32, _ name: NameID, in node: NodeID) {
        var hints = Hints(signs: .movedIn, mask: mask)
        if let half = halves.removeValue(forKey: cookie) {
            if half.root == watches.agenda.tree.root(of: node) {
                hints.sources = [half.source] + half.earlier.prefix(3)
            }
            expire(half)
        }
        // Its new name is looked up before its old one, so that a rename is reported as one.
        watches.agenda.schedule(node, name, hints)
    }

    private mutating func expire(_ half: HalfMove) {
        watches.agenda.schedule(half.source.directory, half.source.name, Hints(signs: .left, mask: half.mask))
    }

    /// Records were lost, and second halves with them.
    mutating func expireAll() {
        for half in halves.values { expire(half) }
        halves = [:]
    }

    /// Whether a name left, and the other half of its rename may still come.
    @inline(__always)
    func isHeld(_ directory: NodeID, _ name: NameID) -> Bool {
        !halves.isEmpty && halves.values.contains { $0.source.directory == directory && $0.source.name == name }
    }

    /// The names that halves of renames have and had.
    var heldNames: [NameID] { halves.values.flatMap { [$0.source.name] + $0.earlier.map(\.name) } }

    /// Ends what has waited for its other half since the call before.
    mutating func age() {
        for (cookie, half) in halves {
            if half.isOld {
                halves[cookie] = nil
                expire(half)
            } else {
                halves[cookie]?.isOld = true
            }
        }
    }

    /// Ends a root's life.
    mutating func endLife(_ root: Int) { halves = halves.filter { $0.value.root != root } }
}
