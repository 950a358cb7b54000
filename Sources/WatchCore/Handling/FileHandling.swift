import FileValues

/// Observations of files, compared with their last reports.
enum FileHandling {
    private static func report(
        _ directory: NodeID, _ name: NameID, _ kind: WatchNotice.Kind, _ identity: FileIdentity?, _ hints: Hints,
        in state: inout TreeState
    ) {
        let path = state.tree.directories.path(of: directory, name)
        state.report(state.tree.root(of: directory), path, kind, identity: identity, hints: hints)
    }

    private static func reportFinished(
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, _ kind: WatchNotice.Kind, _ hints: Hints,
        mustDiffer: Bool = false, in state: inout TreeState
    ) {
        let mustDiffer = mustDiffer || hints.signs.contains(.unstable)
        state.tree.setFile(directory, name, KnownFile(identity: identity, state: .reported, mustDiffer: mustDiffer))
        report(directory, name, kind, identity, hints, in: &state)
    }

    /// Applies an observation of what is neither a directory nor a regular file.
    static func observeSpecial(
        _ directory: NodeID, _ name: NameID, _ kind: FileKind, _ identity: FileIdentity, _ hints: Hints,
        in state: inout TreeState
    ) {
        if let known = state.tree[directory, name] {
            if known.state == .special(kind), state.rule(directory).isSameInode(known.identity, identity) { return }
            state.reportVanished(directory, name, hints)
        }
        state.tree.setFile(directory, name, KnownFile(identity: identity, state: .special(kind)))
        report(directory, name, .notRegular(kind), nil, hints, in: &state)
    }

    /// Applies an observation of a regular file.
    static func observe(
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, links: UInt64, isUnwritten: Bool, _ hints: Hints,
        in state: inout TreeState
    ) {
        var known = state.tree[directory, name]
        if known == nil, hints.sources.isEmpty, hints.signs.contains(.closed), !hints.signs.contains(.unstable) {
            // The usual case: a file that was made and written.
            state.tree.addFile(directory, name, KnownFile(identity: identity, state: .reported))
            report(directory, name, .finished(.closeWrite), identity, hints, in: &state)
            return
        }
        if case .special = known?.state {
            state.reportVanished(directory, name, hints)
            known = nil
        }
        if let known, known.state == .reported,
            wasReported(known, as: identity, directory, name, hints, in: &state)
        {
            return
        }
        // Made a moment ago by an open(2) that may not count as a writer yet.
        let isBeingOpened = hints.signs.contains(.created) && identity.size == 0 && links == 1
        if let old = removeSource(of: identity, among: hints, to: directory, name, in: &state) {
            reportFinished(directory, name, identity, .renamed(from: old), hints, in: &state)
        } else if hints.signs.contains(.closed) {
            reportFinished(directory, name, identity, .finished(.closeWrite), hints, in: &state)
        } else if hints.signs.contains(.movedIn) {
            reportFinished(directory, name, identity, .finished(.movedIn), hints, in: &state)
        } else if isUnwritten && !isBeingOpened || hints.signs.contains(.surveyed) {
            reportFinished(directory, name, identity, .finished(.found), hints, mustDiffer: true, in: &state)
        } else if let known, known.isUnfinished {
            observeUnfinished(directory, name, known, identity, hints, in: &state)
        } else if hints.signs.isDisjoint(with: [.created, .modified]) {
            reportFinished(directory, name, identity, .finished(.found), hints, in: &state)
        } else if known == nil, links > 1 {
            // Made by link(2): its content is older than its name, and no close will be reported under this name.
            reportFinished(directory, name, identity, .finished(.found), hints, in: &state)
        } else {
            awaitClose(directory, name, known, identity, hints, in: &state)
        }
    }

