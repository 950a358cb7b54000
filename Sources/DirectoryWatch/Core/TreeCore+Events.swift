import FileValues
import Glibc
import LinuxKernel

/// Events become names to look at.
extension TreeCore {
    /// Takes the records of one read at once if all are of one file that was closed after writing and may be told by its
    /// events alone, as most are at a low rate; returns how many they were, and what the next such file may be told by.
    /// Otherwise nil: then nothing has happened, and they are to be taken one by one, which comes to the same.
    mutating func takeAlone(_ records: InotifyRecords) -> (records: Int, permit: EarlyTelling.Permit)? {
        var records = records.makeIterator()
        guard let first = records.next(), !first.name.isEmpty, let node = owner(of: first.watch) else { return nil }
        var (mask, count) = (first.mask, 1)
        while let next = records.next() {
            guard next.watch == first.watch, isSame(next.name, first.name), count < 8 else { return nil }
            mask.formUnion(next.mask)
            count += 1
        }
        let root = Int(table[node].root)
        guard mask.contains(.closedAfterWriting), mask.isSubset(of: [.created, .closedAfterWriting, .modified]),
            canHear(root), roots[root].hasNothingToDo, !ancestors.listensToNames, isAttached(node)
        else { return nil }
        var signs: Hints.Signs = .closed
        if mask.contains(.created) { signs.insert(.created) }
        if mask.contains(.modified) { signs.insert(.modified) }
        let hints = Hints(signs: signs, mask: mask)
        guard tellHeard(DirtyNames.Item(directory: node, name: table.names.intern(first.name), hints: hints))
        else { return nil }
        counters.events += count
        let path = table.path(of: node)
        return (
            count,
            EarlyTelling.Permit(
                watch: first.watch, node: node, root: root,
                directory: path.isEmpty ? [] : path.bytes + [UInt8(ascii: "/")])
        )
    }

    /// Takes one record; `name` is valid in the call alone.
    mutating func take(watch: Int32, mask: InotifyMask, cookie: UInt32, name: UnsafeRawBufferPointer) {
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

    private func isSame(_ name: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard let start = name.baseAddress, let otherStart = other.baseAddress else { return name.count == other.count }
        return name.count == other.count && memcmp(start, otherStart, name.count) == 0
    }

    /// The same for a record that was copied.
    mutating func take(_ record: EventRecord) {
        record.name.bytes.withUnsafeBytes { name in
            take(watch: record.watch, mask: record.mask, cookie: record.cookie, name: name)
        }
    }

    /// The directory that a watch stands for.
    func owner(of watch: Int32) -> NodeID? { table.id(at: watches.owner(of: watch)) }

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
    mutating func replayEarly(_ watch: Int32) {
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
        if signs == .left, !isWorthALook(name, in: node) { return }
        if isDirectory, signs == .created, !isWorthALook(name, in: node) {
            survey(addPending(name, in: node), isRecursive: true)
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
        guard isWorthALook(name, in: node) else { return }
        let root = Int(table[node].root)
        var source = MoveSource(directory: node, name: name, child: table.child(of: node, named: name))
        source.isHeard =
            files[node, name]?.state == .heard && !roots[root].isObserving && roots[root].dirty[node, name] == nil
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
