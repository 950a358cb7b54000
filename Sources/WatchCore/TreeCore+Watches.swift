import FileValues

/// Which watch is whose.
extension TreeCore {
    /// A survey watched a directory and was given this descriptor.
    package mutating func bind(_ node: NodeID, _ watch: Int32, from id: UInt32) {
        if table[node].watch == watch, owner(of: watch) == node {
            setCoverage(node, .watched)
            return
        }
        releaseWatch(of: node)
        if let owner = owner(of: watch), owner != node, table.isValid(owner) {
            contest(owner, by: node, watch)
        } else if watches.hasEnded(watch, since: id) {
            setCoverage(node, .pending)
            survey(node, isRecursive: false)
        } else if watches.isRetired(watch) {
            // Given up by us and about to be removed, so of no use; another is asked for after that.
            setCoverage(node, .pending)
            watches.await(watch, node)
        } else {
            own(node, watch)
        }
    }

    private mutating func own(_ node: NodeID, _ watch: Int32) {
        watches.setOwner(node, of: watch)
        table[node].watch = watch
        setCoverage(node, .watched)
        replayEarly(watch)
    }

    /// The same, from a directory that had it until now: what was told to that one has to be found by a listing.
    private mutating func inherit(_ node: NodeID, _ watch: Int32) {
        own(node, watch)
        survey(node, isRecursive: false)
    }

    /// The kernel has one watch an inode. So either the owner is not where it was, or both are the same directory.
    private mutating func contest(_ owner: NodeID, by node: NodeID, _ watch: Int32) {
        if !isAttached(owner) {
            // The owner waits in limbo, in another root: its watch goes to where the directory is now.
            table[owner].watch = -1
            setCoverage(owner, .unwatched)
            inherit(node, watch)
        } else if isTop(owner) {
            setCoverage(node, .polled)
        } else {
            setCoverage(node, .polled)
            watches.contest(watch, by: node)
            doubt(owner)
        }
    }

    /// A directory gives up its watch: to one that claims it, or to the kernel.
    package mutating func releaseWatch(of node: NodeID) {
        let watch = table[node].watch
        guard watch >= 0 else { return }
        table[node].watch = -1
        guard owner(of: watch) == node else { return }
        watches.clearOwner(of: watch)
        let claims = takeClaims(watch, of: node)
        if let heir = claims.first {
            inherit(heir, watch)
            // Claims of still more directories are settled by looking at the heir.
            for other in claims.dropFirst() { contest(heir, by: other, watch) }
        } else {
            retire(watch, root: Int(table[node].root))
        }
    }

    /// Directories that still want the owner's watch.
    package mutating func takeClaims(_ watch: Int32, of owner: NodeID) -> [NodeID] {
        watches.takeContestants(watch).filter { $0 != owner && table.isValid($0) && table[$0].watch < 0 }
    }

    /// A watch that a survey made for a directory that is gone by now.
    package mutating func releaseUnowned(_ watch: Int32, root: Int, from id: UInt32) {
        guard owner(of: watch) == nil, !watches.isRetired(watch), !watches.hasEnded(watch, since: id)
        else { return }
        retire(watch, root: root)
    }

    package mutating func retire(_ watch: Int32, root: Int) {
        watches.retire(watch)
        _ = watches.takeEarly(watch)
        request(root, .unwatch([watch]))
    }

    package mutating func takeRemoved(_ removed: [Int32]) {
        for watch in removed {
            for node in watches.end(watch, survey: lastSurvey) ?? [] where table.isValid(node) {
                survey(node, isRecursive: false)
            }
        }
    }

    /// The kernel dropped a watch by itself: the directory is gone, or its file system.
    package mutating func loseWatch(of node: NodeID) {
        let watch = table[node].watch
        table[node].watch = -1
        watches.clearOwner(of: watch)
        _ = watches.end(watch, survey: lastSurvey)
        setCoverage(node, .unwatched)
        for other in takeClaims(watch, of: node) { survey(other, isRecursive: false) }
        if isTop(node) {
            // Unmounted and mounted again, the root may be the same as before, so a look at its identity is not enough.
            survey(node, isRecursive: false)
        } else if isAttached(node) {
            doubt(node)
        }
    }
}
