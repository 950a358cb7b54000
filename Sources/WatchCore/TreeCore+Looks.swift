package import FileValues

/// What was seen under a name, compared with what is known, makes notices.
extension TreeCore {
    /// Sends all names that are due; those of directories that are gone, or in limbo, have nothing to be looked at, and
    /// those in directories that were moved wait until these are listed.
    package mutating func sendLooks(_ root: Int) {
        var dirty = DirtyNames()
        swap(&dirty, &roots[root].dirty)
        dirty.removeAll { !table.isValid($0.directory) || !isAttached($0.directory) }
        let due = dirty.takeAll { !toldPaths.isEmpty && isMoving($0.directory) }
        swap(&dirty, &roots[root].dirty)
        if due.isEmpty {
            // Counted all the same: a reconciliation may wait for it.
            roots[root].looks += 1
            return
        }
        let looks = lookRequest(due.items, mayHaveMoved: roots[root].mayHaveMoved)
        roots[root].looking = due
        request(root, .look(looks))
        roots[root].mayHaveMoved = false
    }

    private func lookRequest(_ items: [DirtyNames.Item], mayHaveMoved: Bool) -> LookRequest {
        var request = LookRequest()
        request.mayHaveMoved = mayHaveMoved
        request.items.reserveCapacity(items.count)
        request.names.reserveCapacity(items.reduce(0) { $0 + table.names.length($1.name) + 1 })
        var places = EntryIndex()
        var last: (node: NodeID, place: Int32) = (.none, -1)
        for item in items {
            if item.directory != last.node {
                last = (item.directory, place(of: item.directory, in: &request, &places))
            }
            request.add(
                table.names[item.name], in: last.place, asksForWriter: mayBeOpen(item))
        }
        return request
    }

    /// Whether a file may have a writer by the time that it is looked at: nothing says that it was closed, or the next
    /// program may write it already.
    private func mayBeOpen(_ item: DirtyNames.Item) -> Bool {
        if item.hints.signs.isDisjoint(with: [.closed, .movedIn]) { return true }
        return item.hints.rounds > 0 || files[item.directory, item.name] != nil
    }

    /// The place of a directory in a request, in which it stands once.
    private func place(of node: NodeID, in request: inout LookRequest, _ places: inout EntryIndex) -> Int32 {
        let hash = EntryIndex.hash(node.index, table[node].name)
        if let place = places.find(hash: hash, where: { request.directories[Int($0)].node == node }) { return place }
        let place = Int32(request.directories.count)
        request.directories.append(
            LookRequest.Directory(node: node, path: table.path(of: node), inode: table[node].inode))
        if places.hasRoom(for: place) {
            places.insert(hash: hash, place)
        } else {
            places = EntryIndex(capacity: 2 * request.directories.count, places: 2 * request.directories.count)
            for (place, directory) in request.directories.enumerated() {
                places.insert(
                    hash: EntryIndex.hash(directory.node.index, table[directory.node].name), Int32(place))
            }
        }
        return place
    }

    package mutating func takeLooks(_ root: Int, _ observations: [Observation]) {
        guard let items = roots[root].looking?.items else { return }
        roots[root].looking = nil
        roots[root].looks += 1
        // Renames first, so that an old name is not told as vanished before its new one is known.
        let hasRenames = items.contains { !$0.hints.sources.isEmpty }
        var void: Set<DirtyNames.Key> = []
        for renames in hasRenames ? [true, false] : [false] {
            for place in items.indices where items[place].hints.sources.isEmpty != renames {
                var item = items[place]
                guard table.isValid(item.directory), !observations[place].isUnreached else { continue }
                let key = DirtyNames.Key(directory: item.directory, name: item.name)
                let isElsewhere = isUncertain(item.directory) || !toldPaths.isEmpty && isMoving(item.directory)
                if isElsewhere || isVoid(key, in: root) || void.contains(key) {
                    // Under a path that may be wrong nothing is told, however long its directories move.
                    if !isElsewhere { item.hints.rounds += 1 }
                    if isElsewhere || item.hints.rounds <= Self.mostRounds {
                        roots[root].dirty.addEarlier(item.directory, item.name, item.hints)
                        // Where it was is looked at with it.
                        for source in item.hints.sources {
                            void.insert(DirtyNames.Key(directory: source.directory, name: source.name))
                        }
                        continue
                    }
                    // It never rests: told as it is, and again once it has changed.
                    item.hints.signs.insert(.unsure)
                }
                observe(item.directory, item.name, observations[place], item.hints)
            }
        }
        let unreached = items.indices.filter { observations[$0].isUnreached }
        if !unreached.isEmpty { lookAgain(unreached.map { items[$0] }) }
    }

