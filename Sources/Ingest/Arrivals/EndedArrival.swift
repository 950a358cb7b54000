package import FileValues
package import LinuxKernel

/// How one arrival ended: for the log, the last outcomes of the state dump, and the daemon's parts. The catalogue has its own row of it.
package struct EndedArrival: Sendable {
    package let key: ArrivalKey
    package let outcome: Outcome
    /// Why, in words for people.
    package let reason: String
    package let ended: Moment
    /// When it was first seen.
    package let firstSeen: Moment
    /// The catalogue's number of this outcome, where it was recorded.
    package var operation: Int64?
    /// Where the file is now, if it was moved or copied.
    package var destination: BytePath?
    /// SHA-256 of the content, in hexadecimal, where it was read.
    package var sha256: String?
    package var bytes: UInt64?
    /// What proved that it was complete.
    package var proof: String?

    package init(key: ArrivalKey, outcome: Outcome, reason: String, ended: Moment, firstSeen: Moment) {
        self.key = key
        self.outcome = outcome
        self.reason = reason
        self.ended = ended
        self.firstSeen = firstSeen
    }
}
