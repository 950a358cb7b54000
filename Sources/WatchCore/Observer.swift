import FileValues

/// What lookups and surveys saw, compared with what is known, makes notices.
struct Observer {
    var files: FileObserver
    /// Directories whose listing came while they, or one above, were about to be found elsewhere: listed again then.
    private var unsure: Set<NodeID> = []

    init(files: FileObserver) { self.files = files }

    private var moves: Moves {
        @inline(__always) _read { yield files.moves }
        @inline(__always) _modify { yield &files.moves }
    }
    private var agenda: Agenda {
        @inline(__always) _read { yield files.moves.events.watches.agenda }
        @inline(__always) _modify { yield &files.moves.events.watches.agenda }
    }
    private var tree: Tree {
        @inline(__always) _read { yield files.moves.events.watches.agenda.tree }
        @inline(__always) _modify { yield &files.moves.events.watches.agenda.tree }
    }

    /// Whether a name is about to be looked up, or a lookup of it is on its way.
    @inline(__always)
    private func isAwaited(_ directory: NodeID, _ name: NameID) -> Bool {
        agenda.roots[tree.root(of: directory)].names.contains(directory, name) || moves.events.isHeld(directory, name)
    }

    /// Whether a directory, or one above, may not be where it is known.
    @inline(__always)
    private func isUncertain(_ directory: NodeID) -> Bool {
        var node = directory
        while let parent = tree.directories.parent(of: node) {
            if isAwaited(parent, tree.directories.name(of: node)) { return true }
            node = parent
        }
        return false
    }

    /// Ends a root's life.
    mutating func endLife(_ root: Int) {
        let known = unsure
        unsure = known.filter { tree.directories.isValid($0) && tree.root(of: $0) != root }
    }
}

// MARK: - Lookups

extension Observer {
    /// Sends all names that are due; those of directories that are gone, or displaced, have nothing to be looked up, and
    /// those in directories that were moved wait until these are listed.
    mutating func sendLookups(_ root: Int) {
        var names = PendingNames()
        swap(&names, &agenda.roots[root].names)
        let due = names.begin {
            !tree.directories.isValid($0) || !tree.isAttached($0)
        } isToWait: {
            moves.isMoving($0)
        }
        if let due {
            agenda.request(root, .lookUp(LookupRequest(due.items, in: tree, mayHaveMoved: names.mayHaveMoved)))
            names.mayHaveMoved = false
        }
        swap(&names, &agenda.roots[root].names)
    }

    /// How often a name is looked up again because more was heard of it meanwhile.
    private static let mostRounds = 8

    /// What the lookup under way saw, name by name.
    mutating func apply(_ observations: [Observation], root: Int) {
        guard let items = agenda.roots[root].names.end() else { return }
        // Renames first, so that an old name is not reported as vanished before its new one is known.
        let hasRenames = items.contains { !$0.hints.sources.isEmpty }
        var void: Set<DirtyNames.Key> = []
        for renames in hasRenames ? [true, false] : [false] {
            for position in items.indices where items[position].hints.sources.isEmpty != renames {
                var item = items[position]
                guard tree.directories.isValid(item.directory), !observations[position].isUnreached else { continue }
                let key = DirtyNames.Key(directory: item.directory, name: item.name)
                let isElsewhere = isUncertain(item.directory) || moves.isMoving(item.directory)
                // Events told more of it meanwhile.
                let isVoid =
                    agenda.roots[root].names[item.directory, item.name] != nil
                    || moves.events.isHeld(item.directory, item.name) || void.contains(key)
                if isElsewhere || isVoid {
                    // Under a path that may be wrong nothing is reported, however long its directories move.
                    if !isElsewhere { item.hints.rounds += 1 }
                    if isElsewhere || item.hints.rounds <= Self.mostRounds {
                        agenda.roots[root].names.addEarlier(item.directory, item.name, item.hints)
                        // Where it was is looked up with it.
                        for source in item.hints.sources {
                            void.insert(DirtyNames.Key(directory: source.directory, name: source.name))
                        }
                        continue
                    }
                    // It never rests: reported as it is, and again once it has changed.
                    item.hints.signs.insert(.unsure)
                }
                observe(item.directory, item.name, observations[position], item.hints)
            }
        }
        let unreached = items.indices.filter { observations[$0].isUnreached }
        if !unreached.isEmpty { retry(unreached.map { items[$0] }) }
    }

