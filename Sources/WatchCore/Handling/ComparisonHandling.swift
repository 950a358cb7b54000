import FileValues

/// Comparisons of roots with their trees: those that are requested, those after events were lost, polls and audits.
enum ComparisonHandling {
    /// Directories that are listed again on one tick because lookups of names in them failed.
    private static let maxFailedAtOnce = 16

    /// Checks a live root, every few seconds: that its path leads to it, that files are still being written; and begins a
    /// poll or an audit if it is due. A poll is due at once if `isPaced` is false.
    static func tick(_ root: Int, isPaced: Bool, hasQueuedRecords: Bool, in state: inout TreeState) {
        RootPathHandling.traceIfUncertain(root, in: &state)
        state.open(root)
        // It was away for a moment when it was to be listed, and is back unchanged.
        if state.tree[state.tree.roots[root].top].coverage == .unwatched, !state.roots[root].isObserving {
            request(root, ticket: nil, in: &state)
        }
        for directory in state.roots[root].lookups.removeFailed(maxFailedAtOnce) {
            if state.tree.directories.isValid(directory) { state.survey(directory, isRecursive: false) }
        }
        for key in state.tree.roots[root].unfinished {
            state.schedule(key.directory, key.name, Hints(signs: .restCheck))
        }
        // Every record that was queued when the audit ended has been applied.
        if !hasQueuedRecords, state.surveys.isEmpty { state.roots[root].audit.finish() }
        beginDue(root, isPaced: isPaced, in: &state)
    }

    /// Requests that a root is compared with its tree; the result carries the ticket given.
    static func request(_ root: Int, ticket: UInt64?, in state: inout TreeState) {
        state.roots[root].comparison.request(at: state.now) { if let ticket { $0.tickets.append(ticket) } }
        if state.roots[root].isGone { answerRequest(root, in: &state) }
    }

    /// Begins a poll or an audit if one is due.
    private static func beginDue(_ root: Int, isPaced: Bool, in state: inout TreeState) {
        let now = state.now
        // One at a time: a slow root is not asked again before it has answered.
        guard state.roots[root].surveys == 0, state.roots[root].comparison.isIdle else { return }
        if !isPaced || state.roots[root].polling.isDue(at: now) {
            if state.tree.roots[root].changesElsewhere {
                state.roots[root].polling.begin(at: now)
                state.roots[root].comparison.request(at: now) { $0.isPoll = true }
                return
            }
            if poll(root, in: &state) { return }
        }
        if isPaced, state.roots[root].audit.beginIfDue(at: now) { state.roots[root].comparison.request(at: now) }
    }

    /// Lists the directories that have no watch, and retries those that could not be read. False if there are none.
    private static func poll(_ root: Int, in state: inout TreeState) -> Bool {
        let (polled, unreadable) = (state.tree.roots[root].polled, state.tree.roots[root].unreadable)
        if polled.isEmpty && unreadable.isEmpty { return false }
        state.roots[root].polling.begin(at: state.now)
        let outcome = Reconciliation(isPoll: true, began: state.now)
        state.roots[root].comparison.begin(
            Comparison.UnderWay(outcome: outcome, startCounts: state.roots[root].counts, isWhole: false))
        for node in polled where state.tree.directories.isValid(node) { state.survey(node, isRecursive: false) }
        for node in unreadable where state.tree.directories.isValid(node) { state.survey(node, isRecursive: true) }
        return true
    }

    /// Begins the comparison that is requested, and ends the one whose surveys and lookups are complete.
    static func advance(_ root: Int, in state: inout TreeState) {
        if state.roots[root].comparison.isIdle { return }
        beginRequested(root, in: &state)
        guard let underWay = state.roots[root].comparison.underWay, state.roots[root].surveys == 0,
            !state.hasPostponed(root)
        else { return }
        let completed = state.roots[root].lookups.completed
        let pending = state.roots[root].lookups.completedOncePending
        guard state.roots[root].comparison.hasLookedUp(completed, of: pending) else { return }
        if underWay.isWhole { DirectoryHandling.dropDisplaced(of: root, in: &state) }
        end(root, in: &state)
        beginRequested(root, in: &state)
    }

    private static func beginRequested(_ root: Int, in state: inout TreeState) {
        guard state.roots[root].comparison.underWay == nil,
            let requested = state.roots[root].comparison.removeRequest(),
            state.survey(state.tree.roots[root].top, isRecursive: true)
        else { return }
        // All are audits but a root's first and those after an overflow, where events are known to have been missed.
        let isAudit = !requested.isFirst && !requested.heals && !state.tree.roots[root].changesElsewhere
        if isAudit { state.roots[root].audit.begin(at: state.now) }
        state.roots[root].comparison.begin(
            Comparison.UnderWay(outcome: requested, startCounts: state.roots[root].counts, isAudit: isAudit))
    }

    /// Ends the comparison under way, if there is one, with what it has found so far.
    static func end(_ root: Int, in state: inout TreeState) {
        guard let comparison = state.roots[root].comparison.end() else { return }
        var outcome = comparison.outcome
        outcome.counts = state.roots[root].counts - comparison.startCounts
        outcome.directories = state.tree.roots[root].directories
        outcome.files = state.tree.roots[root].files
        if outcome.isPoll {
            state.roots[root].polling.end(at: state.now, foundDifferences: outcome.counts.notices > 0)
        }
        if comparison.isAudit { state.roots[root].audit.end(at: state.now, isVoid: outcome.heals) }
        guard comparison.isWhole else { return }
        if outcome.heals { state.report(root, "", .healed) }
        state.output.reconciled.append((root, outcome))
    }

    /// Answers the request for a comparison of a root that is gone: nothing can be compared.
    static func answerRequest(_ root: Int, in state: inout TreeState) {
        if let requested = state.roots[root].comparison.removeRequest() {
            state.output.reconciled.append((root, requested))
        }
    }
}

extension TreeState {
    /// Whether a directory of a root has to be surveyed again before a comparison is complete.
    @inline(__always)
    fileprivate func hasPostponed(_ root: Int) -> Bool {
        surveys.postponed.contains { tree.directories.isValid($0) && tree.root(of: $0) == root }
    }
}
