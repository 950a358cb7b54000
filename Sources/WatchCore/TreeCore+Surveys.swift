import FileValues

/// Listings, compared with what is known.
extension TreeCore {
    package mutating func takeFindings(_ id: UInt32, _ findings: Findings, isComplete: Bool, root: Int) {
        guard var survey = surveys.removeValue(forKey: id) else {
            for directory in findings.directories {
                if case .listed(_, _, let watch) = directory.outcome, watch >= 0 {
                    releaseUnowned(watch, root: root, from: id)
                }
            }
            return
        }
        // Back at once, because what is found may ask whether a survey is under way.
        surveys[id] = Survey(root: root, isRecursive: survey.isRecursive, nodes: [])
        for place in findings.directories.indices { integrate(place, findings, of: &survey, id) }
        if isComplete {
            surveys[id] = nil
            roots[root].surveys -= 1
        } else {
            surveys[id] = survey
        }
    }

    private mutating func integrate(
        _ place: Int, _ findings: Findings, of survey: inout Survey, _ id: UInt32
    ) {
        let directory = findings.directories[place]
        let isTopOfSurvey = directory.parent < 0
        var node = isTopOfSurvey ? survey.nodes.first : child(directory, findings, of: survey)
        if let known = node, !table.isValid(known) || !isAttached(known) { node = nil }
        guard let node else {
            if case .listed(_, _, let watch) = directory.outcome, watch >= 0 {
                releaseUnowned(watch, root: survey.root, from: id)
            }
            if !isTopOfSurvey { survey.set(.none, at: directory.place) }
            return
        }
        var settled = node
        switch directory.outcome {
        case .absent:
            if table[node].coverage == .pending { setCoverage(node, .unwatched) }
            doubt(node)
            // Looked for at least: if the root is there all the same, the next tick has it surveyed again.
            if isTop(node) { roots[survey.root].hasBegun = true }
        case .unreadable(let code):
            roots[survey.root].unreadableReason = code
            if table[node].coverage != .unreadable {
                releaseWatch(of: node)
                setCoverage(node, .unreadable)
                let path = table.path(of: node)
                if toldPaths[node] != nil { tellMoved(node, seen: nil) }
                notify(survey.root, path, .unreadable(CallFailure("openat", number: code, path: path)))
            }
            if isTop(node) { roots[survey.root].hasBegun = true }
        case .listed(let inode, let born, let watch):
            // About to be found elsewhere, or in what is: what it holds is told when it is listed there.
            let isUnsure = isUncertain(node) || !isParentTold(node)
            if isUnsure {
                unsure.insert(node)
                guard table[node].inode == inode, findings.mounts[place] == nil, mounts[node] == nil else {
                    if watch >= 0 { releaseUnowned(watch, root: survey.root, from: id) }
                    break
                }
            } else {
                settled = settle(node, inode, born, findings.mounts[place])
                table[settled].born = born
            }
            let wasWatched = settled == node && table[node].coverage == .watched && table[node].watch == watch
            if watch >= 0 {
                bind(settled, watch, from: id)
            } else {
                releaseWatch(of: settled)
                setCoverage(settled, .polled)
                roots[survey.root].refusal = -watch
            }
            if isUnsure { break }
            compare(
                settled, directory.entries, findings, isRecursive: survey.isRecursive,
                isAudit: wasWatched && roots[survey.root].underWay?.isAudit == true)
            if isTop(settled) { roots[survey.root].hasBegun = true }
        }
        survey.set(settled, at: directory.place)
    }

    private mutating func child(
        _ directory: Findings.Directory, _ findings: Findings, of survey: Survey
    ) -> NodeID? {
        let place = Int(directory.parent)
        guard survey.nodes.indices.contains(place), table.isValid(survey.nodes[place]) else { return nil }
        let name = findings.withName(directory.name) { table.names.intern($0) }
        return table.child(of: survey.nodes[place], named: name)
    }

    /// Whether the directory that this one is in was told where it is.
    private func isParentTold(_ node: NodeID) -> Bool {
        guard let parent = table.parent(of: node) else { return true }
        return (isTop(parent) || table[parent].wasTold) && !isMoving(parent)
    }

    /// Lists the directories again whose listing was void, once it is known where they are.
    package mutating func surveyUnsure() {
        for node in unsure {
            guard table.isValid(node), isAttached(node) else {
                unsure.remove(node)
                continue
            }
            if isUncertain(node) || !isParentTold(node) { continue }
            unsure.remove(node)
            survey(node, isRecursive: table[node].inode == 0)
        }
    }

