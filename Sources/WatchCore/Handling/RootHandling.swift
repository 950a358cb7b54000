import FileValues

/// Roots that appear and are lost.
enum RootHandling {
    /// A root was opened: it is live from now on, if it was not.
    static func adopt(_ identity: RootIdentity, as root: Int, _ policy: ComparePolicy, in state: inout TreeState) {
        guard !state.roots[root].isLive else { return }
        let rule = IdentityRule(identity.fileSystem)
        if let before = state.tree.roots[root].identity, !rule.isSame(before, identity) {
            // For after a restart; until then the tree itself is parked.
            if let memory = state.memory(of: root), memory.files > 0 {
                state.roots[root].memories = state.memories(of: root)
            }
            DirectoryHandling.replaceTop(of: root, before, by: identity, in: &state)
        }
        state.tree.setIdentity(identity, of: root)
        if state.roots[root].isGone { state.report(root, "", .rootBack) }
        state.roots[root].beginLife(at: state.now)
        state.roots[root].polling = PollPace(policy.polling, startingWith: policy.polling.shortest, now: state.now)
        state.roots[root].audit.setPace(policy.audit, now: state.now)
        if let index = state.roots[root].memories.firstIndex(where: { rule.isSame($0.identity, identity) }) {
            state.tree.recall(state.roots[root].memories.remove(at: index), in: root)
        }
        state.roots[root].comparison.request(at: state.now) { $0.isFirst = true }
        state.endOpening(root)
    }

    /// A root's path leads elsewhere or nowhere. Its directories and files are kept as they were reported.
    static func lose(_ root: Int, _ loss: WatchNotice.Loss, in state: inout TreeState) {
        let before = state.roots[root].phase
        state.roots[root].lose(loss, at: state.now)
        switch before {
        case .gone:
            state.endOpening(root)
        case .starting:
            state.report(root, "", .rootGone(loss))
            ComparisonHandling.answerRequest(root, in: &state)
            state.endOpening(root)
        case .live:
            state.cancelRequests(of: root)
            DirectoryHandling.restoreDisplaced(root, below: "", in: &state)
            WatchHandling.releaseAll(below: state.tree.roots[root].top, in: &state)
            ComparisonHandling.end(root, in: &state)
            ComparisonHandling.answerRequest(root, in: &state)
            state.report(root, "", .rootGone(loss))
            // Another directory there can be watched at once, and one that appears is reported.
            RootPathHandling.recheck(root, in: &state)
        }
    }
}

// MARK: - The receiver's files

extension RootHandling {
    /// The receiver has processed a file with this identity; nil for what is no regular file. Ignored if it is known
    /// otherwise by now: then it was reported again, and that has to be acknowledged.
    static func acknowledge(
        _ root: Int, _ path: BytePath, _ identity: FileIdentity?, isLeftAlone: Bool, in state: inout TreeState
    ) {
        guard let directory = state.tree.find(root, path.parent),
            let name = state.tree.directories.names.find(path.name),
            var known = state.tree[directory, name], !known.isAcknowledged || known.isLeftAlone != isLeftAlone
        else { return }
        switch known.state {
        case .reported:
            let rule = state.tree.roots[root].rule
            guard let identity, rule.hasSameContent(known.identity, identity) else { return }
        case .special: guard identity == nil else { return }
        case .writing, .resting: return
        }
        known.isAcknowledged = true
        known.isLeftAlone = isLeftAlone
        state.tree.setFile(directory, name, known)
    }

    /// The receiver does not want a file known any more, since it has processed it.
    static func forget(_ root: Int, _ path: BytePath, in state: inout TreeState) {
        guard let directory = state.tree.find(root, path.parent),
            let name = state.tree.directories.names.find(path.name),
            state.tree.setFile(directory, name, nil) != nil
        else { return }
        state.roots[root].audit.ledger.forget(AuditLedger.Key(directory: directory, name: path.name))
    }
}

// MARK: - Memory over restarts

extension TreeState {
    /// The memory of a root to be saved; nil before it was opened for the first time.
    fileprivate func memory(of root: Int) -> RootMemory? {
        guard let identity = tree.roots[root].identity else { return nil }
        var memory = RootMemory(identity: identity)
        var positions: [NodeID: Int] = [:]
        for node in tree.directories.subtree(of: tree.roots[root].top) {
            if let parent = tree.directories.parent(of: node) {
                guard let position = positions[parent], tree[node].wasReported else { continue }
                positions[node] = memory.addDirectory(
                    named: tree.name(tree.directories.name(of: node)), inode: tree[node].inode, in: position)
            } else {
                positions[node] = 0
            }
            for (name, file) in tree.files(in: node) where file.isAcknowledged {
                memory.add(
                    RootMemory.Entry(
                        name: tree.name(name), kind: file.kind, identity: file.identity, isLeftAlone: file.isLeftAlone))
            }
        }
        return memory
    }

    /// The same, and those of directories that were at its path before, the latest first.
    func memories(of root: Int) -> [RootMemory] {
        Array(([memory(of: root)].compactMap(\.self) + roots[root].memories).prefix(RootMemory.maxOfRoot))
    }
}