    /// Whether the observation is of the version that was reported. If only its attributes or links differ, these are
    /// reported.
    private static func wasReported(
        _ known: KnownFile, as seen: FileIdentity, _ directory: NodeID, _ name: NameID, _ hints: Hints,
        in state: inout TreeState
    ) -> Bool {
        let rule = state.rule(directory)
        guard rule.hasSameContent(known.identity, seen) else { return false }
        let isUnchanged = rule.isSame(known.identity, seen)
        // Whoever closed it may have written through a mapping, which leaves no trace if it was made before.
        if hints.signs.contains(.closed), !(isUnchanged && known.mustDiffer) { return false }
        // It left and came back.
        if hints.signs.contains(.movedIn), !isUnchanged { return false }
        if known.identity != seen {
            var file = known
            file.identity = seen
            state.tree.setFile(directory, name, file)
        }
        if !isUnchanged { report(directory, name, .attributesChanged, seen, hints, in: &state) }
        return true
    }

    /// Applies an observation of a file that some program has open for writing.
    static func observeOpen(
        _ directory: NodeID, _ name: NameID, _ identity: FileIdentity, _ hints: Hints, in state: inout TreeState
    ) {
        var known = state.tree[directory, name]
        if case .special = known?.state {
            state.reportVanished(directory, name, hints)
            known = nil
        }
        // Made without a name (O_TMPFILE) and given one before it is closed: no close is reported under that.
        if known == nil, hints.signs.contains(.created), identity.changed > identity.modified {
            state.newFiles.addLinked(DirtyNames.Key(directory: directory, name: name))
        }
        // Its close is reported in any case, unless it must differ.
        if let known, known.state != .writing, state.rule(directory).isSame(known.identity, identity) { return }
        if known?.identity != identity { awaitClose(directory, name, known, identity, hints, in: &state) }
    }

    /// Notes that a file's close is still to come.
    private static func awaitClose(
        _ directory: NodeID, _ name: NameID, _ known: KnownFile?, _ identity: FileIdentity, _ hints: Hints,
        in state: inout TreeState
    ) {
        var known = known
        if let before = known, !state.rule(directory).isSameInode(before.identity, identity) {
            // Another file has the name, and the one that was reported is gone.
            state.reportVanished(directory, name, hints)
            known = nil
        }
        state.tree.setFile(directory, name, KnownFile(identity: identity, state: .writing))
        if known == nil {
            report(directory, name, .created, identity, hints, in: &state)
        } else if state.reportsChanges {
            report(directory, name, .changed, identity, hints, in: &state)
        }
    }

    /// Applies another observation of a file that was reported as created, and not closed since.
    private static func observeUnfinished(
        _ directory: NodeID, _ name: NameID, _ known: KnownFile, _ identity: FileIdentity, _ hints: Hints,
        in state: inout TreeState
    ) {
        if hints.signs.contains(.restCheck), known.identity == identity {
            if known.state == .resting {
                reportFinished(directory, name, identity, .finished(.found), hints, in: &state)
            } else {
                state.tree.setFile(directory, name, KnownFile(identity: identity, state: .resting))
            }
            return
        }
        guard known.identity != identity else { return }
        state.tree.setFile(directory, name, KnownFile(identity: identity, state: .writing))
        if state.reportsChanges, hints.signs.contains(.modified) {
            report(directory, name, .changed, identity, hints, in: &state)
        }
    }

    /// Removes the file that was renamed, and returns the path at which it was reported. Nil, and reported as vanished, if
    /// it was changed since.
    private static func removeSource(
        of identity: FileIdentity, among hints: Hints, to directory: NodeID, _ name: NameID, in state: inout TreeState
    ) -> BytePath? {
        for source in hints.sources
        where state.tree.directories.isValid(source.directory) && state.tree.isAttached(source.directory) {
            if source.directory == directory, source.name == name { continue }
            guard let known = state.tree[source.directory, source.name], known.identity.inode == identity.inode
            else { continue }
            guard known.state == .reported, !hints.signs.contains(.closed),
                state.rule(directory).hasSameContent(known.identity, identity)
            else {
                state.reportVanished(source.directory, source.name, hints)
                return nil
            }
            state.tree.setFile(source.directory, source.name, nil)
            return state.reportedPath(source.directory, source.name)
        }
        return nil
    }
}

extension TreeState {
    @inline(__always)
    fileprivate func rule(_ directory: NodeID) -> IdentityRule { tree.roots[tree.root(of: directory)].rule }
}
