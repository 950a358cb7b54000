/// A limit of events per interval, counted as in systemd's sd-event: an interval begins with the first event after the
/// previous one ended; see sd_event_source_set_ratelimit(3). Pure.
struct RateLimit: Sendable {
    private let interval: UInt64
    private let burst: Int
    private var begin: UInt64?
    private var used = 0

    /// `interval` in nanoseconds.
    init(interval: UInt64, burst: Int) {
        self.interval = interval
        self.burst = burst
    }

    /// Whether an event at `now` is within the burst; counts it if so.
    mutating func admits(at now: UInt64) -> Bool {
        if let begin, now - min(begin, now) < interval {
            guard used < burst else { return false }
            used += 1
            return true
        }
        begin = now
        used = 1
        return true
    }

    /// Nanoseconds from `now` until the interval ends.
    func remaining(at now: UInt64) -> UInt64 {
        guard let begin else { return 0 }
        let passed = now - min(begin, now)
        return passed < interval ? interval - passed : 0
    }
}
