/// Decides when the kernel's queue is left alone for a moment, so that a burst costs one wake-up and one look a file
/// instead of several.
///
/// At a low rate every event is taken at once. When events keep coming they are taken every 4 ms: libdispatch needs two
/// thread changes for each wake-up, and batches of 4 ms measured 0.6 times the cost of a loop that wakes for each event.
/// The kernel's queue holds 16,384 records, so batches far below 25 ms can't overflow it. A value without a clock.
struct Pacer {
    /// How long a batch gathers, in nanoseconds.
    static let batch: UInt64 = 4_000_000
    /// So many turns in the length of a batch, or records in one, count as a burst.
    private static let turnsOfBurst = 3
    private static let recordsOfBurst = 16

    private var windowStart: UInt64 = 0
    private var turns = 0

    /// Notes a turn that took `records`; true if the next ones should gather.
    mutating func shouldGather(records: Int, now: UInt64) -> Bool {
        if now &- windowStart > Self.batch {
            windowStart = now
            turns = 0
        }
        turns += 1
        return turns >= Self.turnsOfBurst || records >= Self.recordsOfBurst
    }
}
