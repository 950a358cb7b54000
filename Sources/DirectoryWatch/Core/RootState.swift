import FileValues
import LinuxKernel
import SystemPackage

/// What one reconciliation found: all differences told since it began.
struct Reconciliation: Hashable, Sendable {
    /// Whom to answer.
    var tickets: [UInt64] = []
    /// Whether it heals an overflow.
    var heals = false
    /// Whether it was the root's first since it is live.
    var isFirst = false
    /// Whether it was begun by the pace at which is compared what no event tells.
    var isPoll = false
    /// CLOCK_MONOTONIC nanoseconds, given by whoever asked; 0 if nobody did.
    var began: UInt64 = 0
    var counts = NoticeCounts()
    var directories = 0
    var files = 0
}

struct NoticeCounts: Hashable, Sendable {
    var notices = 0
    var found = 0
    var vanished = 0
    var renamed = 0

    static func - (left: NoticeCounts, right: NoticeCounts) -> NoticeCounts {
        NoticeCounts(
            notices: left.notices - right.notices, found: left.found - right.found,
            vanished: left.vanished - right.vanished, renamed: left.renamed - right.renamed)
    }
}

/// The state of one root in the core.
struct RootState {
    enum Phase {
        /// Its path is being opened for the first time.
        case starting
        case live
        case gone(WatchNotice.Loss)
    }

    struct UnderWay {
        var outcome: Reconciliation
        let startCounts: NoticeCounts
        /// Whether the whole tree is compared, and not only what is polled in it.
        var isWhole = true
        /// Whether what it finds counts as missed.
        var isAudit = false
        /// The look after which it is through, once its surveys are.
        var lastLook: UInt64?
    }

    let id: String
    var top: NodeID
    var phase: Phase = .starting
    /// Counts losses: results of requests from before one are void.
    var epoch: UInt32 = 0
    var identity: RootIdentity?
    /// What was known of directories that lay at its path, and do not now: in an earlier life, or in this one. The last
    /// that was there first.
    var memories: [RootMemory] = []
    /// Its path from the process's root directory, without links, as the mount table has it.
    var place: BytePath?
    /// Whether the first survey of this life has brought the top directory's finding.
    var hasBegun = false
    var dirty = DirtyNames()
    /// The looks under way: what was asked, with the hints kept here.
    var looking: DirtyNames?
    /// Whether events told of directories since the last looks.
    var mayHaveMoved = false
    var looks: UInt64 = 0
    var surveys = 0
    var isAdopting = false
    var isChecking = false
    /// Whether something was told since the check or the opening that is under way was asked for.
    var isDoubted = false
    var isTracing = false
    /// The same, since the path was asked to be followed.
    var wantsTrace = false
    var tracesInARow = 0
    var underWay: UnderWay?
    var wanted: Reconciliation?
    var counts = NoticeCounts()
    var knownFiles = 0
    var directories = 1
    var watched = 0
    var polled: Set<NodeID> = []
    var unreadable: Set<NodeID> = []
    /// Why the last directory could not be read, and the last one not be watched.
    var unreadableReason: Errno?
    var refusal: Errno?
    /// When the present phase began.
    var since: UInt64 = 0
    /// When is compared what no event tells, and when the rest; begun with the root's life.
    var polling = PollPace(CompareBounds(shortest: .zero, longest: .zero), startingWith: .zero, now: 0)
    var audit: PollPace?
    var ledger = AuditLedger()
    /// When the last audit began, and when it was through, as long as it is not settled.
    var auditBegan: UInt64 = 0
    var auditEnded: UInt64?
    var audits = 0
    var missed = 0
    var lastMissed = 0
    /// Directories with names that could not be looked at (EIO, ESTALE …).
    var failed: Set<NodeID> = []
    /// Files that are being written, as far as is known.
    var unsettled: Set<DirtyNames.Key> = []

    init(id: String, top: NodeID) {
        self.id = id
        self.top = top
    }

    var isLive: Bool { if case .live = phase { true } else { false } }
    /// Whether an observation may be on its way that is older than what happens now.
    var isObserving: Bool { surveys > 0 || looking != nil }
    // Inlined, since a getter that is called is given a copy of all this.

    /// Whether a comparison of it is wanted or under way.
    @inline(__always) var isToBeCompared: Bool { if case (.none, .none) = (wanted, underWay) { false } else { true } }
}
