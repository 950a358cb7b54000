import FileValues

/// What one reconciliation found: all differences told since it began.
struct Reconciliation: Hashable, Sendable {
    /// Whom to answer.
    var tickets: [UInt64] = []
    /// Whether it heals an overflow.
    var heals = false
    /// Whether it was the root's first since it is live.
    var isFirst = false
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
        /// The survey of the whole tree.
        var survey: UInt32
        var outcome: Reconciliation
        let startCounts: NoticeCounts
        /// The look after which it is through, once its surveys are.
        var lastLook: UInt64?
    }

    let id: String
    let top: NodeID
    var phase: Phase = .starting
    /// Counts losses: results of requests from before one are void.
    var epoch: UInt32 = 0
    var identity: RootIdentity?
    /// Whether the first survey of this life has brought the top directory's finding.
    var hasBegun = false
    var dirty = DirtyNames()
    /// The looks under way: what was asked, with the hints kept here.
    var looking: [DirtyNames.Item]?
    /// Whether events told of directories since the last looks.
    var mayHaveMoved = false
    var looks: UInt64 = 0
    var surveys = 0
    var isAdopting = false
    var isChecking = false
    var underWay: UnderWay?
    var wanted: Reconciliation?
    var counts = NoticeCounts()
    var knownFiles = 0
    var directories = 1
    var watched = 0
    var polled: Set<NodeID> = []
    var unreadable: Set<NodeID> = []
    /// Files that are being written, as far as is known.
    var unsettled: Set<DirtyNames.Key> = []

    init(id: String, top: NodeID) {
        self.id = id
        self.top = top
    }

    var isLive: Bool { if case .live = phase { true } else { false } }
    /// Whether an observation may be on its way that is older than what happens now.
    var isObserving: Bool { surveys > 0 || looking != nil }
}
