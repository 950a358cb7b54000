import FileValues
import LinuxKernel

/// What was seen under a name, compared with what is known, makes notices.
extension TreeCore {
    /// Sends all names that are due; those of directories that are gone, or in limbo, have nothing to be looked at.
    mutating func sendLooks(_ root: Int) {
        let items = roots[root].dirty.takeAll().filter { table.isValid($0.directory) && isAttached($0.directory) }
        if items.isEmpty {
            // Counted all the same: a reconciliation may wait for it.
            roots[root].looks += 1
            return
        }
        roots[root].looking = items
        request(root, .look(lookRequest(items, mayHaveMoved: roots[root].mayHaveMoved)))
        roots[root].mayHaveMoved = false
    }

    private func lookRequest(_ items: [DirtyNames.Item], mayHaveMoved: Bool) -> LookRequest {
        var request = LookRequest()
        request.mayHaveMoved = mayHaveMoved
        request.items.reserveCapacity(items.count)
        var places: [NodeID: Int32] = [:]
        var last: (node: NodeID, place: Int32) = (.none, -1)
        for item in items {
            if item.directory != last.node {
                let place = places[item.directory, default: Int32(request.directories.count)]
                if place == request.directories.count {
                    places[item.directory] = place
                    request.directories.append(
                        LookRequest.Directory(
                            node: item.directory, path: table.path(of: item.directory),
                            inode: table[item.directory].inode))
                }
                last = (item.directory, place)
            }
            request.add(table.names[item.name], in: last.place)
        }
        return request
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
        let unreached = items.indices.filter { observations[$0] == .unreached }
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
        case .directory(let inode):
            tellVanished(directory, name, hints)
            enterDirectory(directory, name, inode: inode, isMountRoot: false, hints)
        case .mountRoot(let inode):
            tellVanished(directory, name, hints)
            enterDirectory(directory, name, inode: inode, isMountRoot: true, hints)
        case .file(let kind, let identity, let links):
            leaveDirectory(directory, name, hints)
            if kind == .regular {
                observeFile(directory, name, identity, links: links, hints)
            } else {
                observeSpecial(directory, name, kind, identity, hints)
            }
        case .writing(let identity):
            leaveDirectory(directory, name, hints)
            observeOpen(directory, name, identity, hints)
        case .failed, .unreached:
            // Nothing is known, so nothing is said; the next event or reconciliation asks again.
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
        if case .special = known?.state {
            tellVanished(directory, name, hints)
            known = nil
        }
        if let known, known.state == .reported, isSame(known.identity, identity, directory, name) { return }
        if let old = takeSource(of: identity, among: hints.sources, to: directory, name) {
            tell(directory, name, identity, .renamed(from: old), hints)
        } else if hints.signs.contains(.closed) {
            tell(directory, name, identity, .finished(.closeWrite), hints)
        } else if hints.signs.contains(.movedIn) {
            tell(directory, name, identity, .finished(.movedIn), hints)
        } else if hints.signs.contains(.surveyed) {
            tell(directory, name, identity, .finished(.found), hints)
        } else if let known, known.state != .reported {
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
        of identity: FileIdentity, among sources: [MoveSource], to directory: NodeID, _ name: NameID
    ) -> BytePath? {
        for source in sources where table.isValid(source.directory) && isAttached(source.directory) {
            if source.directory == directory, source.name == name { continue }
            guard let known = files[source.directory, source.name], known.identity.inode == identity.inode
            else { continue }
            switch known.state {
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