    /// How often a name is looked at again because more was heard of it meanwhile.
    private static let mostRounds = 8

    /// Whether what was seen under a name may not be so any more: events told more of it.
    private func isVoid(_ key: DirtyNames.Key, in root: Int) -> Bool {
        roots[root].dirty[key.directory, key.name] != nil || isHeld(key.directory, key.name)
    }

    /// Whether a name left, and the other half of its rename may still come.
    package func isHeld(_ directory: NodeID, _ name: NameID) -> Bool {
        !held.isEmpty && held.values.contains { $0.source.directory == directory && $0.source.name == name }
    }

    /// Whether a name is about to be looked at, or a look at it is on its way.
    package func isAwaited(_ directory: NodeID, _ name: NameID) -> Bool {
        let root = Int(table[directory].root)
        return roots[root].dirty[directory, name] != nil || roots[root].looking?[directory, name] != nil
            || isHeld(directory, name)
    }

    /// Whether a directory, or one above, may not be where it is known.
    package func isUncertain(_ directory: NodeID) -> Bool {
        var node = directory
        while let parent = table.parent(of: node) {
            if isAwaited(parent, table.name(of: node)) { return true }
            node = parent
        }
        return false
    }

    /// Whether a directory, or one above, was moved and is not listed yet where it is now.
    package func isMoving(_ directory: NodeID) -> Bool {
        var node: NodeID? = directory
        while let here = node {
            if toldPaths[here] != nil { return true }
            node = table.parent(of: here)
        }
        return false
    }

    /// The directories were not where they should be: renamed or replaced since, and their parents' looks tell which.
    private mutating func lookAgain(_ items: [DirtyNames.Item]) {
        var doubted: Set<NodeID> = []
        var isLast: Set<NodeID> = []
        for var item in items where table.isValid(item.directory) {
            if doubted.insert(item.directory).inserted { doubt(item.directory) }
            item.hints.tries += 1
            if item.hints.tries <= 3 {
                roots[Int(table[item.directory].root)].dirty.addEarlier(item.directory, item.name, item.hints)
            }
            if item.hints.tries > 3, isLast.insert(item.directory).inserted {
                survey(item.directory, isRecursive: true)
            }
        }
    }

    /// One name of one directory.
    package mutating func observe(_ directory: NodeID, _ name: NameID, _ observation: Observation, _ hints: Hints) {
        guard table.isValid(directory), isAttached(directory) else { return }
        switch observation {
        case .absent, .excluded:
            leaveDirectory(directory, name, hints)
            tellVanished(directory, name, hints)
        case .directory(let inode, let born):
            tellVanished(directory, name, hints)
            enterDirectory(directory, name, inode: inode, born: born, isMountRoot: false, hints)
        case .mountRoot(let inode):
            tellVanished(directory, name, hints)
            enterDirectory(directory, name, inode: inode, born: .unknown, isMountRoot: true, hints)
        case .file(let kind, let identity, let links):
            leaveDirectory(directory, name, hints)
            if kind == .regular {
                observeFile(directory, name, identity, links: links, isUnwritten: false, hints)
            } else {
                observeSpecial(directory, name, kind, identity, hints)
            }
        case .unwritten(let identity, let links):
            leaveDirectory(directory, name, hints)
            observeFile(directory, name, identity, links: links, isUnwritten: true, hints)
        case .writing(let identity):
            leaveDirectory(directory, name, hints)
            observeOpen(directory, name, identity, hints)
        case .failed:
            // Nothing is known, so nothing is said, and no event needs to come: the next ticks ask again.
            roots[Int(table[directory].root)].failed.insert(directory)
        case .unreached:
            // Looked at again already, or its directory is listed.
            break
        }
    }

    /// Something told under this name is not there any more.
    package mutating func tellVanished(_ directory: NodeID, _ name: NameID, _ hints: Hints) {
        guard setKnown(directory, name, nil) != nil else { return }
        let told = (toldPaths[directory] ?? table.path(of: directory)).appending(table.names.name(name))
        notify(Int(table[directory].root), told, .vanished, hints: hints)
    }

