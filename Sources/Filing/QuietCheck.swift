package import FileValues

/// The time since the last change of a file: the evidence used where writers are invisible or the structure has no end.
/// Pure; the caller supplies identity and time.
package struct QuietCheck: Hashable, Sendable {
    /// The last observed identity.
    package private(set) var identity: FileIdentity
    /// When this identity was first observed, on a clock that runs during suspend.
    package private(set) var since: ContinuousClock.Instant

    /// Starts the quiet time at `now`, since earlier changes are unknown.
    package init(_ identity: FileIdentity, at now: ContinuousClock.Instant) {
        self.identity = identity
        since = now
    }

    /// Records the identity at `now`; a change restarts the quiet time.
    package mutating func observe(_ identity: FileIdentity, at now: ContinuousClock.Instant) {
        guard identity != self.identity else { return }
        self = QuietCheck(identity, at: now)
    }

    /// Returns the quiet time at `now`; never negative.
    package func quiet(at now: ContinuousClock.Instant) -> Duration { max(.zero, since.duration(to: now)) }

    /// Returns the rest of `window` at `now`, or zero.
    package func remaining(of window: Duration, at now: ContinuousClock.Instant) -> Duration {
        max(.zero, window - quiet(at: now))
    }
}
