import FileValues
import LinuxKernel

/// Events become names to look at.
extension TreeCore {
    mutating func take(_ record: InotifyRecord) {
        counters.events += 1
        if record.mask.contains(.queueOverflow) { return overflow() }
        if let node = watches.owner(of: record.watch) {
            apply(record.mask, cookie: record.cookie, name: BytePath(record.name), in: node)
        } else {
            takeStray(
                EventRecord(
                    watch: record.watch, mask: record.mask, cookie: record.cookie, name: BytePath(record.name)))
        }
    }

    /// The same for a record that was copied; for tests, mostly.
    mutating func take(_ record: EventRecord) {
        counters.events += 1
        if record.mask.contains(.queueOverflow) { return overflow() }
        if let node = watches.owner(of: record.watch) {
            apply(record.mask, cookie: record.cookie, name: record.name, in: node)
        } else {
            takeStray(record)
        }
    }

    private mutating func takeStray(_ record: EventRecord) {
        if record.mask.contains(.ignored), watches.isRetired(record.watch),
            let waiting = watches.end(record.watch, survey: lastSurvey)
        {
            for node in waiting where table.isValid(node) { survey(node, isRecursive: false) }
        } else if watches.isRetired(record.watch) {
            counters.strayEvents += 1
        } else if surveys.isEmpty {
            counters.strayEvents += 1
        } else if !watches.keepEarly(record) {
            // Too many to keep: as good as lost.
            counters.strayEvents += 1 + watches.dropEarly()
            overflow()
        }
    }

    /// Events that came before the result that says whose they are.
    mutating func replayEarly(_ watch: Int32) {
        for record in watches.takeEarly(watch) {
            guard let node = watches.owner(of: watch) else { return }
            apply(record.mask, cookie: record.cookie, name: record.name, in: node)
        }
    }

    private mutating func apply(_ mask: InotifyMask, cookie: UInt32, name: BytePath, in node: NodeID) {
        if mask.contains(.ignored) { return loseWatch(of: node) }
        if name.isEmpty {
            // Of a directory below a root its parent tells the same, in an order that can be relied on.
            if isTop(node), !mask.isDisjoint(with: [.deletedSelf, .movedSelf, .unmounted]) { doubt(node) }
            return
        }
        // A directory in limbo is surveyed when it finds its place.
        guard isAttached(node) else { return }
        if mask.contains(.movedFrom) { return hold(mask, cookie: cookie, name: name, in: node) }
        if mask.contains(.movedTo) { return join(mask, cookie: cookie, name: name, in: node) }
        let isDirectory = mask.contains(.isDirectory)
        var signs: Hints.Signs = []
        if mask.contains(.created) { signs.insert(.created) }
        if mask.contains(.deleted) { signs.insert(.left) }
        if !isDirectory {
            if mask.contains(.closedAfterWriting) { signs.insert(.closed) }
            if !mask.isDisjoint(with: [.modified, .attributes]) { signs.insert(.modified) }
        }
        if signs.isEmpty { return }
        if signs == .left, !isWorthALook(name, in: node) { return }
        if isDirectory, signs == .created, !isWorthALook(name, in: node) {
            survey(addPending(name, in: node), isRecursive: true)
            return
        }
        note(node, name, Hints(signs: signs, mask: mask))
    }

    /// Whether a name that left was told, or may yet be told by an observation that is on its way.
    private func isWorthALook(_ name: BytePath, in node: NodeID) -> Bool {
        let root = Int(table[node].root)
        return roots[root].isObserving || table[node].files[name] != nil || roots[root].dirty[node, name] != nil
            || table.child(of: node, named: name) != nil
    }

    /// The first half of a rename: not looked at until the second half came or is overdue.
    private mutating func hold(_ mask: InotifyMask, cookie: UInt32, name: BytePath, in node: NodeID) {
        guard isWorthALook(name, in: node) else { return }
        let root = Int(table[node].root)
        let source = MoveSource(directory: node, name: name, child: table.child(of: node, named: name))
        // Renamed again before anybody looked: where it was before that may be the name that was told.
        let earlier = roots[root].dirty[node, name]?.sources ?? []
        if let stale = held.removeValue(forKey: cookie) { expire(stale) }
        held[cookie] = HeldMove(root: root, source: source, earlier: earlier, mask: mask)
    }

    /// The second half.
    private mutating func join(_ mask: InotifyMask, cookie: UInt32, name: BytePath, in node: NodeID) {
        var hints = Hints(signs: .movedIn, mask: mask)
        if let move = held.removeValue(forKey: cookie) {
            if move.root == Int(table[node].root) { hints.sources = [move.source] + move.earlier.prefix(3) }
            expire(move)
        }
        // Its new name is looked at before its old one, so that a rename is told as one.
        note(node, name, hints)
    }

    /// Records were lost: everything is compared.
    private mutating func overflow() {
        counters.overflows += 1
        for move in held.values { expire(move) }
        held = [:]
        for root in roots.indices where roots[root].isLive {
            notify(root, "", .overflow)
            var wanted = roots[root].wanted ?? Reconciliation(began: now)
            wanted.heals = true
            roots[root].wanted = wanted
        }
    }
}
