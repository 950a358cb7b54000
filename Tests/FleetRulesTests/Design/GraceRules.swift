/// Times of the fleet. They serve progress, and keep strays few; no photo depends on them.
enum GraceRules {
    /// Seconds beyond a lease, after a failover, in which nobody takes over or adopts, since each host asserts its echo.
    private static let margin: UInt64 = 30

    /// `promoted` is when the catalogue was found to have gone back, by the clock of `now`; both in seconds.
    static func isInGrace(since promoted: UInt64?, now: UInt64, lease: UInt64) -> Bool {
        guard let promoted, now >= promoted else { return promoted != nil }
        return now - promoted < lease + margin
    }

    /// Whether a host gives names in the library: its last acknowledged heartbeat is within its lease, by its own clock.
    static func mayName(acknowledged: UInt64, now: UInt64, lease: UInt64) -> Bool {
        now >= acknowledged && now - acknowledged < lease
    }
}
