/// How often something is compared that no event tells of.
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

/// How often what is compared although, or because, events do not tell everything. On ticks that come anyway.
public struct ComparePolicy: Hashable, Sendable {
    /// Roots and directories whose changes no event tells: on network file systems and FUSE, where no watch was left,
    /// or without permission. Never for more than a fiftieth of the time.
    public var polling: CompareBounds
    /// Roots that are live, to find and to count what events missed: the longest pause while nothing was, the shortest
    /// after something was. Nil for never.
    public var audit: CompareBounds?

    /// What holds for whoever says nothing else: between two seconds and a minute, once a day.
    public init(
        polling: CompareBounds = CompareBounds(shortest: .seconds(2), longest: .seconds(60)),
        audit: CompareBounds? = ComparePolicy.audit(every: .seconds(86_400))
    ) {
        self.polling = polling
        self.audit = audit
    }

    /// So far apart, and 24 times as often after something was missed.
    public static func audit(every pause: Duration) -> CompareBounds {
        CompareBounds(shortest: pause / 24, longest: pause)
    }
}