    /// Directories were not where they should be: renamed or replaced since, and their parents' lookups tell which.
    private mutating func retry(_ items: [DirtyNames.Item]) {
        var rechecked: Set<NodeID> = []
        var surveyed: Set<NodeID> = []
        for var item in items where tree.directories.isValid(item.directory) {
            if rechecked.insert(item.directory).inserted { agenda.recheck(item.directory) }
            item.hints.tries += 1
            if item.hints.tries <= 3 {
                let root = tree.root(of: item.directory)
                agenda.roots[root].names.addEarlier(item.directory, item.name, item.hints)
            } else if surveyed.insert(item.directory).inserted {
                agenda.survey(item.directory, isRecursive: true)
            }
        }
    }

    /// What was seen under one name of one directory.
    private mutating func observe(
        _ directory: NodeID, _ name: NameID, _ observation: Observation, _ hints: Hints
    ) {
        guard tree.directories.isValid(directory), tree.isAttached(directory) else { return }
        switch observation {
        case .absent, .excluded:
            leaveDirectory(directory, name, hints)
            moves.reportVanished(directory, name, hints)
        case .directory(let inode, let born):
            moves.reportVanished(directory, name, hints)
            enterDirectory(directory, name, inode: inode, born: born, isMountRoot: false, hints)
        case .mountRoot(let inode):
            moves.reportVanished(directory, name, hints)
            enterDirectory(directory, name, inode: inode, born: .unknown, isMountRoot: true, hints)
        case .file(let kind, let identity, let links):
            leaveDirectory(directory, name, hints)
            if kind == .regular {
                files.observeFile(directory, name, identity, links: links, isUnwritten: false, hints)
            } else {
                files.observeSpecial(directory, name, kind, identity, hints)
            }
        case .unwritten(let identity, let links):
            leaveDirectory(directory, name, hints)
            files.observeFile(directory, name, identity, links: links, isUnwritten: true, hints)
        case .writing(let identity):
            leaveDirectory(directory, name, hints)
            files.observeOpen(directory, name, identity, hints)
        case .failed:
            // Nothing is known, so nothing is reported, and no event needs to come: the next ticks ask again.
            agenda.roots[tree.root(of: directory)].names.addFailed(directory)
        case .unreached:
            // Looked up again already, or its directory is listed.
            break
        }
    }

    /// A directory with this inode was seen under a name.
    private mutating func enterDirectory(
        _ parent: NodeID, _ name: NameID, inode: UInt64, born: BirthMark, isMountRoot: Bool, _ hints: Hints
    ) {
        if let existing = tree.directories.child(of: parent, named: name) {
            let known = tree[existing].inode
            if known != 0, known != inode, isMountRoot || tree.mounts[existing] != nil {
                // Mounted or unmounted, not renamed: what is there now has to be opened to be known.
                agenda.survey(existing, isRecursive: true)
                return
            }
            if known == inode {
                // Two directories with one watch, and the first is where it should be: one inode in two places.
                moves.watches.rejectClaims(on: existing)
                if tree[existing].coverage == .unwatched { agenda.survey(existing, isRecursive: true) }
                return
            }
            if known == 0 {
                if tree[existing].coverage == .unwatched { agenda.survey(existing, isRecursive: true) }
                if hints.sources.isEmpty { return }
            }
            moves.displace(existing)
        }
        if hints.sources.isEmpty, moves.isDisplaced(inode: inode, in: tree.root(of: parent)) {
            // When it is opened, it is seen whether it is that one, and what is left in it.
            agenda.survey(tree.add(name, in: parent), isRecursive: true)
        } else if let moved = moves.detachMoved(inode: inode, born: born, hints.sources, to: parent) {
            moves.attach(moved.node, from: moved.path, to: parent, name)
            agenda.survey(moved.node, isRecursive: true)
        } else {
            agenda.survey(tree.add(name, in: parent), isRecursive: true)
        }
    }

