import FileValues
import LinuxKernel

/// What was seen under a name, compared with what is known, makes notices.
extension TreeCore {
    /// Sends all names that are due; those of directories that are gone, or in limbo, have nothing to be looked at.
    mutating func sendLooks(_ root: Int) {
        var items = roots[root].dirty.takeAll()
        let hears = canHear(root)
        // In place, and not by a closure, which would be given a copy of the whole core.
        var kept = 0
        for place in items.indices {
            let item = items[place]
            if !table.isValid(item.directory) || !isAttached(item.directory) || hears && tellHeard(item) { continue }
            if kept != place { items[kept] = item }
            kept += 1
        }
        items.removeLast(items.count - kept)
        if items.isEmpty {
            // Counted all the same: a reconciliation may wait for it.
            roots[root].looks += 1
            return
        }
        let looks = lookRequest(items, mayHaveMoved: roots[root].mayHaveMoved)
        roots[root].looking = items
        request(root, .look(looks))
        roots[root].mayHaveMoved = false
    }

    /// Whether files that were closed may be told by their events alone: where the caller wants no identities, and nothing
    /// is in doubt but what the events say. What they cannot say is kept to a minimum: a FIFO or a device that was made,
    /// opened and closed before its records were read is told as a file, once in a tree.
    func canHear(_ root: Int) -> Bool {
        !identifiesFiles && hasReadAll && roots[root].isToBeBelieved && held.isEmpty && limbo.isEmpty && shelf.isEmpty
            && mounts.isEmpty
    }

    /// Tells a file that was closed by its events, if they are all that there is to it: it was made just now, or a look
    /// saw it while it was written. Whether it did.
    mutating func tellHeard(_ item: DirtyNames.Item) -> Bool {
        let signs = item.hints.signs
        guard signs.contains(.closed), signs.isSubset(of: [.created, .closed, .modified]), item.hints.sources.isEmpty,
            item.hints.tries == 0
        else { return false }
        switch files[item.directory, item.name]?.state {
        case nil:
            guard signs.contains(.created), table.child(of: item.directory, named: item.name) == nil
            else { return false }
            addKnown(item.directory, item.name, .heard(by: readAt))
        case .writing, .resting:
            if signs.contains(.created) { return false }
            setKnown(item.directory, item.name, .heard(by: readAt))
        case .reported, .heard, .special: return false
        }
        notify(
            Int(table[item.directory].root), path(item.directory, item.name), .finished(.closeWrite),
            hints: item.hints)
        return true
    }

    /// A file that was told without a look is seen for the first time: what is known of it now.
    private mutating func identify(
        _ directory: NodeID, _ name: NameID, _ known: KnownFile, as identity: FileIdentity, _ hints: Hints
    ) -> KnownFile {
        // Whatever happened to it later gave it a later time, or one in the same tick, if an event tells of more.
        let isUnchanged =
            identity.changed < known.identity.modified
            || identity.changed <= known.identity.changed && hints.signs.isSubset(of: [.surveyed, .settle])
        guard isUnchanged, !hints.signs.contains(.movedIn) else { return known }
        let seen = KnownFile(identity: identity, state: .reported)
        setKnown(directory, name, seen)
        return seen
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
            request.add(table.names[item.name], in: last.place)
        }
        return request
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

    mutating func takeLooks(_ root: Int, _ observations: [Observation]) {
        guard let items = roots[root].looking else { return }
        roots[root].looking = nil
        roots[root].looks += 1
        // Renames first, so that an old name is not told as vanished before its new one is known.
        let hasRenames = items.contains { !$0.hints.sources.isEmpty }
        for renames in hasRenames ? [true, false] : [false] {
            for place in items.indices where items[place].hints.sources.isEmpty != renames {
                observe(items[place].directory, items[place].name, observations[place], items[place].hints)
            }
        }
        let unreached = items.indices.filter { observations[$0].isUnreached }
        if !unreached.isEmpty { lookAgain(unreached.map { items[$0] }) }
    }

    /// The directories were not where they should be: renamed or replaced since, and their parents' looks tell which.
    private mutating func lookAgain(_ items: [DirtyNames.Item]) {
        var doubted: Set<NodeID> = []
        var isLast: Set<NodeID> = []
        for var item in items where table.isValid(item.directory) {
            if doubted.insert(item.directory).inserted { doubt(item.directory) }
            item.hints.tries += 1
            if item.hints.tries <= 3 { note(item.directory, item.name, item.hints) }
            if item.hints.tries > 3, isLast.insert(item.directory).inserted {
                survey(item.directory, isRecursive: true)
            }
        }
    }

