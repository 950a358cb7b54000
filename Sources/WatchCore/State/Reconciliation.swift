/// The result of one reconciliation of a root: all differences reported since it began.
package struct Reconciliation: Hashable, Sendable {
    /// The requests that it answers.
    package var tickets: [UInt64] = []
    /// Whether it follows an overflow.
    var heals = false
    /// Whether it is the root's first since it is live.
    var isFirst = false
    /// Whether it is a poll: of directories whose changes no event reports.
    var isPoll = false
    /// CLOCK_MONOTONIC in nanoseconds when it was requested; 0 if the caller has no clock.
    package var began: UInt64 = 0
    package var counts = NoticeCounts()
    package var directories = 0
    package var files = 0
}

/// How many notices there were.
package struct NoticeCounts: Hashable, Sendable {
    package private(set) var notices = 0
    package private(set) var found = 0
    package private(set) var vanished = 0
    package private(set) var renamed = 0

    mutating func add(_ kind: WatchNotice.Kind) {
        notices += 1
        switch kind {
        case .finished: found += 1
        case .vanished: vanished += 1
        case .renamed: renamed += 1
        default: break
        }
    }

    static func - (left: NoticeCounts, right: NoticeCounts) -> NoticeCounts {
        NoticeCounts(
            notices: left.notices - right.notices, found: left.found - right.found,
            vanished: left.vanished - right.vanished, renamed: left.renamed - right.renamed)
    }
}

/// The comparison of a root with its tree that is requested, and the one under way.
struct Comparison {
    struct UnderWay {
        var outcome: Reconciliation
        let startCounts: NoticeCounts
        /// Whether the whole tree is compared, and not only its directories without a watch.
        var isWhole = true
        /// Whether its differences count as missed.
        var isAudit = false
        /// How many lookups are complete once those are that it waits for; known once its surveys are complete.
        var lastLookup: UInt64?
    }

    private(set) var requested: Reconciliation?
    private(set) var underWay: UnderWay?

    // Inlined, since a getter that is called is given a copy of all this.
    @inline(__always) var isIdle: Bool { if case (.none, .none) = (requested, underWay) { true } else { false } }

    /// Requests one, or changes the one that is requested.
    mutating func request(at now: UInt64, _ change: (inout Reconciliation) -> Void = { _ in }) {
        var reconciliation = requested ?? Reconciliation(began: now)
        change(&reconciliation)
        requested = reconciliation
    }

    mutating func removeRequest() -> Reconciliation? {
        defer { requested = nil }
        return requested
    }

    mutating func begin(_ comparison: UnderWay) { underWay = comparison }

    mutating func end() -> UnderWay? {
        defer { underWay = nil }
        return underWay
    }

    /// Whether the lookups are complete that were pending at the first call.
    mutating func hasLookedUp(_ completed: UInt64, of pending: UInt64) -> Bool {
        let last = underWay?.lastLookup ?? pending
        underWay?.lastLookup = last
        return completed >= last
    }
}