    /// The directory that was found under a name, which may be another than the one that was known there.
    private mutating func settle(
        _ node: NodeID, _ inode: UInt64, _ born: BirthMark, _ mount: FileSystem?
    ) -> NodeID {
        if table[node].inode == inode, mounts.isEmpty && mount == nil || mounts[node] == mount {
            table[node].isRecalled = false
            return node
        }
        guard let parent = table.parent(of: node) else {
            table[node].inode = inode
            return node
        }
        let name = table.name(of: node)
        let isNew = table[node].inode == 0
        if table[node].isRecalled, isNew || table[node].inode == inode {
            // Told in an earlier life: on a file system that gives another number in each, or as a mount.
            table[node].isRecalled = false
            if let mount { mounts[node] = mount }
            table[node].inode = inode
            return node
        }
        if isNew || mount != nil || mounts[node] != nil,
            let settled = settleMount(node, inode, mount, parent, name)
        {
            return settled
        }
        if isNew, !isDisplaced(inode: inode, in: Int(table[node].root)) {
            table[node].inode = inode
            notify(Int(table[node].root), table.path(of: node), .directoryAppeared)
            return node
        }
        displace(node)
        if let moved = takeMoved(inode: inode, born: born, [], to: parent) {
            place(moved.node, from: moved.path, to: parent, name)
            // What happened in it while it was in limbo was not looked at.
            survey(moved.node, isRecursive: true)
            return moved.node
        }
        let fresh = addPending(name, in: parent)
        table[fresh].inode = inode
        notify(Int(table[fresh].root), table.path(of: fresh), .directoryAppeared)
        return fresh
    }

    /// The same where something was mounted, unmounted, or may be back; nil if it is nothing but a new directory.
    private mutating func settleMount(
        _ node: NodeID, _ inode: UInt64, _ mount: FileSystem?, _ parent: NodeID, _ name: NameID
    ) -> NodeID? {
        let root = Int(table[node].root)
        let isNew = table[node].inode == 0
        if !isNew { shelve(node, mounts[node]) }
        if let back = unshelve(root, in: parent, named: name, mount, inode: inode) {
            if isNew { drop(node, path: "", isSilent: true) }
            table.attach(back, to: parent, name: name)
            notify(root, table.path(of: back), .treeBack)
            return back
        }
        if isNew, mount == nil { return nil }
        let fresh = isNew ? node : addPending(name, in: parent)
        table[fresh].inode = inode
        mounts[fresh] = mount
        notify(root, table.path(of: fresh), .directoryAppeared)
        return fresh
    }

    /// One listing against what is known of the directory.
    private mutating func compare(
        _ node: NodeID, _ entries: Range<Int32>, _ findings: Findings, isRecursive: Bool, isAudit: Bool
    ) {
        let hints = Hints(signs: .surveyed)
        let listed = entries.map { place in
            findings.withName(findings.entries[Int(place)].name) { table.names.intern($0) }
        }
        if isAudit { suspectDifferences(node, listed, entries, findings) }
        if toldPaths[node] != nil {
            tellMoved(
                node,
                seen: Dictionary(zip(listed, entries.map { findings.entries[Int($0)].observation })) { first, _ in first
                })
        }
        if table[node].firstFile >= 0 || table.hasChildren(node) {
            let present = Set(listed)
            // A listing is not trusted with a loss: the name is looked at.
            for (name, _) in files.files(from: table[node].firstFile) where !present.contains(name) {
                note(node, name, hints)
            }
            for child in table.children(of: node) {
                let name = table.name(of: child)
                if present.contains(name) { continue }
                if table[child].isRecalled {
                    setCoverage(child, .unwatched)
                } else if mounts[child] == nil {
                    displace(child)
                }
                note(node, name, hints)
            }
        }
        for (name, place) in zip(listed, entries) {
            let observation = findings.entries[Int(place)].observation
            switch observation {
            case .directory, .mountRoot: break
            case .absent, .excluded, .file, .unwritten, .writing, .failed, .unreached:
                // What events told of it says more than that it is there.
                if !isAwaited(node, name) { observe(node, name, observation, hints) }
                continue
            }
            if isAwaited(node, name) { continue }
            tellVanished(node, name, hints)
            let child = table.child(of: node, named: name) ?? addPending(name, in: node)
            // A recursive survey goes on to it by itself.
            if !isRecursive, table[child].inode == 0 || table[child].coverage == .unwatched {
                self.survey(child, isRecursive: true)
            }
        }
    }
}