    /// One name of one directory.
    mutating func observe(_ directory: NodeID, _ name: NameID, _ observation: Observation, _ hints: Hints) {
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
            if identity.changed.nanoseconds != 0 { roots[Int(table[directory].root)].hasFineTimes = true }
            if kind == .regular {
                observeFile(directory, name, identity, links: links, hints)
            } else {
                observeSpecial(directory, name, kind, identity, hints)
            }
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
    mutating func tellVanished(_ directory: NodeID, _ name: NameID, _ hints: Hints) {
        guard setKnown(directory, name, nil) != nil else { return }
        notify(Int(table[directory].root), path(directory, name), .vanished, hints: hints)
    }

    private mutating func observeSpecial(
        _ directory: NodeID, _ name: NameID, _ kind: FileKind, _ identity: FileIdentity, _ hints: Hints
    ) {
        if kind != .symbolicLink, kind != .socket { roots[Int(table[directory].root)].hasSpecials = true }
        if let known = files[directory, name] {
            if known.state == .special(kind), isSameInode(known.identity, identity, directory) { return }
            tellVanished(directory, name, hints)
        }
        setKnown(directory, name, KnownFile(identity: identity, state: .special(kind)))
        notify(Int(table[directory].root), path(directory, name), .notRegular(kind), hints: hints)
    }

    private mutating func observeFile(
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, links: UInt64, _ hints: Hints
    ) {
        var known = files[directory, name]
        if known == nil, hints.sources.isEmpty, hints.signs.contains(.closed) {
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
        if let before = known, before.state == .heard {
            known = identify(directory, name, before, as: identity, hints)
        }
        if let known, known.state == .reported, isSame(known.identity, identity, directory, name) { return }
        if let old = takeSource(of: identity, among: hints.sources, hints.signs, to: directory, name) {
            tell(directory, name, identity, .renamed(from: old), hints)
        } else if hints.signs.contains(.closed) {
            tell(directory, name, identity, .finished(.closeWrite), hints)
        } else if hints.signs.contains(.movedIn) {
            tell(directory, name, identity, .finished(.movedIn), hints)
        } else if hints.signs.contains(.surveyed) {
            tell(directory, name, identity, .finished(.found), hints)
        } else if let known, known.state == .writing || known.state == .resting {
            observeWriting(directory, name, known, identity, hints)
        } else if hints.signs.isDisjoint(with: [.created, .modified]) {
            tell(directory, name, identity, .finished(.found), hints)
        } else if known == nil, links > 1 || identity.changed > identity.modified {
            // Made by link(2): its content is older than its name, and no close will be told under this name.
            tell(directory, name, identity, .finished(.found), hints)
        } else {
            awaitClose(directory, name, known, identity, hints)
        }
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
        if let before = known, before.state == .heard {
            known = identify(directory, name, before, as: identity, hints)
        }
        if known?.identity != identity { awaitClose(directory, name, known, identity, hints) }
    }

    /// Its close is still to come.
    private mutating func awaitClose(
        _ directory: NodeID, _ name: NameID, _ known: KnownFile?, _ identity: FileIdentity, _ hints: Hints
    ) {
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
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, _ kind: WatchNotice.Kind, _ hints: Hints
    ) {
        setKnown(directory, name, KnownFile(identity: identity, state: .reported))
        notify(Int(table[directory].root), path(directory, name), kind, identity: identity, hints: hints)
    }

    /// The path under which a renamed file was told; it is not known there any more.
    private mutating func takeSource(
        of identity: FileIdentity, among sources: [MoveSource], _ signs: Hints.Signs, to directory: NodeID,
        _ name: NameID
    ) -> BytePath? {
        for source in sources where table.isValid(source.directory) && isAttached(source.directory) {
            if source.directory == directory, source.name == name { continue }
            guard let known = files[source.directory, source.name],
                known.identity.inode == identity.inode || known.state == .heard
            else { continue }
            switch known.state {
            case .heard:
                // Nothing but its rename was heard of it, and of its new name nothing else.
                guard source.isHeard, sources.count == 1, signs == .movedIn else { continue }
                setKnown(source.directory, source.name, nil)
                return path(source.directory, source.name)
            case .reported:
                setKnown(source.directory, source.name, nil)
                return path(source.directory, source.name)
            case .writing, .resting, .special:
                return nil
            }
        }
        return nil
    }

    func path(_ directory: NodeID, _ name: NameID) -> BytePath { table.path(of: directory, name) }

    /// A file that is finished, under a name of which nothing is known.
    private mutating func addKnown(_ directory: NodeID, _ name: NameID, _ file: KnownFile) {
        files.insert(file, directory, name, head: &table[directory].firstFile)
        roots[Int(table[directory].root)].knownFiles += 1
    }

    /// Every change of what is known of files, so that the counts agree. Returns what was known before.
    @discardableResult
    mutating func setKnown(_ directory: NodeID, _ name: NameID, _ file: KnownFile?) -> KnownFile? {
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