    private mutating func observeSpecial(
        _ directory: NodeID, _ name: NameID, _ kind: FileKind, _ identity: FileIdentity, _ hints: Hints
    ) {
        if let known = files[directory, name] {
            if known.state == .special(kind), isSameInode(known.identity, identity, directory) { return }
            tellVanished(directory, name, hints)
        }
        setKnown(directory, name, KnownFile(identity: identity, state: .special(kind)))
        notify(Int(table[directory].root), path(directory, name), .notRegular(kind), hints: hints)
    }

    private mutating func observeFile(
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, links: UInt64, isUnwritten: Bool, _ hints: Hints
    ) {
        var known = files[directory, name]
        if known == nil, hints.sources.isEmpty, hints.signs.contains(.closed), !hints.signs.contains(.unsure) {
            // What most events come to: a file that was made and written.
            addKnown(directory, name, KnownFile(identity: identity, state: .reported))
            notify(
                Int(table[directory].root), path(directory, name), .finished(.closeWrite), identity: identity,
                hints: hints)
            return
        }
        if case .special = known?.state {
            tellVanished(directory, name, hints)
            known = nil
        }
        if let known, known.state == .reported, wasTold(known, as: identity, directory, name, hints) { return }
        if let old = takeSource(of: identity, among: hints, to: directory, name) {
            tell(directory, name, identity, .renamed(from: old), hints)
        } else if hints.signs.contains(.closed) {
            tell(directory, name, identity, .finished(.closeWrite), hints)
        } else if hints.signs.contains(.movedIn) {
            tell(directory, name, identity, .finished(.movedIn), hints)
        } else if isUnwritten && !isBeingOpened(identity, links, hints) || hints.signs.contains(.surveyed) {
            tell(directory, name, identity, .finished(.found), hints, mustDiffer: true)
        } else if let known, known.state == .writing || known.state == .resting {
            observeWriting(directory, name, known, identity, hints)
        } else if hints.signs.isDisjoint(with: [.created, .modified]) {
            tell(directory, name, identity, .finished(.found), hints)
        } else if known == nil, links > 1 {
            // Made by link(2): its content is older than its name, and no close will be told under this name.
            tell(directory, name, identity, .finished(.found), hints)
        } else {
            awaitClose(directory, name, known, identity, hints)
        }
    }

    /// Whether a file may have been made a moment ago by an open(2) that does not count as a writer yet.
    private func isBeingOpened(_ identity: FileIdentity, _ links: UInt64, _ hints: Hints) -> Bool {
        hints.signs.contains(.created) && identity.size == 0 && links == 1
    }

    /// Whether what is seen is the version that was told. A file whose attributes or links alone have changed is noted as
    /// it is now.
    private mutating func wasTold(
        _ known: KnownFile, as seen: FileIdentity, _ directory: NodeID, _ name: NameID, _ hints: Hints
    ) -> Bool {
        let signs = hints.signs
        let rule = rule(Int(table[directory].root))
        guard rule.hasSameContent(known.identity, seen) else { return false }
        let isUnchanged = rule.isSame(known.identity, seen)
        // Whoever closed it may have written through a mapping, which leaves no trace if it was made before.
        if signs.contains(.closed), !(isUnchanged && known.mustDiffer) { return false }
        // It left and came back.
        if signs.contains(.movedIn), !isUnchanged { return false }
        if known.identity != seen {
            var file = known
            file.identity = seen
            setKnown(directory, name, file)
        }
        if !isUnchanged {
            notify(Int(table[directory].root), path(directory, name), .attributesChanged, identity: seen, hints: hints)
        }
        return true
    }

    /// A listing found a file while it is being written.
    private mutating func observeOpen(
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, _ hints: Hints
    ) {
        var known = files[directory, name]
        if case .special = known?.state {
            tellVanished(directory, name, hints)
            known = nil
        }
        // Made without a name (O_TMPFILE) and given one before it is closed: no close is told under that.
        if known == nil, hints.signs.contains(.created), identity.changed > identity.modified {
            linked[DirtyNames.Key(directory: directory, name: name)] = 0
        }
        // Its close is told in any case, unless it must differ.
        if let known, known.state != .writing, rule(Int(table[directory].root)).isSame(known.identity, identity) {
            return
        }
        if known?.identity != identity { awaitClose(directory, name, known, identity, hints) }
    }

