package import FileValues

/// Roots that come, go and are compared with their trees.
extension TreeCore {
    /// Asks for every root to be opened; its first reconciliation carries the ticket.
    package mutating func start(ticket: UInt64?) {
        for root in roots.indices {
            roots[root].wanted = Reconciliation(tickets: ticket.map { [$0] } ?? [], began: now)
            doubtWay(root)
        }
    }

    /// Results of file work, in the order in which it was done.
    package mutating func take(_ result: WorkResult, root: Int, epoch: UInt32) {
        switch result {
        case .placed(let path): roots[root].place = path
        case .traced(let way): takeTraced(root, way)
        case .unwatched(let removed): takeRemoved(removed)
        case .surveyed(let id, let findings, let isComplete):
            takeFindings(id, findings, isComplete: isComplete, root: root)
        case _ where epoch != roots[root].epoch: break
        case .looked(let observations): takeLooks(root, observations)
        case .checked: takeChecked(root)
        case .adopted(let identity): takeAdopted(root, identity)
        case .lost(let loss): lose(root, loss)
        }
    }

    /// Cheap checks, a few seconds apart: that each root's path still leads to it, that files which were made came to
    /// rest, and what no event tells, as far as it is due; all of it without a pace.
    package mutating func tick(isPaced: Bool) {
        for root in roots.indices {
            guard roots[root].isLive else {
                doubtWay(root)
                continue
            }
            if isWayUncertain(root) { trace(root) }
            checkRoot(root)
            // It was away for a moment when it was to be listed, and is back as what it was.
            if table[roots[root].top].coverage == .unwatched, !roots[root].isObserving {
                reconcile(root, ticket: nil)
            }
            for directory in roots[root].failed.prefix(Self.failuresAtOnce) {
                roots[root].failed.remove(directory)
                if table.isValid(directory), isAttached(directory) { survey(directory, isRecursive: false) }
            }
            for key in roots[root].unsettled { note(key.directory, key.name, Hints(signs: .settle)) }
            compareWhatIsDue(root, isPaced: isPaced)
        }
    }

    /// Directories that are listed again on one tick because names in them could not be looked at.
    private static let failuresAtOnce = 16

    /// Asks for a root to be compared with what is known; its outcome carries the tickets given.
    package mutating func reconcile(_ root: Int, ticket: UInt64?) {
        var wanted = roots[root].wanted ?? Reconciliation(began: now)
        if let ticket { wanted.tickets.append(ticket) }
        roots[root].wanted = wanted
        if case .gone = roots[root].phase { answerWanted(root) }
    }

    /// What the caller does not want known any more, because it took care of it.
    package mutating func forget(_ root: Int, _ path: BytePath) {
        if let directory = find(root, path.parent), let name = table.names.find(path.name) {
            if setKnown(directory, name, nil) != nil { roots[root].ledger.forget(key(directory, name)) }
        }
    }

    package func find(_ root: Int, _ path: BytePath) -> NodeID? {
        var node = roots[root].top
        for name in path.components {
            guard let name = table.names.find(name), let child = table.child(of: node, named: name) else { return nil }
            node = child
        }
        return node
    }

    package mutating func checkRoot(_ root: Int) {
        guard roots[root].isLive else { return }
        guard !roots[root].isChecking else {
            roots[root].isDoubted = true
            return
        }
        roots[root].isChecking = true
        request(root, .check)
    }

    private mutating func takeChecked(_ root: Int) {
        roots[root].isChecking = false
        lookAgainIfDoubted(root)
    }

    /// What was told while a check or an opening was under way may be newer than what that one saw.
    private mutating func lookAgainIfDoubted(_ root: Int) {
        guard roots[root].isDoubted else { return }
        roots[root].isDoubted = false
        if roots[root].isLive { checkRoot(root) } else { adopt(root) }
    }

    /// Starts the reconciliation that is wanted, and ends the one that is through: its surveys are done, and the looks
    /// that they and the events before them asked for.
    package mutating func advanceReconciliation(_ root: Int) {
        if !roots[root].isToBeCompared { return }
        startReconciliation(root)
        guard isThrough(root) else { return }
        for (key, displaced) in limbo where key.root == root && roots[root].underWay?.isWhole == true {
            guard limbo.removeValue(forKey: key) != nil else { continue }
            drop(displaced.node, path: displaced.path)
        }
        complete(root)
        startReconciliation(root)
    }

    private mutating func startReconciliation(_ root: Int) {
        if roots[root].underWay == nil, let wanted = roots[root].wanted {
            roots[root].wanted = nil
            if survey(roots[root].top, isRecursive: true) != nil {
                roots[root].underWay = RootState.UnderWay(
                    outcome: wanted, startCounts: roots[root].counts, isAudit: beginAudit(root, wanted))
            }
        }
    }

    private mutating func isThrough(_ root: Int) -> Bool {
        guard var underWay = roots[root].underWay, roots[root].surveys == 0,
            !unsure.contains(where: { table.isValid($0) && Int(table[$0].root) == root })
        else { return false }
        let last =
            underWay.lastLook ?? roots[root].looks + (roots[root].looking == nil ? 0 : 1)
            + (roots[root].dirty.isEmpty ? 0 : 1)
        if roots[root].looks >= last { return true }
        underWay.lastLook = last
        roots[root].underWay = underWay
        return false
    }

