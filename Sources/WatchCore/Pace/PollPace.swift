/// The interval between comparisons: the shortest while differences are found, doubled each time that there are none, and
/// never so short that comparing takes more than a fiftieth of the time.
///
/// A value without a clock, asked on ticks; times are nanoseconds of CLOCK_MONOTONIC.
package struct PollPace: Hashable, Sendable {
    /// Comparing takes one part of so many, at most.
    package static let share: UInt64 = 50
    /// The longest interval for which a slow comparison counts, in nanoseconds.
    package static let slowest: UInt64 = 3_600_000_000_000

    private static let earliness: UInt64 = 500_000_000

    package let shortest: UInt64
    package let longest: UInt64
    /// From the beginning of the last comparison to the next.
    package private(set) var interval: UInt64
    /// When the last one began, or the first interval if there was none.
    package private(set) var began: UInt64
    /// When the last one ended; nil if there was none yet.
    package private(set) var ended: UInt64?
    package private(set) var isUnderWay = false
    /// How long the last one took.
    package private(set) var cost: UInt64 = 0
    private var pause: UInt64

    /// One that begins with `pause`, from `now` on.
    package init(_ bounds: CompareBounds, startingWith pause: Duration, now: UInt64) {
        shortest = bounds.shortest.nanoseconds
        longest = max(bounds.longest.nanoseconds, 1)
        self.pause = min(max(pause.nanoseconds, shortest), longest)
        interval = self.pause
        began = now
    }

    /// When the next one is due.
    package var next: UInt64 { began &+ interval }

    /// Whether it should begin now. Ticks are not exact, so a little early counts, too.
    package func isDue(at now: UInt64) -> Bool {
        !isUnderWay && now &- began &+ min(interval / 16, Self.earliness) >= interval
    }

    /// One begins.
    package mutating func begin(at now: UInt64) {
        isUnderWay = true
        began = now
    }

    /// One ends. Its cost is the shorter of the last two: a server that hung once may not do so again.
    package mutating func end(at now: UInt64, foundDifferences: Bool) {
        guard isUnderWay else { return }
        isUnderWay = false
        let took = now &- began
        let usual = ended == nil ? took : min(took, cost)
        (cost, ended) = (took, now)
        pause = foundDifferences ? shortest : min(max(pause, 1) * 2, longest)
        // A long comparison lengthens the interval, beyond the longest pause, too.
        interval = max(pause, min(usual.multipliedClamping(by: Self.share), max(Self.slowest, longest)))
    }

    /// One failed: its result does not count.
    package mutating func abandon() { isUnderWay = false }

    /// Something suggests that there are differences.
    package mutating func hasten() {
        interval = interval == pause ? shortest : interval
        pause = shortest
    }
}

extension UInt64 {
    fileprivate func multipliedClamping(by factor: UInt64) -> UInt64 {
        let (product, isTooLarge) = multipliedReportingOverflow(by: factor)
        return isTooLarge ? .max : product
    }
}

extension Duration {
    /// Whole nanoseconds, none if it is negative.
    package var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, isTooLarge) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return isTooLarge ? .max / 2 : product &+ UInt64(attoseconds / 1_000_000_000)
    }
}
