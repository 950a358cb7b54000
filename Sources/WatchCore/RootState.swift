import FileValues

/// What one reconciliation found: all differences reported since it began.
package struct Reconciliation: Hashable, Sendable {
    /// Whom to answer.
    package var tickets: [UInt64] = []
    /// Whether it heals an overflow.
    var heals = false
    /// Whether it was the root's first since it is live.
    var isFirst = false
    /// Whether it was begun by the pace at which is compared what no event reports.
    var isPoll = false
    /// CLOCK_MONOTONIC nanoseconds, given by whoever asked; 0 if nobody did.
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

/// One root: whether its path leads to it, and what is asked of its queue.
package struct RootState {
    package enum Phase {
        /// Its path is being opened for the first time.
        case starting
        /// `isListed` once the first survey of this life has brought what it found of the top directory.
        case live(isListed: Bool)
        case gone(WatchNotice.Loss)
    }

    package private(set) var phase = Phase.starting
    /// When the present phase began.
    package private(set) var since: UInt64 = 0
    /// Counts losses: results of requests from before one are void.
    private(set) var epoch: UInt32 = 0
    /// Its path from the process's root directory, without links, as the mount table has it.
    var mountPath: BytePath?
    /// What was known of directories that lay at its path, and do not now: in an earlier life, or in this one. The last
    /// that was there first.
    package var memories: [RootMemory] = []
    /// Whether it is being opened or, while it is live, checked.
    var opening = Inquiry.idle
    var names = PendingNames()
    /// Surveys under way.
    package var surveys = 0
    var comparison = Comparison()
    /// When is compared what no event reports.
    package var polling = PollPace(CompareBounds(shortest: .zero, longest: .zero), startingWith: .zero, now: 0)
    package var audit = RootAudit()
    package var counts = NoticeCounts()

    /// Names that wait to be looked up.
    package var waitingLookups: Int { names.count }
    @inline(__always)
    package var isLive: Bool { if case .live = phase { true } else { false } }
    var isGone: Bool { if case .gone = phase { true } else { false } }
    /// Whether whoever waits for the watch to begin need not wait for it any more.
    package var hasBegun: Bool {
        switch phase {
        case .starting: false
        case .live(let isListed): isListed
        case .gone: true
        }
    }
    /// Whether an observation may be on its way that is older than what happens now.
    @inline(__always)
    var isObserving: Bool { surveys > 0 || names.underWay != nil }

    mutating func live(since now: UInt64) {
        phase = .live(isListed: false)
        since = now
    }

    /// Its top directory was listed, or cannot be at present.
    mutating func noteListing() { if isLive { phase = .live(isListed: true) } }

    /// Its path leads elsewhere or nowhere; `now` unless it did before.
    mutating func lose(_ loss: WatchNotice.Loss, since now: UInt64?) {
        phase = .gone(loss)
        if let now { since = now }
    }

    /// What was asked for is void.
    mutating func endLife() {
        epoch &+= 1
        surveys = 0
        names.removeAll()
        opening = .idle
        audit.ledger.void()
    }
}

/// A question to a root's queue, asked once at a time. Whoever asks meanwhile has it asked again afterwards, since the
/// answer may be older than the reason to ask.
enum Inquiry {
    case idle, underWay, stale

    /// Whether to ask now.
    mutating func ask() -> Bool {
        defer { self = self == .idle ? .underWay : .stale }
        return self == .idle
    }

    /// The answer came; whether to ask again.
    mutating func answer() -> Bool {
        defer { self = .idle }
        return self == .stale
    }
}

/// The names of one root that are to be looked up, and the lookup under way.
struct PendingNames {
    private var dirty = DirtyNames()
    /// What was asked, with the hints kept here.
    private(set) var underWay: DirtyNames?
    /// Lookups that are through.
    private(set) var completed: UInt64 = 0
    /// Whether events told of directories since the last lookup.
    var mayHaveMoved = false
    /// Directories with names that could not be looked up (EIO, ESTALE …).
    private var failed: Set<NodeID> = []

    var count: Int { dirty.count }
    @inline(__always)
    var isEmpty: Bool { dirty.isEmpty }

    /// What was said of a name since it was last asked for.
    @inline(__always)
    subscript(_ directory: NodeID, _ name: NameID) -> Hints? { dirty[directory, name] }

    /// Whether a name is to be looked up, or is being so.
    @inline(__always)
    func contains(_ directory: NodeID, _ name: NameID) -> Bool {
        dirty[directory, name] != nil || underWay?[directory, name] != nil
    }

    /// How many lookups are through once all that is asked for by now is.
    @inline(__always)
    var completedThen: UInt64 { completed + (underWay == nil ? 0 : 1) + (dirty.isEmpty ? 0 : 1) }

    mutating func add(_ directory: NodeID, _ name: NameID, _ hints: Hints) { dirty.add(directory, name, hints) }

    /// Adds what was said before all else that is known of the name.
    mutating func addEarlier(_ directory: NodeID, _ name: NameID, _ hints: Hints) {
        dirty.addEarlier(directory, name, hints)
    }

    /// Begins a lookup of all but what is to wait, and forgets what is gone. Nil if nothing is left, which counts as one.
    mutating func begin(isGone: (NodeID) -> Bool, isToWait: (NodeID) -> Bool) -> DirtyNames? {
        dirty.removeAll { isGone($0.directory) }
        let due = dirty.takeAll { isToWait($0.directory) }
        if due.isEmpty {
            completed += 1
            return nil
        }
        underWay = due
        return due
    }

    /// Ends the lookup under way, and returns what was asked.
    mutating func end() -> [DirtyNames.Item]? {
        guard let items = underWay?.items else { return nil }
        underWay = nil
        completed += 1
        return items
    }

    mutating func addFailed(_ directory: NodeID) { failed.insert(directory) }

    /// At most so many directories to be listed because names in them could not be looked up.
    mutating func takeFailed(_ count: Int) -> [NodeID] {
        let taken = Array(failed.prefix(count))
        failed.subtract(taken)
        return taken
    }

    /// Forgets all that is asked for.
    mutating func removeAll() {
        dirty = DirtyNames()
        underWay = nil
        failed = []
    }

    /// Every name that it needs.
    var all: [NameID] {
        (dirty.items + (underWay?.items ?? [])).flatMap { [$0.name] + $0.hints.sources.map(\.name) }
    }
}

/// The comparison of a root with its tree that is wanted, and the one under way.
struct Comparison {
    struct UnderWay {
        var outcome: Reconciliation
        let startCounts: NoticeCounts
        /// Whether the whole tree is compared, and not only what is polled in it.
        var isWhole = true
        /// Whether what it finds counts as missed.
        var isAudit = false
        /// How many lookups are through when it is, once its surveys are.
        var lastLookup: UInt64?
    }

    private(set) var wanted: Reconciliation?
    private(set) var underWay: UnderWay?

    // Inlined, since a getter that is called is given a copy of all this.
    @inline(__always) var isIdle: Bool { if case (.none, .none) = (wanted, underWay) { true } else { false } }

    /// Wants one, or changes the one that is wanted.
    mutating func want(from now: UInt64, _ change: (inout Reconciliation) -> Void = { _ in }) {
        var reconciliation = wanted ?? Reconciliation(began: now)
        change(&reconciliation)
        wanted = reconciliation
    }

    mutating func takeWanted() -> Reconciliation? {
        defer { wanted = nil }
        return wanted
    }

    mutating func begin(_ comparison: UnderWay) { underWay = comparison }

    mutating func end() -> UnderWay? {
        defer { underWay = nil }
        return underWay
    }

    /// Whether the lookups that were asked for up to the first call are through.
    mutating func hasLookedUp(_ completed: UInt64, _ completedThen: UInt64) -> Bool {
        let last = underWay?.lastLookup ?? completedThen
        underWay?.lastLookup = last
        return completed >= last
    }
}
