import FileValues

/// What was seen of a file, compared with what is known of it.
struct FileObserver {
    var moves: Moves
    /// Whether changes of files that are being written are reported.
    private let reportsChanges: Bool

    init(moves: Moves, reportsChanges: Bool) {
        self.moves = moves
        self.reportsChanges = reportsChanges
    }

    private var tree: Tree {
        @inline(__always) _read { yield moves.events.watches.agenda.tree }
        @inline(__always) _modify { yield &moves.events.watches.agenda.tree }
    }

    @inline(__always)
    private func rule(_ directory: NodeID) -> IdentityRule { tree.roots[tree.root(of: directory)].rule }

    private mutating func report(
        _ directory: NodeID, _ name: NameID, _ kind: WatchNotice.Kind, _ identity: FileIdentity?, _ hints: Hints
    ) {
        moves.report(
            tree.root(of: directory), tree.directories.path(of: directory, name), kind, identity: identity,
            hints: hints)
    }

    /// A file that is finished as it is.
    private mutating func reportFinished(
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, _ kind: WatchNotice.Kind, _ hints: Hints,
        mustDiffer: Bool = false
    ) {
        let mustDiffer = mustDiffer || hints.signs.contains(.unsure)
        tree.setFile(directory, name, KnownFile(identity: identity, state: .reported, mustDiffer: mustDiffer))
        report(directory, name, kind, identity, hints)
    }

    mutating func observeSpecial(
        _ directory: NodeID, _ name: NameID, _ kind: FileKind, _ identity: FileIdentity, _ hints: Hints
    ) {
        if let known = tree[directory, name] {
            if known.state == .special(kind), rule(directory).isSameInode(known.identity, identity) { return }
            moves.reportVanished(directory, name, hints)
        }
        tree.setFile(directory, name, KnownFile(identity: identity, state: .special(kind)))
        report(directory, name, .notRegular(kind), nil, hints)
    }

    mutating func observeFile(
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, links: UInt64, isUnwritten: Bool, _ hints: Hints
    ) {
        var known = tree[directory, name]
        if known == nil, hints.sources.isEmpty, hints.signs.contains(.closed), !hints.signs.contains(.unsure) {
            // What most events come to: a file that was made and written.
            tree.addFile(directory, name, KnownFile(identity: identity, state: .reported))
            report(directory, name, .finished(.closeWrite), identity, hints)
            return
        }
        if case .special = known?.state {
            moves.reportVanished(directory, name, hints)
            known = nil
        }
        if let known, known.state == .reported, wasReported(known, as: identity, directory, name, hints) { return }
        // Made a moment ago by an open(2) that may not count as a writer yet.
        let isBeingOpened = hints.signs.contains(.created) && identity.size == 0 && links == 1
        if let old = takeSource(of: identity, among: hints, to: directory, name) {
            reportFinished(directory, name, identity, .renamed(from: old), hints)
        } else if hints.signs.contains(.closed) {
            reportFinished(directory, name, identity, .finished(.closeWrite), hints)
        } else if hints.signs.contains(.movedIn) {
            reportFinished(directory, name, identity, .finished(.movedIn), hints)
        } else if isUnwritten && !isBeingOpened || hints.signs.contains(.surveyed) {
            reportFinished(directory, name, identity, .finished(.found), hints, mustDiffer: true)
        } else if let known, known.isUnfinished {
            observeWriting(directory, name, known, identity, hints)
        } else if hints.signs.isDisjoint(with: [.created, .modified]) {
            reportFinished(directory, name, identity, .finished(.found), hints)
        } else if known == nil, links > 1 {
            // Made by link(2): its content is older than its name, and no close will be reported under this name.
            reportFinished(directory, name, identity, .finished(.found), hints)
        } else {
            awaitClose(directory, name, known, identity, hints)
        }
    }