    /// A directory known under a name is not there any more, or something else is.
    private mutating func leaveDirectory(_ parent: NodeID, _ name: NameID, _ hints: Hints) {
        guard let child = tree.directories.child(of: parent, named: name) else { return }
        if let mount = tree.mounts[child] {
            // A mount's root is neither deleted nor renamed: it was unmounted before its directory was removed.
            moves.shelve(child, mount)
        } else if hints.signs.contains(.left) {
            moves.drop(child, path: tree.directories.path(of: child))
        } else {
            moves.displace(child)
        }
    }
}

// MARK: - Surveys

extension Observer {
    /// What a survey found since the last time.
    mutating func apply(_ findings: Findings, ofSurvey id: UInt32, isComplete: Bool, root: Int) {
        guard var survey = agenda.surveys.beginUpdate(id) else {
            for directory in findings.directories {
                if case .listed(_, _, let watch) = directory.outcome {
                    moves.watches.releaseUnowned(watch, root: root, from: id)
                }
            }
            return
        }
        for position in findings.directories.indices { integrate(position, findings, of: &survey, id) }
        agenda.surveys.endUpdate(id, isComplete ? nil : survey)
        if isComplete { agenda.roots[root].surveys -= 1 }
    }

    private mutating func integrate(
        _ position: Int, _ findings: Findings, of survey: inout Surveys.Survey, _ id: UInt32
    ) {
        let directory = findings.directories[position]
        let isFirst = directory.parent < 0
        var node = isFirst ? survey.nodes.first : child(directory, findings, of: survey)
        if let known = node, !tree.directories.isValid(known) || !tree.isAttached(known) { node = nil }
        guard let node else {
            if case .listed(_, _, let watch) = directory.outcome {
                moves.watches.releaseUnowned(watch, root: survey.root, from: id)
            }
            if !isFirst { survey.set(.none, at: directory.place) }
            return
        }
        var found = node
        switch directory.outcome {
        case .absent:
            if tree[node].coverage == .pending { tree.setCoverage(node, .unwatched) }
            agenda.recheck(node)
            // Looked for at least: if the root is there all the same, the next tick has it surveyed again.
            if tree.isTop(node) { agenda.roots[survey.root].noteListing() }
        case .unreadable(let code):
            let isNew = tree[node].coverage != .unreadable
            if isNew { moves.watches.release(node) }
            tree.setCoverage(node, .unreadable, failure: code)
            if isNew {
                let path = tree.directories.path(of: node)
                moves.reportMoved(node, seen: nil)
                moves.report(survey.root, path, .unreadable(CallFailure("openat", number: code, path: path)))
            }
            if tree.isTop(node) { agenda.roots[survey.root].noteListing() }
        case .listed(let inode, let born, let watch):
            // About to be found elsewhere, or in what is: what it holds is reported when it is listed there.
            let isUnsure = isUncertain(node) || !isParentReported(node)
            let mount = findings.mounts[position]
            if isUnsure {
                unsure.insert(node)
                guard tree[node].inode == inode, mount == nil, tree.mounts[node] == nil else {
                    moves.watches.releaseUnowned(watch, root: survey.root, from: id)
                    break
                }
            } else {
                found = identify(node, inode, born, mount)
                tree[found].born = born
            }
            let wasWatched = found == node && tree[node].coverage == .watched && tree[node].watch == watch
            if watch >= 0 {
                for record in moves.watches.bind(found, watch, from: id) { apply(record) }
            } else {
                moves.watches.release(found)
                tree.setCoverage(found, .polled, failure: -watch)
            }
            if isUnsure { break }
            let isAudit = wasWatched && agenda.roots[survey.root].comparison.underWay?.isAudit == true
            compare(found, directory.entries, findings, isRecursive: survey.isRecursive, isAudit: isAudit)
            if tree.isTop(found) { agenda.roots[survey.root].noteListing() }
        }
        survey.set(found, at: directory.place)
    }

