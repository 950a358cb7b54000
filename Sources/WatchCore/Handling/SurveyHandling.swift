import FileValues

/// Surveys: listings of directories, compared with the tree.
enum SurveyHandling {
    /// Applies the findings of a survey since its last result.
    static func apply(
        _ findings: Findings, of id: UInt32, isComplete: Bool, root: Int, in state: inout TreeState
    ) {
        guard var survey = state.surveys.beginUpdate(id) else {
            for directory in findings.directories {
                if case .listed(_, _, let watch) = directory.outcome {
                    WatchHandling.releaseUnowned(watch, root: root, from: id, in: &state)
                }
            }
            return
        }
        for position in findings.directories.indices { apply(position, of: findings, id, to: &survey, in: &state) }
        state.surveys.endUpdate(id, isComplete ? nil : survey)
        if isComplete { state.roots[root].surveys -= 1 }
    }

    /// Applies the findings of one directory.
    private static func apply(
        _ position: Int, of findings: Findings, _ id: UInt32, to survey: inout Surveys.Survey,
        in state: inout TreeState
    ) {
        let directory = findings.directories[position]
        let isFirst = directory.parent < 0
        var node = isFirst ? survey.nodes.first : child(directory, findings, of: survey, in: &state)
        if let known = node, !state.tree.directories.isValid(known) || !state.tree.isAttached(known) { node = nil }
        guard let node else {
            if case .listed(_, _, let watch) = directory.outcome {
                WatchHandling.releaseUnowned(watch, root: survey.root, from: id, in: &state)
            }
            if !isFirst { survey.set(.none, at: directory.position) }
            return
        }
        var found = node
        switch directory.outcome {
        case .absent:
            if state.tree[node].coverage == .pending { state.tree.setCoverage(node, .unwatched) }
            state.recheck(node)
            // If the root is there all the same, the next tick has it surveyed again.
            if state.tree.isTop(node) { state.roots[survey.root].noteListing() }
        case .unreadable(let code):
            applyUnreadable(node, code, in: &state)
        case .listed(let inode, let born, let watch):
            // The directory may be moved or replaced: its entries are reported once it is listed where it is then.
            let isUncertain = state.isUncertain(node) || !state.isParentReported(node)
            let mount = findings.mounts[position]
            if isUncertain {
                state.surveys.postponed.insert(node)
                guard state.tree[node].inode == inode, mount == nil, state.tree.mounts[node] == nil else {
                    WatchHandling.releaseUnowned(watch, root: survey.root, from: id, in: &state)
                    break
                }
            } else {
                found = identify(node, inode, born, mount, in: &state)
                state.tree[found].born = born
            }
            let wasWatched =
                found == node && state.tree[node].coverage == .watched && state.tree[node].watch == watch
            if watch >= 0 {
                let early = WatchHandling.bind(found, to: watch, from: id, in: &state)
                for record in early { apply(record, in: &state) }
            } else {
                WatchHandling.release(found, in: &state)
                state.tree.setCoverage(found, .polled, failure: -watch)
            }
            if isUncertain { break }
            let isAudit = wasWatched && state.roots[survey.root].comparison.underWay?.isAudit == true
            compare(
                found, directory.entries, findings, isRecursive: survey.isRecursive, isAudit: isAudit, in: &state)
            if state.tree.isTop(found) { state.roots[survey.root].noteListing() }
        }
        survey.set(found, at: directory.position)
    }

    private static func applyUnreadable(_ node: NodeID, _ code: Int32, in state: inout TreeState) {
        let root = state.tree.root(of: node)
        let isNew = state.tree[node].coverage != .unreadable
        if isNew { WatchHandling.release(node, in: &state) }
        state.tree.setCoverage(node, .unreadable, failure: code)
        if isNew {
            let path = state.tree.directories.path(of: node)
            DirectoryHandling.reportMoved(node, seen: nil, in: &state)
            state.report(root, path, .unreadable(CallFailure("openat", number: code, path: path)))
        }
        if state.tree.isTop(node) { state.roots[root].noteListing() }
    }

    /// Applies an event that came before the result which names its watch.
    private static func apply(_ record: EventRecord, in state: inout TreeState) {
        guard let node = state.owner(of: record.watch) else { return }
        record.name.bytes.withUnsafeBytes { name in
            EventHandling.apply(record.mask, cookie: record.cookie, name: name, of: node, in: &state)
        }
    }

