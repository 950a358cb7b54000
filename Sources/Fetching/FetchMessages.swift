import ControlProtocol
package import Settings

// What is said to those who fetch, and what they say: frames as on the control socket, a JSON object each. A connection is
// one batch; when it ends, the batch is cancelled. See docs/decisions/0025.

/// What is to be fetched.
package struct FetchRequest: Hashable, Sendable, JSONMessage {
    package static let currentVersion = 1
    /// Bytes of its frame.
    package static let longest = 64 << 20

    package var version = currentVersion
    /// The inbox's name in the configuration.
    package var inbox: String
    package var addresses: [String]
    /// Fewer at once than the configuration says; nil for as many.
    package var atOnce: Int?
    /// What the service reads in its own configuration: only who has started the other side as a child may say it.
    package var place: FetchPlace?

    package var isKnown: Bool { version == Self.currentVersion }

    package init(inbox: String, addresses: [String], atOnce: Int? = nil, place: FetchPlace? = nil) {
        self.inbox = inbox
        self.addresses = addresses
        self.atOnce = atOnce
        self.place = place
    }
}

/// Where photos are put, and what a download may take.
package struct FetchPlace: Hashable, Sendable, Codable {
    /// The inbox's path, in bytes.
    package var path: [UInt8]
    package var limits: FetchLimits
    /// Bytes that stay free in its file system.
    package var minFree: UInt64

    package init(path: [UInt8], limits: FetchLimits, minFree: UInt64) {
        self.path = path
        self.limits = limits
        self.minFree = minFree
    }
}

/// What may be said after the request.
package struct FetchWord: Hashable, Sendable, JSONMessage {
    /// Bytes of its frame.
    package static let longest = 4 << 10

    /// Which address is not wanted any more, by its place in the request from 0; nil for all.
    package var cancel: Int?

    package init(cancel: Int?) { self.cancel = cancel }
}

/// How far a batch is.
package struct FetchProgress: Hashable, Sendable, Codable {
    package var ended = 0
    package var total = 0
    package var running = 0
    package var bytes: UInt64 = 0

    package init(ended: Int = 0, total: Int = 0, running: Int = 0, bytes: UInt64 = 0) {
        self.ended = ended
        self.total = total
        self.running = running
        self.bytes = bytes
    }
}

/// What the other side says.
package enum FetchReport: Hashable, Sendable, JSONMessage {
    package static let longest = 64 << 20

    /// Nothing is fetched; why.
    case refused(String)
    case progress(FetchProgress)
    /// An address of the request, by its place in it, has ended.
    case ended(Int, FetchEnd)
    /// All have: how many by what became of them, and where in the inbox they are. Nothing comes after it.
    case outcome(FetchOutcome)
}

/// The one outcome of a batch.
package struct FetchOutcome: Hashable, Sendable, Codable {
    package var arrived = 0
    package var failed = 0
    package var cancelled = 0
    package var bytes: UInt64 = 0
    /// The directory in the inbox; nil where nothing has arrived.
    package var directory: String?

    package init() {}
}