    /// An event that came before the result that says whose it is.
    private mutating func apply(_ record: EventRecord) {
        guard let node = moves.watches.owner(of: record.watch) else { return }
        record.name.bytes.withUnsafeBytes { name in
            moves.events.apply(record.mask, cookie: record.cookie, name: name, in: node)
        }
    }

    private mutating func child(
        _ directory: Findings.Directory, _ findings: Findings, of survey: Surveys.Survey
    ) -> NodeID? {
        let position = Int(directory.parent)
        guard survey.nodes.indices.contains(position), tree.directories.isValid(survey.nodes[position])
        else { return nil }
        let name = findings.withName(directory.name) { tree.intern($0) }
        return tree.directories.child(of: survey.nodes[position], named: name)
    }

    /// Whether the directory that this one is in was reported where it is.
    @inline(__always)
    private func isParentReported(_ node: NodeID) -> Bool {
        guard let parent = tree.directories.parent(of: node) else { return true }
        return (tree.isTop(parent) || tree[parent].wasReported) && !moves.isMoving(parent)
    }

    /// Lists the directories again whose listing was void, once it is known where they are.
    mutating func surveyUnsure() {
        for node in unsure {
            guard tree.directories.isValid(node), tree.isAttached(node) else {
                unsure.remove(node)
                continue
            }
            if isUncertain(node) || !isParentReported(node) { continue }
            unsure.remove(node)
            agenda.survey(node, isRecursive: tree[node].inode == 0)
        }
    }

    /// Whether a directory of a root waits for that.
    @inline(__always)
    func hasUnsure(in root: Int) -> Bool {
        unsure.contains { tree.directories.isValid($0) && tree.root(of: $0) == root }
    }

    /// The directory that was found under a name, which may be another than the one that was known there.
    private mutating func identify(
        _ node: NodeID, _ inode: UInt64, _ born: BirthMark, _ mount: FileSystem?
    ) -> NodeID {
        if tree[node].inode == inode, tree.mounts.isEmpty && mount == nil || tree.mounts[node] == mount {
            tree[node].isRecalled = false
            return node
        }
        guard let parent = tree.directories.parent(of: node) else {
            tree[node].inode = inode
            return node
        }
        let name = tree.directories.name(of: node)
        let isNew = tree[node].inode == 0
        if tree[node].isRecalled, isNew || tree[node].inode == inode {
            // Reported in an earlier life: on a file system that gives another number in each, or as a mount.
            tree[node].isRecalled = false
            if let mount { tree.setMount(node, mount) }
            tree[node].inode = inode
            return node
        }
        if isNew || mount != nil || tree.mounts[node] != nil,
            let found = identifyMount(node, inode, mount, parent, name)
        {
            return found
        }
        if isNew, !moves.isDisplaced(inode: inode, in: tree.root(of: node)) {
            return reportAppeared(node, inode)
        }
        moves.displace(node)
        if let moved = moves.detachMoved(inode: inode, born: born, [], to: parent) {
            moves.attach(moved.node, from: moved.path, to: parent, name)
            // What happened in it while it was displaced was not looked up.
            agenda.survey(moved.node, isRecursive: true)
            return moved.node
        }
        return reportAppeared(tree.add(name, in: parent), inode)
    }

    /// The same where something was mounted, unmounted, or may be back; nil if it is nothing but a new directory.
    private mutating func identifyMount(
        _ node: NodeID, _ inode: UInt64, _ mount: FileSystem?, _ parent: NodeID, _ name: NameID
    ) -> NodeID? {
        let root = tree.root(of: node)
        let isNew = tree[node].inode == 0
        if !isNew { moves.shelve(node, tree.mounts[node]) }
        if let back = moves.unshelve(root, in: parent, named: name, mount, inode: inode) {
            if isNew { moves.drop(node, path: "", isSilent: true) }
            tree.attach(back, to: parent, name: name)
            moves.report(root, tree.directories.path(of: back), .treeBack)
            return back
        }
        if isNew, mount == nil { return nil }
        let fresh = isNew ? node : tree.add(name, in: parent)
        tree.setMount(fresh, mount)
        return reportAppeared(fresh, inode)
    }

