/// Decides when the kernel's queue is not read for a moment, so that a burst costs one wake-up and one lookup per file
/// instead of several.
///
/// At a low rate every event is read at once. In a burst events are read every 4 ms: a wake-up costs thread changes,
/// and batches of 4 ms measured 0.6 times the cost of a loop that wakes for each event. The kernel's queue holds 16,384
/// records, so batches far below 25 ms can't overflow it. A value without a clock.
package struct Pacer: Sendable {
    /// How long a batch gathers, in nanoseconds.
    package static let batch: UInt64 = 4_000_000
    /// So many records in the length of a batch count as a burst: some 4,000 files a second.
    private static let recordsOfBurst = 32

    private var windowStart: UInt64 = 0
    private var records = 0

    package init() {}

    /// Notes a turn that read `records`; true if the next ones should gather.
    package mutating func shouldGather(records: Int, now: UInt64) -> Bool {
        if now &- windowStart > Self.batch {
            windowStart = now
            self.records = 0
        }
        self.records += records
        return self.records >= Self.recordsOfBurst
    }
}
