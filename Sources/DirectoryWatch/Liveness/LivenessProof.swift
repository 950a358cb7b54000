/// Whether what is asked by touching the cookie is answered by an event, as a value without a clock; moments are
/// nanoseconds of CLOCK_MONOTONIC.
struct LivenessProof: Hashable, Sendable {
    private(set) var asked: UInt64?
    private(set) var lastProof: UInt64?
    /// From touching the cookie to its event.
    private(set) var latency: UInt64?
    private(set) var count = 0

    /// The cookie is about to be touched; whether no answer is owed already, which would go on to be.
    @discardableResult
    mutating func ask(at now: UInt64) -> Bool {
        if asked != nil { return false }
        asked = now
        return true
    }

    /// The cookie could not be touched, so nothing is owed.
    mutating func withdraw() { asked = nil }

    /// Its event came, or one that says as much: an overflow, in which it may have been lost.
    mutating func answer(at now: UInt64) {
        guard let before = asked else { return }
        asked = nil
        lastProof = now
        latency = now &- before
        count += 1
    }
}

/// Whether events go all the way from the kernel to the watch's decisions: a file that the watch opens and closes on
/// each tick must be told as closed.
public struct LivenessReport: Hashable, Sendable {
    /// When the cookie was last touched whose event has not come, on CLOCK_MONOTONIC in nanoseconds.
    public let askedAt: UInt64?
    /// When the last event came.
    public let lastProof: UInt64?
    /// Nanoseconds that it took.
    public let latency: UInt64?
    /// How many came.
    public let count: Int
    /// Why the cookie cannot be asked: it could not be made, watched or opened. Then nothing is owed.
    public let failure: String?

    /// For how many nanoseconds an answer is owed; none yet, where `now` was taken before it was asked for.
    public func silence(at now: UInt64) -> UInt64? { askedAt.map { now > $0 ? now - $0 : 0 } }

    init(_ proof: LivenessProof, failure: String? = nil) {
        askedAt = proof.asked
        lastProof = proof.lastProof
        latency = proof.latency
        count = proof.count
        self.failure = failure
    }
}