    /// A directory is there that was not reported yet.
    private mutating func reportAppeared(_ node: NodeID, _ inode: UInt64) -> NodeID {
        tree[node].inode = inode
        moves.report(tree.root(of: node), tree.directories.path(of: node), .directoryAppeared)
        return node
    }

    /// Compares one listing with what is known of the directory.
    private mutating func compare(
        _ node: NodeID, _ entries: Range<Int32>, _ findings: Findings, isRecursive: Bool, isAudit: Bool
    ) {
        let hints = Hints(signs: .surveyed)
        let listed = entries.map { findings.withName(findings.entries[Int($0)].name) { tree.intern($0) } }
        if isAudit { suspectDifferences(node, listed, entries, findings) }
        if moves.reportedPaths[node] != nil {
            let seen = zip(listed, entries.map { findings.entries[Int($0)].observation })
            moves.reportMoved(node, seen: Dictionary(seen) { first, _ in first })
        }
        if !tree.isEmpty(node) {
            let present = Set(listed)
            // A listing is not trusted with a loss: the name is looked up.
            for (name, _) in tree.files(in: node) where !present.contains(name) {
                agenda.schedule(node, name, hints)
            }
            for child in tree.directories.children(of: node) {
                let name = tree.directories.name(of: child)
                if present.contains(name) { continue }
                if tree[child].isRecalled {
                    tree.setCoverage(child, .unwatched)
                } else if tree.mounts[child] == nil {
                    moves.displace(child)
                }
                agenda.schedule(node, name, hints)
            }
        }
        for (name, position) in zip(listed, entries) {
            // What events told of it says more than that it is there.
            if isAwaited(node, name) { continue }
            let observation = findings.entries[Int(position)].observation
            switch observation {
            case .directory, .mountRoot: break
            case .absent, .excluded, .file, .unwritten, .writing, .failed, .unreached:
                observe(node, name, observation, hints)
                continue
            }
            moves.reportVanished(node, name, hints)
            let child = tree.directories.child(of: node, named: name) ?? tree.add(name, in: node)
            // A recursive survey goes on to it by itself.
            if !isRecursive, tree[child].inode == 0 || tree[child].coverage == .unwatched {
                agenda.survey(child, isRecursive: true)
            }
        }
    }

    /// Compares a listing of the audit with what is known: the differences that no record has named so far. Only in a
    /// directory that had been watched before it was listed, and while nothing else is found out about the root.
    private mutating func suspectDifferences(
        _ node: NodeID, _ listed: [NameID], _ entries: Range<Int32>, _ findings: Findings
    ) {
        let root = tree.root(of: node)
        guard agenda.roots[root].surveys == 1 else { return }
        var suspects: [NameID] = []
        if !tree.isEmpty(node) {
            let present = Set(listed)
            let known = tree.files(in: node).map(\.name) + tree.directories.children(of: node).map { tree[$0].name }
            suspects = known.filter { !present.contains($0) }
        }
        for (name, position) in zip(listed, entries) {
            switch findings.entries[Int(position)].observation {
            case .directory(let inode, _):
                let child = tree.directories.child(of: node, named: name)
                if child.map({ tree[$0].inode != 0 && tree[$0].inode != inode }) ?? true { suspects.append(name) }
            case .file(_, let identity, _), .unwritten(let identity, _):
                if let known = tree[node, name], known.identity.inode == identity.inode {
                    if known.state == .reported, known.identity.size != identity.size {
                        agenda.roots[root].audit.ledger.doubt(
                            AuditLedger.Key(directory: node, name: tree.name(name)))
                    }
                } else {
                    suspects.append(name)
                }
            // Being written: its close is still to come. What is mounted, the mount table tells.
            case .writing, .absent, .excluded, .failed, .unreached, .mountRoot: break
            }
        }
        // Named by a record that was applied already: its lookup is still to come, or its other half.
        for name in suspects where !isAwaited(node, name) {
            agenda.roots[root].audit.ledger.suspect(AuditLedger.Key(directory: node, name: tree.name(name)))
        }
    }
}
