/// A destination of log entries. No call but ``flush(within:)`` blocks, so any thread may log at any time.
public protocol LogSink: Sendable {
    /// Adds an entry to the sink's ring, or drops and counts it if the ring is full.
    func send(_ entry: LogEntry)

    /// Sends `entry` on the calling thread, past the ring and without blocking, for the last message before a trap.
    /// False if the receiver did not accept it at once.
    @discardableResult
    func sendNow(_ entry: LogEntry) -> Bool

    /// The sink's current state. Does not wait for a queue.
    func snapshot() -> LogSinkSnapshot

    /// Waits until all accepted entries are sent, at most `limit`; false if the time was too short. For shutdown, never
    /// on a queue that others wait for.
    func flush(within limit: Duration) -> Bool
}

/// A sink's counters at one moment.
public struct LogSinkSnapshot: Hashable, Sendable {
    /// `journal` or `console`.
    public let name: String
    /// Entries in the ring.
    public let queued: Int
    /// Their approximate size in bytes.
    public let queuedBytes: Int
    /// Entries that the receiver accepted.
    public let sent: UInt64
    /// Entries dropped because the ring was full.
    public let dropped: UInt64
    /// Entries that could not be sent; they are not retried.
    public let failed: UInt64
    /// The start of the current send; nil if there is none. If it is long ago, the receiver does not respond.
    public let sendingSince: SuspendingClock.Instant?
    /// The last error of sending.
    public let lastFailure: String?
}
