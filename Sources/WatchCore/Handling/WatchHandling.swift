import FileValues

/// Which directory each watch belongs to, from the survey that set it to its removal.
enum WatchHandling {
    /// Binds a directory to the watch that a survey set for it. Returns the records that came before.
    static func bind(_ node: NodeID, to watch: Int32, from survey: UInt32, in state: inout TreeState) -> [EventRecord] {
        if state.tree[node].watch == watch, state.owner(of: watch) == node {
            state.tree.setCoverage(node, .watched)
            return []
        }
        release(node, in: &state)
        if let owner = state.owner(of: watch), owner != node, state.tree.directories.isValid(owner) {
            contest(owner, by: node, watch, in: &state)
        } else if state.watches.hasEnded(watch, since: survey) {
            state.tree.setCoverage(node, .pending)
            state.survey(node, isRecursive: false)
        } else if state.watches.isRetired(watch) {
            // Released and about to be removed: the directory needs another one afterwards.
            state.tree.setCoverage(node, .pending)
            state.watches.addWaiting(node, for: watch)
        } else {
            own(node, watch, in: &state)
            return state.watches.removeEarly(watch)
        }
        return []
    }

    private static func own(_ node: NodeID, _ watch: Int32, in state: inout TreeState) {
        state.watches.setOwner(node, of: watch)
        state.tree[node].watch = watch
        state.tree.setCoverage(node, .watched)
    }

    /// Gives another directory's watch to this one. Changes whose events went to that one are found by a listing.
    private static func inherit(_ node: NodeID, _ watch: Int32, in state: inout TreeState) {
        own(node, watch, in: &state)
        state.survey(node, isRecursive: false)
    }

    /// The kernel has one watch per inode, so either the owner is not where it was, or both are the same directory.
    private static func contest(_ owner: NodeID, by node: NodeID, _ watch: Int32, in state: inout TreeState) {
        if !state.tree.isAttached(owner) {
            // The owner is displaced, in another root: its watch goes to where the directory is now.
            state.tree[owner].watch = -1
            state.tree.setCoverage(owner, .unwatched)
            inherit(node, watch, in: &state)
        } else if state.tree.isTop(owner) {
            state.tree.setCoverage(node, .polled)
        } else {
            state.tree.setCoverage(node, .polled)
            state.watches.contest(watch, by: node)
            state.recheck(owner)
        }
    }

    /// A directory is where it is known: others that claim its watch are other places of the same inode.
    static func rejectClaims(on node: NodeID, in state: inout TreeState) {
        let claims = removeClaims(on: state.tree[node].watch, of: node, in: &state)
        for other in claims { state.tree.setCoverage(other, .polled) }
    }

    private static func removeClaims(
        on watch: Int32, of owner: NodeID, in state: inout TreeState
    ) -> [NodeID] {
        state.watches.removeContestants(watch).filter {
            $0 != owner && state.tree.directories.isValid($0) && state.tree[$0].watch < 0
        }
    }

    /// Releases a directory's watch: to one that claims it, or to the kernel.
    static func release(_ node: NodeID, in state: inout TreeState) {
        let watch = state.tree[node].watch
        guard watch >= 0 else { return }
        state.tree[node].watch = -1
        guard state.owner(of: watch) == node else { return }
        state.watches.clearOwner(of: watch)
        let claims = removeClaims(on: watch, of: node, in: &state)
        if let heir = claims.first {
            inherit(heir, watch, in: &state)
            // Claims of still more directories are decided by a lookup of the heir.
            for other in claims.dropFirst() { contest(heir, by: other, watch, in: &state) }
        } else {
            retire(watch, root: state.tree.root(of: node), in: &state)
        }
    }

    /// Releases the watches of a subtree.
    static func releaseAll(below node: NodeID, in state: inout TreeState) {
        for directory in state.tree.directories.subtree(of: node) {
            release(directory, in: &state)
            state.tree.setCoverage(directory, .unwatched)
        }
    }

    /// Releases a watch that a survey set for a directory that is gone by now.
    static func releaseUnowned(_ watch: Int32, root: Int, from survey: UInt32, in state: inout TreeState) {
        guard watch >= 0, state.owner(of: watch) == nil, !state.watches.isRetired(watch),
            !state.watches.hasEnded(watch, since: survey)
        else { return }
        retire(watch, root: root, in: &state)
    }

    /// Releases a watch to the kernel.
    static func retire(_ watch: Int32, root: Int, in state: inout TreeState) {
        state.watches.retire(watch)
        _ = state.watches.removeEarly(watch)
        state.request(root, .unwatch([watch]))
    }

    /// Ends a watch that was removed. Directories that were given it need another.
    static func end(_ watch: Int32, in state: inout TreeState) {
        let waiting = state.watches.end(watch, survey: state.surveys.last) ?? []
        for node in waiting where state.tree.directories.isValid(node) { state.survey(node, isRecursive: false) }
    }

    /// The kernel removed a directory's watch: the directory is gone, or its file system.
    static func lose(_ node: NodeID, in state: inout TreeState) {
        let watch = state.tree[node].watch
        state.tree[node].watch = -1
        state.watches.clearOwner(of: watch)
        _ = state.watches.end(watch, survey: state.surveys.last)
        state.tree.setCoverage(node, .unwatched)
        for other in removeClaims(on: watch, of: node, in: &state) { state.survey(other, isRecursive: false) }
        if state.tree.isTop(node) {
            // Unmounted and mounted again, the root may be the same as before, so its identity is not enough.
            state.survey(node, isRecursive: false)
        } else if state.tree.isAttached(node) {
            state.recheck(node)
        }
    }

    /// Applies a record of a watch that no directory has. False if it and others had to be dropped: records were lost.
    static func applyStray(_ record: EventRecord, in state: inout TreeState) -> Bool {
        if state.watches.isForeign(record.watch) {
            if record.mask.contains(.ignored) { state.watches.setForeign(record.watch, false) }
            state.output.foreign.append(record)
        } else if record.mask.contains(.ignored), state.watches.isRetired(record.watch) {
            end(record.watch, in: &state)
        } else if state.watches.isRetired(record.watch) || state.surveys.isEmpty {
            state.watches.countStray()
        } else {
            return state.watches.keepEarly(record)
        }
        return true
    }
}
