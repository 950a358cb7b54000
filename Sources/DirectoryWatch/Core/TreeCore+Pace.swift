import FileValues
import LinuxKernel
import SystemPackage

/// What no event tells: compared on ticks, at a pace of its own.
extension TreeCore {
    /// Compares what is due in a live root; on each tick. Without a pace everything is due.
    mutating func compareWhatIsDue(_ root: Int, isPaced: Bool) {
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
    mutating func beginPaces(_ root: Int) {
        roots[root].polling = PollPace(policy.polling, startingWith: policy.polling.shortest, now: now)
        // One that comes and goes is audited all the same.
        if roots[root].audit == nil {
            roots[root].audit = policy.audit.map { PollPace($0, startingWith: $0.longest, now: now) }
        }
    }

    /// How many directories lack a watch, of all roots, and for want of what.
    func need(_ limits: InotifyLimits) -> WatchNeed? {
        // What is polled because events would not come there needs none.
        let lacking = roots.filter { $0.isLive && !$0.polled.isEmpty && !$0.tellsOwnChangesOnly }
        let missing = lacking.reduce(0) { $0 + $1.polled.count }
        if lacking.contains(where: { $0.refusal == .tooManyOpenFiles }) {
            return WatchNeed(.instances, limit: limits.instances, used: 0, missing: 1, polled: missing)
        }
        guard lacking.contains(where: { $0.refusal == .noSpace }) else { return nil }
        return WatchNeed(.watches, limit: limits.watches, used: watches.count, missing: missing, polled: missing)
    }
}

extension RootState {
    /// Whether others change files there without this kernel knowing.
    var tellsOwnChangesOnly: Bool { identity?.fileSystem.changesElsewhere ?? false }
}
