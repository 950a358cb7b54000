/// Where log entries go. No call here but ``flush(within:)`` ever waits, so any thread may log at any time, a thread
/// that must not block included.
public protocol LogSink: Sendable {
    /// Takes an entry into the sink's ring, or drops and counts it if the ring is full.
    func send(_ entry: LogEntry)

    /// For the last words before a trap: tries to hand over `entry` on the calling thread, past the ring and without
    /// waiting. False if the other side did not take it at once.
    @discardableResult
    func sendNow(_ entry: LogEntry) -> Bool

    /// How the sink is doing. Asks no queue.
    func snapshot() -> LogSinkSnapshot

    /// Waits until all that was taken is sent, at most for `limit`; false if the time was not enough. For shut-down,
    /// never on a queue that others wait for.
    func flush(within limit: Duration) -> Bool
}

/// A sink's counters at one moment.
public struct LogSinkSnapshot: Hashable, Sendable {
    /// Which sink: `journal` or `console`.
    public let name: String
    /// Entries that wait.
    public let queued: Int
    /// About how many bytes they occupy.
    public let queuedBytes: Int
    /// Entries that the other side took.
    public let sent: UInt64
    /// Entries that found the ring full.
    public let dropped: UInt64
    /// Entries whose sending failed; they are not tried again.
    public let failed: UInt64
    /// When the sending that is going on began; nil if none is. Long ago means that the other side does not answer.
    public let sendingSince: SuspendingClock.Instant?
    /// Why the last failed sending failed.
    public let lastFailure: String?
}
