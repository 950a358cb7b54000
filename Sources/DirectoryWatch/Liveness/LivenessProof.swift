/// Whether touching the cookie is followed by its event. A value without a clock; times are nanoseconds of
/// CLOCK_MONOTONIC.
struct LivenessProof: Hashable, Sendable {
    private(set) var asked: UInt64?
    private(set) var lastProof: UInt64?
    /// From touching the cookie to its event.
    private(set) var latency: UInt64?
    private(set) var count = 0

    /// The cookie is about to be touched. False if the last event has not come yet.
    @discardableResult
    mutating func ask(at now: UInt64) -> Bool {
        if asked != nil { return false }
        asked = now
        return true
    }

    /// The cookie could not be touched, so no event will come.
    mutating func withdraw() { asked = nil }

    /// Its event came, or an overflow, in which it may have been lost and which proves the same.
    mutating func answer(at now: UInt64) {
        guard let before = asked else { return }
        asked = nil
        lastProof = now
        latency = now &- before
        count += 1
    }
}

/// Whether events get from the kernel to the watch's decisions: the watch opens and closes a file on each tick, and the
/// event must come.
public struct LivenessReport: Hashable, Sendable {
    /// When the cookie was last touched whose event has not come, on CLOCK_MONOTONIC in nanoseconds.
    public let askedAt: UInt64?
    /// When the last event came.
    public let lastProof: UInt64?
    /// How many nanoseconds after touching the cookie it came.
    public let latency: UInt64?
    /// How many came.
    public let count: Int
    /// Why the cookie cannot be touched: it could not be made, watched or opened. Then no event is expected.
    public let failure: String?

    /// For how many nanoseconds an event is overdue; 0 if `now` is before the cookie was touched.
    public func silence(at now: UInt64) -> UInt64? { askedAt.map { now > $0 ? now - $0 : 0 } }

    init(_ proof: LivenessProof, failure: String? = nil) {
        askedAt = proof.asked
        lastProof = proof.lastProof
        latency = proof.latency
        count = proof.count
        self.failure = failure
    }
}