    private static func child(
        _ directory: Findings.Directory, _ findings: Findings, of survey: Surveys.Survey, in state: inout TreeState
    ) -> NodeID? {
        let position = Int(directory.parent)
        guard survey.nodes.indices.contains(position), state.tree.directories.isValid(survey.nodes[position])
        else { return nil }
        let name = findings.withName(directory.name) { state.tree.intern($0) }
        return state.tree.directories.child(of: survey.nodes[position], named: name)
    }

    /// Surveys the postponed directories again whose place is known by now.
    static func surveyPostponed(in state: inout TreeState) {
        for node in state.surveys.postponed {
            guard state.tree.directories.isValid(node), state.tree.isAttached(node) else {
                state.surveys.postponed.remove(node)
                continue
            }
            if state.isUncertain(node) || !state.isParentReported(node) { continue }
            state.surveys.postponed.remove(node)
            state.survey(node, isRecursive: state.tree[node].inode == 0)
        }
    }
}

// MARK: - Identification

extension SurveyHandling {
    /// The directory that was found under a name, which may be another than the one that is known there.
    private static func identify(
        _ node: NodeID, _ inode: UInt64, _ born: BirthMark, _ mount: FileSystem?, in state: inout TreeState
    ) -> NodeID {
        if state.tree[node].inode == inode,
            state.tree.mounts.isEmpty && mount == nil || state.tree.mounts[node] == mount
        {
            state.tree[node].isRecalled = false
            return node
        }
        guard let parent = state.tree.directories.parent(of: node) else {
            state.tree[node].inode = inode
            return node
        }
        let name = state.tree.directories.name(of: node)
        let isNew = state.tree[node].inode == 0
        if state.tree[node].isRecalled, isNew || state.tree[node].inode == inode {
            // Reported before a restart: on a file system whose inode numbers do not last, or as a mount.
            state.tree[node].isRecalled = false
            if let mount { state.tree.setMount(node, mount) }
            state.tree[node].inode = inode
            return node
        }
        if isNew || mount != nil || state.tree.mounts[node] != nil,
            let found = identifyMount(node, inode, mount, parent, name, in: &state)
        {
            return found
        }
        if isNew, !state.moves.contains(state.tree.root(of: node), inode: inode) {
            return DirectoryHandling.reportAppeared(node, inode: inode, in: &state)
        }
        DirectoryHandling.displace(node, in: &state)
        if let moved = DirectoryHandling.detachMoved(inode: inode, born: born, [], to: parent, in: &state) {
            DirectoryHandling.attach(moved.node, from: moved.path, to: parent, name, in: &state)
            // Events in it while it was displaced were ignored.
            state.survey(moved.node, isRecursive: true)
            return moved.node
        }
        return DirectoryHandling.reportAppeared(state.tree.add(name, in: parent), inode: inode, in: &state)
    }

    /// The same where something was mounted, unmounted, or may be back; nil if it is a new directory and no mount.
    private static func identifyMount(
        _ node: NodeID, _ inode: UInt64, _ mount: FileSystem?, _ parent: NodeID, _ name: NameID,
        in state: inout TreeState
    ) -> NodeID? {
        let root = state.tree.root(of: node)
        let isNew = state.tree[node].inode == 0
        if !isNew { DirectoryHandling.park(node, state.tree.mounts[node], in: &state) }
        if let back = DirectoryHandling.unpark(root, in: parent, named: name, mount, inode: inode, from: &state) {
            if isNew { DirectoryHandling.drop(node, path: "", isSilent: true, in: &state) }
            state.tree.attach(back, to: parent, name: name)
            state.report(root, state.tree.directories.path(of: back), .treeBack)
            return back
        }
        if isNew, mount == nil { return nil }
        let found = isNew ? node : state.tree.add(name, in: parent)
        state.tree.setMount(found, mount)
        return DirectoryHandling.reportAppeared(found, inode: inode, in: &state)
    }
}

// MARK: - Comparison

