/// A monitor's state and statistics at one moment. All times are nanoseconds of CLOCK_MONOTONIC.
public struct MonitorDescription: Sendable {
    /// Unique within the process.
    public let id: UInt64
    /// The kind's name, such as `TimerMonitor`.
    public let kind: String
    /// Its label.
    public let label: String
    /// Its queue's label.
    public let queue: String
    /// Where it was set up: `file:line`.
    public let createdAt: String
    /// The time of this description.
    public let describedAt: UInt64
    /// Its state.
    public internal(set) var state: MonitorState
    /// The time when it entered that state.
    public internal(set) var since: UInt64
    /// Its priority among the monitors of its queue; smaller is more urgent.
    public internal(set) var priority = 0
    /// Events delivered to its handler.
    public internal(set) var delivered: UInt64 = 0
    /// Events that arrived after invalidation, without a handler, or when too many were kept.
    public internal(set) var dropped: UInt64 = 0
    /// Events that were reported as part of another one.
    public internal(set) var coalesced: UInt64 = 0
    /// The time of the last delivery.
    public internal(set) var lastEvent: UInt64?
    /// How often the rate limit held it.
    public internal(set) var rateLimitHits: UInt64 = 0
    /// The start of the handler's current run; nil if it is not running.
    public internal(set) var handlerRunningSince: UInt64?
    /// The run time of its handler, in nanoseconds.
    public internal(set) var handlerTime: HandlerTime?
    /// How often its handler threw.
    public internal(set) var errors: UInt64 = 0
    /// The last error of its handler.
    public internal(set) var lastError: String?

    /// The run time of a handler, in nanoseconds. Median and 99th percentile are exact to within an eighth.
    public struct HandlerTime: Sendable, Equatable {
        /// The shortest.
        public let min: UInt64
        /// The median.
        public let median: UInt64
        /// The 99th percentile.
        public let p99: UInt64
        /// The longest.
        public let max: UInt64
        /// The number of calls.
        public let count: UInt64

        init?(_ histogram: DurationHistogram) {
            guard let median = histogram.quantile(0.5), let p99 = histogram.quantile(0.99) else { return nil }
            (min, max, count) = (histogram.minimum, histogram.maximum, histogram.count)
            (self.median, self.p99) = (median, p99)
        }
    }
}
