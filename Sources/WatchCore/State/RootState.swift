import FileValues

/// The work of one root: whether it is live, and the requests to its queue.
package struct RootState {
    package enum Phase {
        /// Its path is being opened for the first time.
        case starting
        /// `isListed` once the first survey since then has listed the top directory, or could not.
        case live(isListed: Bool)
        case gone(WatchNotice.Loss)
    }

    package private(set) var phase = Phase.starting
    /// When the present phase began.
    package private(set) var since: UInt64 = 0
    /// How often it was lost: results of requests from before a loss are void.
    private(set) var epoch: UInt32 = 0
    /// Its path from the process's root directory, without links, as in the mount table.
    var mountPath: BytePath?
    /// The records of directories that were at its path, before a restart or since, and are not now; the latest first.
    var memories: [RootMemory] = []
    /// The request to open it or, while it is live, to check it.
    var opening = CoalescedRequest.idle
    var lookups = PendingLookups()
    /// How many surveys are under way.
    package var surveys = 0
    var comparison = Comparison()
    /// The interval of its polls.
    package var polling = PollPace(CompareBounds(shortest: .zero, longest: .zero), startingWith: .zero, now: 0)
    package var audit = RootAudit()
    package var counts = NoticeCounts()

    /// Names that wait for a lookup.
    package var waitingLookups: Int { lookups.count }
    @inline(__always)
    package var isLive: Bool { if case .live = phase { true } else { false } }
    var isGone: Bool { if case .gone = phase { true } else { false } }
    /// Whether its watch has begun, or cannot.
    package var hasBegun: Bool {
        switch phase {
        case .starting: false
        case .live(let isListed): isListed
        case .gone: true
        }
    }
    /// Whether an observation may be on its way that is older than the present event.
    @inline(__always)
    var isObserving: Bool { surveys > 0 || lookups.underWay != nil }

    mutating func beginLife(at now: UInt64) {
        phase = .live(isListed: false)
        since = now
    }

    /// Its top directory was listed, or cannot be at present.
    mutating func noteListing() { if isLive { phase = .live(isListed: true) } }

    /// Its path does not lead to it. The beginning of the phase stays if it did not before.
    mutating func lose(_ loss: WatchNotice.Loss, at now: UInt64) {
        if !isGone { since = now }
        phase = .gone(loss)
    }

    /// Voids all that is requested of its queue.
    mutating func cancelRequests() {
        epoch &+= 1
        surveys = 0
        lookups.removeAll()
        opening = .idle
        audit.ledger.void()
    }
}
