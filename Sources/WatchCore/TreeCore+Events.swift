package import FileValues

/// Events become names to look at.
extension TreeCore {
    /// Takes one record; `name` is valid in the call alone.
    package mutating func take(watch: Int32, mask: InotifyMask, cookie: UInt32, name: UnsafeRawBufferPointer) {
        counters.events += 1
        if mask.contains(.queueOverflow) { return overflow() }
        // Seldom: a record of what became of a watched inode itself, or of names while some path ends too early.
        let isOfWay = name.isEmpty || ancestors.listensToNames ? takeOfWays(watch, mask, name) : false
        if let node = owner(of: watch) {
            apply(mask, cookie: cookie, name: name, in: node)
        } else if !isOfWay || watches.isRetired(watch) {
            takeStray(EventRecord(watch: watch, mask: mask, cookie: cookie, name: BytePath(name)))
        }
    }

    /// The same for a record that was copied.
    package mutating func take(_ record: EventRecord) {
        record.name.bytes.withUnsafeBytes { name in
            take(watch: record.watch, mask: record.mask, cookie: record.cookie, name: name)
        }
    }

    /// The directory that a watch stands for.
    package func owner(of watch: Int32) -> NodeID? { table.id(at: watches.owner(of: watch)) }

    private mutating func takeStray(_ record: EventRecord) {
        if outsiders.contains(record.watch) {
            if record.mask.contains(.ignored) { outsiders.remove(record.watch) }
            output.outside.append(record)
        } else if record.mask.contains(.ignored), watches.isRetired(record.watch),
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
    package mutating func replayEarly(_ watch: Int32) {
        for record in watches.takeEarly(watch) {
            guard let node = owner(of: watch) else { return }
            record.name.bytes.withUnsafeBytes { name in
                apply(record.mask, cookie: record.cookie, name: name, in: node)
            }
        }
    }

    private mutating func apply(
        _ mask: InotifyMask, cookie: UInt32, name bytes: UnsafeRawBufferPointer, in node: NodeID
    ) {
        if mask.contains(.ignored) { return loseWatch(of: node) }
        if bytes.isEmpty {
            // Of a directory below a root its parent tells the same, in an order that can be relied on.
            if isTop(node), !mask.isDisjoint(with: [.deletedSelf, .movedSelf, .unmounted]) { doubt(node) }
            return
        }
        if roots[Int(table[node].root)].ledger.isListening {
            roots[Int(table[node].root)].ledger.explain(AuditLedger.Key(directory: node, name: BytePath(bytes)))
        }
        // A directory in limbo is surveyed when it finds its place.
        guard isAttached(node) else { return }
        let isDirectory = mask.contains(.isDirectory)
        if isDirectory { roots[Int(table[node].root)].mayHaveMoved = true }
        let name = table.names.intern(bytes)
        if mask.contains(.movedFrom) { return hold(mask, cookie: cookie, name: name, in: node) }
        if mask.contains(.movedTo) { return join(mask, cookie: cookie, name: name, in: node) }
        var signs: Hints.Signs = []
        if mask.contains(.created) { signs.insert(.created) }
        if mask.contains(.deleted) { signs.insert(.left) }
        if !isDirectory {
            if mask.contains(.closedAfterWriting) { signs.insert(.closed) }
            if !mask.isDisjoint(with: [.modified, .attributes]) { signs.insert(.modified) }
        }
        if signs.isEmpty { return }
        if signs == .left || signs == .created, !isWorthALook(name, in: node) {
            if signs == .left {
                _ = fresh.take(DirtyNames.Key(directory: node, name: name))
            } else if isDirectory {
                survey(addPending(name, in: node), isRecursive: true)
            } else {
                fresh.add(DirtyNames.Key(directory: node, name: name), mask)
            }
            return
        }
        note(node, name, Hints(signs: signs, mask: mask))
    }

    /// Whether a name that left was told, or may yet be told by an observation that is on its way.
    private func isWorthALook(_ name: NameID, in node: NodeID) -> Bool {
        let root = Int(table[node].root)
        return roots[root].isObserving || files[node, name] != nil || roots[root].dirty[node, name] != nil
            || table.child(of: node, named: name) != nil
    }

    /// The first half of a rename: not looked at until the second half came or is overdue.
    private mutating func hold(_ mask: InotifyMask, cookie: UInt32, name: NameID, in node: NodeID) {
        guard isWorthALook(name, in: node) else {
            _ = fresh.take(DirtyNames.Key(directory: node, name: name))
            return
        }
        let root = Int(table[node].root)
        let source = MoveSource(directory: node, name: name, child: table.child(of: node, named: name))
        // Renamed again before anybody looked: where it was before that may be the name that was told.
        let earlier = roots[root].dirty[node, name]?.sources ?? []
        if let stale = held.removeValue(forKey: cookie) { expire(stale) }
        held[cookie] = HeldMove(root: root, source: source, earlier: earlier, mask: mask)
    }

    /// The second half.
    private mutating func join(_ mask: InotifyMask, cookie: UInt32, name: NameID, in node: NodeID) {
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
        doubtAllWays()
        for root in roots.indices where roots[root].isLive {
            notify(root, "", .overflow)
            roots[root].ledger.void()
            var wanted = roots[root].wanted ?? Reconciliation(began: now)
            wanted.heals = true
            roots[root].wanted = wanted
        }
    }
}