    private mutating func complete(_ root: Int) {
        guard let underWay = roots[root].underWay else { return }
        roots[root].underWay = nil
        var outcome = underWay.outcome
        outcome.counts = roots[root].counts - underWay.startCounts
        outcome.directories = roots[root].directories
        outcome.files = roots[root].knownFiles
        if outcome.isPoll { roots[root].polling.end(at: now, foundDifferences: outcome.counts.notices > 0) }
        if underWay.isAudit { endAudit(root, outcome) }
        guard underWay.isWhole else { return }
        if outcome.heals { notify(root, "", .healed) }
        output.reconciled.append((root, outcome))
    }

    package mutating func adopt(_ root: Int) {
        guard !roots[root].isAdopting else {
            roots[root].isDoubted = true
            return
        }
        roots[root].isAdopting = true
        request(root, .adopt)
    }

    private mutating func takeAdopted(_ root: Int, _ identity: RootIdentity) {
        roots[root].isAdopting = false
        guard !roots[root].isLive else { return }
        if let before = roots[root].identity, !IdentityRule(identity.fileSystem).isSame(before, identity) {
            // For the next life; in this one the tree itself is kept.
            setAside(root)
            changeTop(root, before, identity)
        }
        roots[root].identity = identity
        table[roots[root].top].inode = identity.inode
        if case .gone = roots[root].phase { notify(root, "", .rootBack) }
        roots[root].phase = .live
        roots[root].since = now
        beginPaces(root)
        recall(root, identity)
        var wanted = roots[root].wanted ?? Reconciliation(began: now)
        wanted.isFirst = true
        roots[root].wanted = wanted
        lookAgainIfDoubted(root)
    }

    /// The root's path leads elsewhere or nowhere. What is known of it is kept as it is.
    private mutating func lose(_ root: Int, _ loss: WatchNotice.Loss) {
        roots[root].isAdopting = false
        switch roots[root].phase {
        case .gone:
            roots[root].phase = .gone(loss)
            lookAgainIfDoubted(root)
        case .starting:
            roots[root].phase = .gone(loss)
            roots[root].since = now
            notify(root, "", .rootGone(loss))
            answerWanted(root)
            lookAgainIfDoubted(root)
        case .live:
            endLife(root)
            roots[root].phase = .gone(loss)
            roots[root].since = now
            notify(root, "", .rootGone(loss))
            // Another directory there can be watched at once, and one that comes is told.
            doubtWay(root)
        }
    }

    private mutating func endLife(_ root: Int) {
        // Requests that are still under way see the new root, if any: their results are void.
        roots[root].epoch &+= 1
        surveys = surveys.filter { $0.value.root != root }
        roots[root].surveys = 0
        roots[root].looking = nil
        roots[root].dirty = DirtyNames()
        roots[root].isChecking = false
        roots[root].isDoubted = false
        roots[root].hasBegun = false
        roots[root].failed = []
        unsure = unsure.filter { table.isValid($0) && Int(table[$0].root) != root }
        held = held.filter { $0.value.root != root }
        for key in fresh.keys where !table.isValid(key.directory) || Int(table[key.directory].root) == root {
            _ = fresh.take(key)
        }
        returnFromLimbo(root)
        roots[root].ledger.void()
        for node in table.subtree(of: roots[root].top) {
            releaseWatch(of: node)
            setCoverage(node, .unwatched)
        }
        if roots[root].underWay != nil { complete(root) }
        answerWanted(root)
    }

    /// Of a root that is gone nothing can be compared.
    private mutating func answerWanted(_ root: Int) {
        guard let wanted = roots[root].wanted else { return }
        roots[root].wanted = nil
        output.reconciled.append((root, wanted))
    }

    /// Whether a displaced directory was moved or deleted can't be asked any more: it is known where it was.
    package mutating func returnFromLimbo(_ root: Int, below path: BytePath = "") {
        for (key, displaced) in limbo where key.root == root && displaced.path.isInside(path) {
            guard limbo.removeValue(forKey: key) != nil else { continue }
            let name = table.names.intern(displaced.path.name)
            if let parent = find(root, displaced.path.parent), table.child(of: parent, named: name) == nil {
                table.attach(displaced.node, to: parent, name: name)
            } else {
                drop(displaced.node, path: displaced.path, isSilent: true)
            }
        }
    }

    /// Another directory lies there than before. What is known of that one is kept aside, as it may have been unmounted,
    /// covered or moved; of this one nothing is known, unless it lay there earlier.
    private mutating func changeTop(_ root: Int, _ before: RootIdentity, _ now: RootIdentity) {
        let top = roots[root].top
        shelve(top, before.fileSystem)
        if let back = unshelve(root, in: nil, named: nil, now.fileSystem, inode: now.inode) {
            roots[root].top = back
        } else {
            roots[root].top = table.insert(root: table[top].root, parent: nil, name: table.name(of: top))
            roots[root].directories += 1
        }
    }
}
