package import FileValues

/// What one reconciliation found: all differences told since it began.
package struct Reconciliation: Hashable, Sendable {
    /// Whom to answer.
    package var tickets: [UInt64] = []
    /// Whether it heals an overflow.
    package var heals = false
    /// Whether it was the root's first since it is live.
    package var isFirst = false
    /// Whether it was begun by the pace at which is compared what no event tells.
    package var isPoll = false
    /// CLOCK_MONOTONIC nanoseconds, given by whoever asked; 0 if nobody did.
    package var began: UInt64 = 0
    package var counts = NoticeCounts()
    package var directories = 0
    package var files = 0
}

package struct NoticeCounts: Hashable, Sendable {
    package var notices = 0
    package var found = 0
    package var vanished = 0
    package var renamed = 0

    package static func - (left: NoticeCounts, right: NoticeCounts) -> NoticeCounts {
        NoticeCounts(
            notices: left.notices - right.notices, found: left.found - right.found,
            vanished: left.vanished - right.vanished, renamed: left.renamed - right.renamed)
    }
}

/// The state of one root in the core.
package struct RootState {
    package enum Phase {
        /// Its path is being opened for the first time.
        case starting
        case live
        case gone(WatchNotice.Loss)
    }

    package struct UnderWay {
        package var outcome: Reconciliation
        package let startCounts: NoticeCounts
        /// Whether the whole tree is compared, and not only what is polled in it.
        package var isWhole = true
        /// Whether what it finds counts as missed.
        package var isAudit = false
        /// The look after which it is through, once its surveys are.
        package var lastLook: UInt64?
    }

    package let id: String
    package var top: NodeID
    package var phase: Phase = .starting
    /// Counts losses: results of requests from before one are void.
    package var epoch: UInt32 = 0
    package var identity: RootIdentity?
    /// What was known of directories that lay at its path, and do not now: in an earlier life, or in this one. The last
    /// that was there first.
    package var memories: [RootMemory] = []
    /// Its path from the process's root directory, without links, as the mount table has it.
    package var place: BytePath?
    /// Whether the first survey of this life has brought the top directory's finding.
    package var hasBegun = false
    package var dirty = DirtyNames()
    /// The looks under way: what was asked, with the hints kept here.
    package var looking: DirtyNames?
    /// Whether events told of directories since the last looks.
    package var mayHaveMoved = false
    package var looks: UInt64 = 0
    package var surveys = 0
    package var isAdopting = false
    package var isChecking = false
    /// Whether something was told since the check or the opening that is under way was asked for.
    package var isDoubted = false
    package var isTracing = false
    /// The same, since the path was asked to be followed.
    package var wantsTrace = false
    package var tracesInARow = 0
    package var underWay: UnderWay?
    package var wanted: Reconciliation?
    package var counts = NoticeCounts()
    package var knownFiles = 0
    package var directories = 1
    package var watched = 0
    package var polled: Set<NodeID> = []
    package var unreadable: Set<NodeID> = []
    /// Why the last directory could not be read, and the last one not be watched.
    package var unreadableReason: Int32?
    package var refusal: Int32?
    /// When the present phase began.
    package var since: UInt64 = 0
    /// When is compared what no event tells, and when the rest; begun with the root's life.
    package var polling = PollPace(CompareBounds(shortest: .zero, longest: .zero), startingWith: .zero, now: 0)
    package var audit: PollPace?
    package var ledger = AuditLedger()
    /// When the last audit began, and when it was through, as long as it is not settled.
    package var auditBegan: UInt64 = 0
    package var auditEnded: UInt64?
    package var audits = 0
    package var missed = 0
    package var lastMissed = 0
    /// Directories with names that could not be looked at (EIO, ESTALE …).
    package var failed: Set<NodeID> = []
    /// Files that are being written, as far as is known.
    package var unsettled: Set<DirtyNames.Key> = []

    package init(id: String, top: NodeID) {
        self.id = id
        self.top = top
    }

    package var isLive: Bool { if case .live = phase { true } else { false } }
    /// Whether an observation may be on its way that is older than what happens now.
    package var isObserving: Bool { surveys > 0 || looking != nil }
    // Inlined, since a getter that is called is given a copy of all this.

    /// Whether a comparison of it is wanted or under way.
    @inline(__always) package var isToBeCompared: Bool {
        if case (.none, .none) = (wanted, underWay) { false } else { true }
    }
}
