import ControlProtocol
package import Settings

// The messages to and from the download program: frames as on the control socket, a JSON object each. A connection is
// one batch; when it ends, the batch is cancelled. See docs/decisions/0025.

package struct FetchRequest: Hashable, Sendable, JSONMessage {
    package static let currentVersion = 1
    /// The longest frame, in bytes.
    package static let longest = 64 << 20

    package var version = currentVersion
    /// The inbox's name in the configuration.
    package var inbox: String
    package var addresses: [String]
    /// Fewer downloads at once than configured; nil for as many.
    package var atOnce: Int?
    /// The settings that a service reads from its own configuration: only the parent of a child process may set it.
    package var place: FetchPlace?

    package var isKnown: Bool { version == Self.currentVersion }

    package init(inbox: String, addresses: [String], atOnce: Int? = nil, place: FetchPlace? = nil) {
        (self.inbox, self.addresses, self.atOnce, self.place) = (inbox, addresses, atOnce, place)
    }
}

/// The directory for photos, and the limits of downloads.
package struct FetchPlace: Hashable, Sendable, Codable {
    /// The inbox's path, in bytes.
    package var path: [UInt8]
    package var limits: FetchLimits
    /// Bytes to keep free in its file system.
    package var minFree: UInt64

    package init(path: [UInt8], limits: FetchLimits, minFree: UInt64) {
        (self.path, self.limits, self.minFree) = (path, limits, minFree)
    }
}

/// A cancellation, after the request.
package struct FetchWord: Hashable, Sendable, JSONMessage {
    /// The longest frame, in bytes.
    package static let longest = 4 << 10

    /// The address to cancel, by its index in the request; nil for all.
    package var cancel: Int?

    package init(cancel: Int?) { self.cancel = cancel }
}

package struct FetchProgress: Hashable, Sendable, Codable {
    package var ended = 0
    package var total = 0
    package var running = 0
    package var bytes: UInt64 = 0

    package init(ended: Int = 0, total: Int = 0, running: Int = 0, bytes: UInt64 = 0) {
        (self.ended, self.total, self.running, self.bytes) = (ended, total, running, bytes)
    }
}

/// A message of the download program.
package enum FetchReport: Hashable, Sendable, JSONMessage {
    package static let longest = 64 << 20

    /// Why nothing is downloaded.
    case refused(String)
    case progress(FetchProgress)
    /// The download of an address, by its index in the request, has ended.
    case ended(Int, FetchEnd)
    /// All downloads have ended: their counts and their directory in the inbox. The last message.
    case outcome(FetchOutcome)
}

package struct FetchOutcome: Hashable, Sendable, Codable {
    package var arrived = 0
    package var failed = 0
    package var cancelled = 0
    package var bytes: UInt64 = 0
    /// The directory in the inbox; nil if nothing has arrived.
    package var directory: String?

    package init() {}
}
