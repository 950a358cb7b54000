import FileValues

/// What no event tells: compared on ticks, at a pace of its own.
extension TreeCore {
    /// Compares what is due in a live root; on each tick. Without a pace everything is due.
    package mutating func compareWhatIsDue(_ root: Int, isPaced: Bool) {
        settleAudit(root)
        // One at a time: a slow root is not asked again before it answered.
        guard roots[root].surveys == 0, roots[root].underWay == nil, roots[root].wanted == nil else { return }
        if !isPaced || roots[root].polling.isDue(at: now) {
            if roots[root].tellsOwnChangesOnly {
                roots[root].polling.begin(at: now)
                roots[root].wanted = Reconciliation(isPoll: true, began: now)
                return
            }
            if pollDirectories(root) { return }
        }
        if isPaced, roots[root].audit?.isDue(at: now) == true {
            roots[root].audit?.begin(at: now)
            roots[root].wanted = Reconciliation(began: now)
        }
    }

    /// Lists the directories that have no watch, and tries those again that could not be read.
    private mutating func pollDirectories(_ root: Int) -> Bool {
        let (polled, unreadable) = (roots[root].polled, roots[root].unreadable)
        if polled.isEmpty && unreadable.isEmpty { return false }
        roots[root].polling.begin(at: now)
        roots[root].underWay = RootState.UnderWay(
            outcome: Reconciliation(isPoll: true, began: now), startCounts: roots[root].counts, isWhole: false)
        for node in polled where table.isValid(node) { survey(node, isRecursive: false) }
        for node in unreadable where table.isValid(node) { survey(node, isRecursive: true) }
        return true
    }

    /// A root lives: its paces begin.
    package mutating func beginPaces(_ root: Int) {
        roots[root].polling = PollPace(policy.polling, startingWith: policy.polling.shortest, now: now)
        // One that comes and goes is audited all the same.
        if roots[root].audit == nil {
            roots[root].audit = policy.audit.map { PollPace($0, startingWith: $0.longest, now: now) }
        }
    }

    /// How many directories lack a watch, of all roots, and for want of what.
    package var shortage: WatchShortage? {
        // What is polled because events would not come there needs none.
        let lacking = roots.filter { $0.isLive && !$0.polled.isEmpty && !$0.tellsOwnChangesOnly }
        let polled = lacking.reduce(0) { $0 + $1.polled.count }
        if lacking.contains(where: { $0.refusal == WatchShortage.tooManyOpenFiles }) {
            return WatchShortage(isOfInstances: true, polled: polled)
        }
        guard lacking.contains(where: { $0.refusal == WatchShortage.noSpace }) else { return nil }
        return WatchShortage(isOfInstances: false, polled: polled)
    }
}

/// Directories that are polled because inotify(7) had no watch for them.
package struct WatchShortage: Hashable, Sendable {
    /// ENOSPC: the user's watches are used up.
    static let noSpace: Int32 = 28
    /// EMFILE: there was no instance.
    static let tooManyOpenFiles: Int32 = 24

    /// Whether there is no instance at all; otherwise the watches are used up.
    package let isOfInstances: Bool
    /// How many directories are polled for it.
    package let polled: Int
}

extension RootState {
    /// Whether others change files there without this kernel knowing.
    package var tellsOwnChangesOnly: Bool { identity?.fileSystem.changesElsewhere ?? false }
}
