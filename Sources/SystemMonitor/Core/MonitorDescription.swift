/// What is known of one monitor at one moment. All times are nanoseconds of CLOCK_MONOTONIC.
public struct MonitorDescription: Sendable {
    /// Unique in the process's life.
    public let id: UInt64
    /// The kind's name, such as `TimerMonitor`.
    public let kind: String
    /// Its own name.
    public let label: String
    /// Its queue's label.
    public let queue: String
    /// Where it was set up: `file:line`.
    public let createdAt: String
    /// When this description was made.
    public let describedAt: UInt64
    /// Its state.
    public internal(set) var state: MonitorState
    /// Since when it has been in that state.
    public internal(set) var since: UInt64
    /// How urgent it is among the monitors of its queue; smaller is more urgent.
    public internal(set) var priority = 0
    /// Events that its handler was given.
    public internal(set) var delivered: UInt64 = 0
    /// Events that came too late, after invalidation, or for which there was no handler, or no room while it was held.
    public internal(set) var dropped: UInt64 = 0
    /// Events that were reported as part of another one.
    public internal(set) var coalesced: UInt64 = 0
    /// When the last event was delivered.
    public internal(set) var lastEvent: UInt64?
    /// How often the rate limit held it back.
    public internal(set) var rateLimitHits: UInt64 = 0
    /// Since when its handler has been running; nil if it is not.
    public internal(set) var handlerRunningSince: UInt64?
    /// How long its handler took, in nanoseconds.
    public internal(set) var handlerTime: HandlerTime?
    /// How often its handler threw.
    public internal(set) var errors: UInt64 = 0
    /// What its handler threw last.
    public internal(set) var lastError: String?

    /// How long a handler took, in nanoseconds. Median and 99th percentile are exact to within an eighth.
    public struct HandlerTime: Sendable, Equatable {
        /// The shortest.
        public let min: UInt64
        /// Half of all calls took no longer.
        public let median: UInt64
        /// 99 of 100 calls took no longer.
        public let p99: UInt64
        /// The longest.
        public let max: UInt64
        /// How many calls.
        public let count: UInt64

        init?(_ histogram: DurationHistogram) {
            guard let median = histogram.quantile(0.5), let p99 = histogram.quantile(0.99) else { return nil }
            (min, max, count) = (histogram.minimum, histogram.maximum, histogram.count)
            (self.median, self.p99) = (median, p99)
        }
    }
}
