/// The audits of one root: when the next one is due, and the changes that events missed.
package struct RootAudit {
    private enum Stage {
        case idle
        case comparing(began: UInt64)
        /// It is complete, but records that explain its differences may still be in the kernel's queue.
        case awaitingRecords(began: UInt64, ended: UInt64)
    }

    private var stage = Stage.idle
    var ledger = AuditLedger()
    /// Nil if none comes by itself.
    package private(set) var pace: PollPace?
    /// Audits that were not void; and how many changes events had missed, in all of them and in the last one.
    package private(set) var count = 0
    package private(set) var missed = 0
    package private(set) var lastMissed = 0

    /// The root is live. One that comes and goes is audited all the same.
    mutating func setPace(_ bounds: CompareBounds?, now: UInt64) {
        if pace == nil { pace = bounds.map { PollPace($0, startingWith: $0.longest, now: now) } }
    }

    /// Whether one should begin now, which then has begun.
    mutating func beginIfDue(at now: UInt64) -> Bool {
        guard pace?.isDue(at: now) == true else { return false }
        pace?.begin(at: now)
        return true
    }

    /// A comparison that counts as one begins.
    mutating func begin(at now: UInt64) {
        ledger.begin(at: now)
        stage = .comparing(began: now)
    }

    /// It is complete; void if it follows an overflow.
    mutating func end(at now: UInt64, isVoid: Bool) {
        if isVoid { ledger.void() }
        if case .comparing(let began) = stage { stage = .awaitingRecords(began: began, ended: now) }
    }

    /// Counts the missed changes, once the kernel's queue was empty after the comparison.
    mutating func finish() {
        guard case .awaitingRecords(let began, let ended) = stage else { return }
        stage = .idle
        let found = ledger.finish()
        if let found {
            count += 1
            missed += found.count
            lastMissed = found.count
        }
        if pace?.isUnderWay == false { pace?.begin(at: began) }
        pace?.end(at: ended, foundDifferences: (found?.count ?? 0) > 0)
    }
}