    /// Whether what is seen is the version that was reported. A file whose attributes or links alone have changed is noted
    /// as it is now.
    private mutating func wasReported(
        _ known: KnownFile, as seen: FileIdentity, _ directory: NodeID, _ name: NameID, _ hints: Hints
    ) -> Bool {
        let rule = rule(directory)
        guard rule.hasSameContent(known.identity, seen) else { return false }
        let isUnchanged = rule.isSame(known.identity, seen)
        // Whoever closed it may have written through a mapping, which leaves no trace if it was made before.
        if hints.signs.contains(.closed), !(isUnchanged && known.mustDiffer) { return false }
        // It left and came back.
        if hints.signs.contains(.movedIn), !isUnchanged { return false }
        if known.identity != seen {
            var file = known
            file.identity = seen
            tree.setFile(directory, name, file)
        }
        if !isUnchanged { report(directory, name, .attributesChanged, seen, hints) }
        return true
    }

    /// A file that some program has open for writing.
    mutating func observeOpen(_ directory: NodeID, _ name: NameID, _ identity: FileIdentity, _ hints: Hints) {
        var known = tree[directory, name]
        if case .special = known?.state {
            moves.reportVanished(directory, name, hints)
            known = nil
        }
        // Made without a name (O_TMPFILE) and given one before it is closed: no close is reported under that.
        if known == nil, hints.signs.contains(.created), identity.changed > identity.modified {
            moves.agenda.scheduleLinked(directory, name)
        }
        // Its close is reported in any case, unless it must differ.
        if let known, known.state != .writing, rule(directory).isSame(known.identity, identity) { return }
        if known?.identity != identity { awaitClose(directory, name, known, identity, hints) }
    }

    /// Its close is still to come.
    private mutating func awaitClose(
        _ directory: NodeID, _ name: NameID, _ known: KnownFile?, _ identity: FileIdentity, _ hints: Hints
    ) {
        var known = known
        if let before = known, !rule(directory).isSameInode(before.identity, identity) {
            // Another file has the name, and what was reported of it is gone.
            moves.reportVanished(directory, name, hints)
            known = nil
        }
        tree.setFile(directory, name, KnownFile(identity: identity, state: .writing))
        if known == nil {
            report(directory, name, .created, identity, hints)
        } else if reportsChanges {
            report(directory, name, .changed, identity, hints)
        }
    }

    /// A file that was reported as created, seen again before it was closed.
    private mutating func observeWriting(
        _ directory: NodeID, _ name: NameID, _ known: KnownFile, _ identity: FileIdentity, _ hints: Hints
    ) {
        if hints.signs.contains(.restCheck), known.identity == identity {
            if known.state == .resting {
                reportFinished(directory, name, identity, .finished(.found), hints)
            } else {
                tree.setFile(directory, name, KnownFile(identity: identity, state: .resting))
            }
            return
        }
        guard known.identity != identity else { return }
        tree.setFile(directory, name, KnownFile(identity: identity, state: .writing))
        if reportsChanges, hints.signs.contains(.modified) { report(directory, name, .changed, identity, hints) }
    }

    /// The path under which a renamed file was reported, if it is unchanged; it is not known there any more.
    private mutating func takeSource(
        of identity: FileIdentity, among hints: Hints, to directory: NodeID, _ name: NameID
    ) -> BytePath? {
        for source in hints.sources
        where tree.directories.isValid(source.directory) && tree.isAttached(source.directory) {
            if source.directory == directory, source.name == name { continue }
            guard let known = tree[source.directory, source.name], known.identity.inode == identity.inode
            else { continue }
            guard known.state == .reported, !hints.signs.contains(.closed),
                rule(directory).hasSameContent(known.identity, identity)
            else {
                moves.reportVanished(source.directory, source.name, hints)
                return nil
            }
            tree.setFile(source.directory, source.name, nil)
            return moves.reportedPath(source.directory, source.name)
        }
        return nil
    }
}