extension SurveyHandling {
    /// Compares one listing with the directory.
    private static func compare(
        _ node: NodeID, _ entries: Range<Int32>, _ findings: Findings, isRecursive: Bool, isAudit: Bool,
        in state: inout TreeState
    ) {
        let hints = Hints(signs: .surveyed)
        let listed = entries.map { findings.withName(findings.entries[Int($0)].name) { state.tree.intern($0) } }
        if isAudit { audit(node, listed, entries, findings, in: &state) }
        if state.moves.reportedPaths[node] != nil {
            let seen = zip(listed, entries.map { findings.entries[Int($0)].observation })
            DirectoryHandling.reportMoved(node, seen: Dictionary(seen) { first, _ in first }, in: &state)
        }
        if !state.tree.isEmpty(node) {
            let present = Set(listed)
            // Absence from a listing is no proof that an entry is gone: the name is looked up.
            for (name, _) in state.tree.files(in: node) where !present.contains(name) {
                state.schedule(node, name, hints)
            }
            for child in state.tree.directories.children(of: node) {
                let name = state.tree.directories.name(of: child)
                if present.contains(name) { continue }
                if state.tree[child].isRecalled {
                    state.tree.setCoverage(child, .unwatched)
                } else if state.tree.mounts[child] == nil {
                    DirectoryHandling.displace(child, in: &state)
                }
                state.schedule(node, name, hints)
            }
        }
        for (name, position) in zip(listed, entries) {
            // Its events say more than that it is there.
            if state.isPending(node, name) { continue }
            let observation = findings.entries[Int(position)].observation
            switch observation {
            case .directory, .mountRoot: break
            case .absent, .excluded, .file, .unwritten, .writing, .failed, .unreached:
                LookupHandling.observe(node, name, observation, hints, in: &state)
                continue
            }
            state.reportVanished(node, name, hints)
            let child = state.tree.directories.child(of: node, named: name) ?? state.tree.add(name, in: node)
            // A recursive survey comes to it by itself.
            if !isRecursive, state.tree[child].inode == 0 || state.tree[child].coverage == .unwatched {
                state.survey(child, isRecursive: true)
            }
        }
    }

    /// Compares a listing of an audit with the directory, for the differences that no record has named so far. Only if the
    /// directory was watched before it was listed, and no other survey of the root is under way.
    private static func audit(
        _ node: NodeID, _ listed: [NameID], _ entries: Range<Int32>, _ findings: Findings, in state: inout TreeState
    ) {
        let root = state.tree.root(of: node)
        guard state.roots[root].surveys == 1 else { return }
        var suspects: [NameID] = []
        if !state.tree.isEmpty(node) {
            let present = Set(listed)
            let children = state.tree.directories.children(of: node).map { state.tree[$0].name }
            suspects = (state.tree.files(in: node).map(\.name) + children).filter { !present.contains($0) }
        }
        for (name, position) in zip(listed, entries) {
            switch findings.entries[Int(position)].observation {
            case .directory(let inode, _):
                let known = state.tree.directories.child(of: node, named: name).map { state.tree[$0].inode }
                if known.map({ $0 != 0 && $0 != inode }) ?? true { suspects.append(name) }
            case .file(_, let identity, _), .unwritten(let identity, _):
                if let known = state.tree[node, name], known.identity.inode == identity.inode {
                    if known.state == .reported, known.identity.size != identity.size {
                        state.roots[root].audit.ledger.addChanged(
                            AuditLedger.Key(directory: node, name: state.tree.name(name)))
                    }
                } else {
                    suspects.append(name)
                }
            // Being written: its close is still to come. Mounts are in the mount table.
            case .writing, .absent, .excluded, .failed, .unreached, .mountRoot: break
            }
        }
        // Named by a record that was applied already: its lookup is still to come, or the other half of a rename.
        for name in suspects where !state.isPending(node, name) {
            state.roots[root].audit.ledger.addSuspect(AuditLedger.Key(directory: node, name: state.tree.name(name)))
        }
    }
}

extension TreeState {
    /// Whether the directory that this one is in was reported where it is now.
    @inline(__always)
    fileprivate func isParentReported(_ node: NodeID) -> Bool {
        guard let parent = tree.directories.parent(of: node) else { return true }
        return (tree.isTop(parent) || tree[parent].wasReported) && !isMoving(parent)
    }
}
