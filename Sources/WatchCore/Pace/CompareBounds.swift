/// The bounds of an interval between comparisons.
public struct CompareBounds: Hashable, Sendable {
    /// While differences are found.
    public let shortest: Duration
    /// When nothing has changed for long.
    public let longest: Duration

    /// Bounds; `longest` counts if the two are the wrong way round.
    public init(shortest: Duration, longest: Duration) {
        self.shortest = min(shortest, longest)
        self.longest = longest
    }
}

/// How often trees are compared because events do not report everything. On ticks, so that nothing wakes up for it.
public struct ComparePolicy: Hashable, Sendable {
    /// Polls of roots and directories whose changes no event reports: on network file systems and FUSE, where no watch was left,
    /// or without permission. Never for more than a fiftieth of the time.
    public var polling: CompareBounds
    /// Audits of live roots, which find and count the changes that events missed: the longest interval while there are none,
    /// the shortest after there were. Nil for never.
    public var audit: CompareBounds?

    /// The defaults: polls every two seconds to every minute, audits once a day.
    public init(
        polling: CompareBounds = CompareBounds(shortest: .seconds(2), longest: .seconds(60)),
        audit: CompareBounds? = ComparePolicy.audit(every: .seconds(86_400))
    ) {
        self.polling = polling
        self.audit = audit
    }

    /// Audits at this interval, and 24 times as often after changes were missed.
    public static func audit(every pause: Duration) -> CompareBounds {
        CompareBounds(shortest: pause / 24, longest: pause)
    }
}