    /// Its close is still to come.
    private mutating func awaitClose(
        _ directory: NodeID, _ name: NameID, _ known: KnownFile?, _ identity: FileIdentity, _ hints: Hints
    ) {
        var known = known
        if let before = known, !isSameInode(before.identity, identity, directory) {
            // Another file has the name, and what was told of it is gone.
            tellVanished(directory, name, hints)
            known = nil
        }
        setKnown(directory, name, KnownFile(identity: identity, state: .writing))
        if known != nil, !reportsChanges { return }
        let kind: WatchNotice.Kind = known == nil ? .created : .changed
        notify(Int(table[directory].root), path(directory, name), kind, identity: identity, hints: hints)
    }

    /// A file that was told as created, looked at again before it was closed.
    private mutating func observeWriting(
        _ directory: NodeID, _ name: NameID, _ known: KnownFile, _ identity: FileIdentity, _ hints: Hints
    ) {
        if hints.signs.contains(.settle), known.identity == identity {
            if known.state == .resting {
                tell(directory, name, identity, .finished(.found), hints)
            } else {
                setKnown(directory, name, KnownFile(identity: identity, state: .resting))
            }
            return
        }
        guard known.identity != identity else { return }
        setKnown(directory, name, KnownFile(identity: identity, state: .writing))
        if reportsChanges, hints.signs.contains(.modified) {
            notify(
                Int(table[directory].root), path(directory, name), .changed, identity: identity, hints: hints)
        }
    }

    private mutating func tell(
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, _ kind: WatchNotice.Kind, _ hints: Hints,
        mustDiffer: Bool = false
    ) {
        let mustDiffer = mustDiffer || hints.signs.contains(.unsure)
        setKnown(directory, name, KnownFile(identity: identity, state: .reported, mustDiffer: mustDiffer))
        notify(Int(table[directory].root), path(directory, name), kind, identity: identity, hints: hints)
    }

    /// The path under which a renamed file was told, if it is unchanged; it is not known there any more.
    private mutating func takeSource(
        of identity: FileIdentity, among hints: Hints, to directory: NodeID, _ name: NameID
    ) -> BytePath? {
        for source in hints.sources where table.isValid(source.directory) && isAttached(source.directory) {
            if source.directory == directory, source.name == name { continue }
            guard let known = files[source.directory, source.name], known.identity.inode == identity.inode
            else { continue }
            guard known.state == .reported, !hints.signs.contains(.closed),
                rule(Int(table[directory].root)).hasSameContent(known.identity, identity)
            else {
                tellVanished(source.directory, source.name, hints)
                return nil
            }
            setKnown(source.directory, source.name, nil)
            return (toldPaths[source.directory] ?? table.path(of: source.directory)).appending(
                table.names.name(source.name))
        }
        return nil
    }

    package func path(_ directory: NodeID, _ name: NameID) -> BytePath { table.path(of: directory, name) }

    /// A file that is finished, under a name of which nothing is known.
    private mutating func addKnown(_ directory: NodeID, _ name: NameID, _ file: KnownFile) {
        files.insert(file, directory, name, head: &table[directory].firstFile)
        roots[Int(table[directory].root)].knownFiles += 1
    }

    /// Every change of what is known of files, so that the counts agree. Returns what was known before.
    @discardableResult
    package mutating func setKnown(_ directory: NodeID, _ name: NameID, _ file: KnownFile?) -> KnownFile? {
        let root = Int(table[directory].root)
        let before =
            if let file {
                files.set(file, directory, name, head: &table[directory].firstFile)
            } else {
                files.remove(directory, name, head: &table[directory].firstFile)
            }
        roots[root].knownFiles += (file == nil ? 0 : 1) - (before == nil ? 0 : 1)
        switch (file?.state, before?.state) {
        case (.writing, _), (.resting, _):
            roots[root].unsettled.insert(DirtyNames.Key(directory: directory, name: name))
        case (_, .writing), (_, .resting):
            roots[root].unsettled.remove(DirtyNames.Key(directory: directory, name: name))
        default: break
        }
        if before?.isAcknowledged == true || file?.isAcknowledged == true { memoryChanges += 1 }
        return before
    }
}
