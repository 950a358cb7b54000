package import FileValues

/// Since when a file has been as it is: the evidence that stands in where a writer can't be seen or the structure has
/// no end. Pure; the caller brings the identity and the time.
package struct QuietCheck: Hashable, Sendable {
    /// As last seen.
    package private(set) var identity: FileIdentity
    /// When it was first seen so, on a clock that goes on while the machine sleeps.
    package private(set) var since: ContinuousClock.Instant

    /// A file first seen at `now`. What happened before is not known, so quiet starts here.
    package init(_ identity: FileIdentity, at now: ContinuousClock.Instant) {
        self.identity = identity
        since = now
    }

    /// Takes note of how the file is at `now`; a change starts the window anew.
    package mutating func observe(_ identity: FileIdentity, at now: ContinuousClock.Instant) {
        guard identity != self.identity else { return }
        self = QuietCheck(identity, at: now)
    }

    /// How long it has been so at `now`; never negative.
    package func quiet(at now: ContinuousClock.Instant) -> Duration { max(.zero, since.duration(to: now)) }

    /// What is left of `window` at `now`; zero when it is over.
    package func remaining(of window: Duration, at now: ContinuousClock.Instant) -> Duration {
        max(.zero, window - quiet(at: now))
    }
}
