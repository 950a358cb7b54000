/// Decides when the kernel's queue is left alone for a moment, so that a storm costs a wake-up for hundreds of records
/// instead of one for each. Below that, every record is taken at once. A value without a clock.
struct EventGathering {
    /// How long a batch gathers, in nanoseconds. The kernel's queue holds 16,384 records, far more than come meanwhile.
    static let pause: UInt64 = 4_000_000
    /// So many turns in the length of a pause, or records in one, are a storm.
    private static let turnsOfStorm = 16
    private static let recordsOfStorm = 64

    private var windowStart: UInt64 = 0
    private var turns = 0

    /// Notes a turn that took `records` at `now`, in nanoseconds; true if the next ones should gather.
    mutating func isStorm(records: Int, now: UInt64) -> Bool {
        if now &- windowStart > Self.pause {
            windowStart = now
            turns = 0
        }
        turns += 1
        return turns >= Self.turnsOfStorm || records >= Self.recordsOfStorm
    }
}
