package import FileValues
package import FleetRules

/// When a photo was taken, as recorded; never converted to a guessed instant.
package struct RecordedCaptureDate: Hashable, Sendable {
    /// Local time, `2026-11-21T14:07:31`, or a date alone; sorts as text.
    package var local: String
    /// The offset of that time in seconds east of UTC, if recorded.
    package var offset: Int32?
    /// The source: `EXIF DateTimeOriginal`, `file time`.
    package var provenance: String

    package init(local: String, offset: Int32? = nil, provenance: String) {
        self.local = local
        self.offset = offset
        self.provenance = provenance
    }
}

/// The facts recorded of a photo when it is filed.
package struct PhotoRecord: Hashable, Sendable {
    /// The hash of the whole file, 32 bytes.
    package var sha256: [UInt8]
    /// Bytes.
    package var size: UInt64
    /// The library's root as configured, or the address of the bucket that it was moved to.
    package var library: BytePath
    /// Its path relative to ``library``.
    package var libraryPath: BytePath
    /// The configured name of its inbox.
    package var inbox: String
    /// Its path relative to the inbox.
    package var sourcePath: BytePath
    /// Its name in the inbox.
    package var originalName: BytePath
    /// The format's stable name: `jpeg`.
    package var format: String
    package var captured: RecordedCaptureDate?
    /// Pixels.
    package var width: UInt32?
    /// Pixels.
    package var height: UInt32?
    /// 1 to 8, as in EXIF.
    package var orientation: UInt8?
    package var camera: String?
    /// The evidence that it was complete: `no writer left (lease), ends with its end marker`.
    package var proof: String
    /// The source as it was examined.
    package var sourceIdentity: FileIdentity
    /// Its role and keys in a set, actual or possible.
    package var part = SetPart()
    /// Whether it was moved to a bucket: no directory of a library has it.
    package var isInBucket: Bool { !library.isAbsolute }
    /// The address it was downloaded from according to its file's attributes; shown, but never trusted.
    package var origin: String?

    package init(
        sha256: [UInt8], size: UInt64, library: BytePath, libraryPath: BytePath, inbox: String, sourcePath: BytePath,
        originalName: BytePath, format: String, captured: RecordedCaptureDate? = nil, width: UInt32? = nil,
        height: UInt32? = nil, orientation: UInt8? = nil, camera: String? = nil, proof: String,
        sourceIdentity: FileIdentity, part: SetPart = SetPart(), origin: String? = nil
    ) {
        self.part = part
        self.origin = origin
        self.sha256 = sha256
        self.size = size
        self.library = library
        self.libraryPath = libraryPath
        self.inbox = inbox
        self.sourcePath = sourcePath
        self.originalName = originalName
        self.format = format
        self.captured = captured
        self.width = width
        self.height = height
        self.orientation = orientation
        self.camera = camera
        self.proof = proof
        self.sourceIdentity = sourceIdentity
    }
}

/// A file's role in a set, and the keys by which other files find the set.
package struct SetPart: Hashable, Sendable {
    /// The role of a file that belongs to others and is no photo itself. Many sidecars may have the same bytes.
    package static let sidecar = "sidecar"

    /// `raw`, `picture`, `film` or ``sidecar``; nil for what was filed before sets were known.
    package var role: String?
    /// The identifier that a Live Photo's picture and film share.
    package var contentIdentifier: String?
    /// Directory and stem, folded.
    package var key: [UInt8]?
    /// The key of a name that programs shorten.
    package var shortKey: [UInt8]?

    package init(
        role: String? = nil, contentIdentifier: String? = nil, key: [UInt8]? = nil, shortKey: [UInt8]? = nil
    ) {
        self.role = role
        self.contentIdentifier = contentIdentifier
        self.key = key
        self.shortKey = shortKey
    }

    package var isSidecar: Bool { role == Self.sidecar }
}

/// The set that filed photos join.
package enum SetPlace: Hashable, Sendable {
    /// A new set, if there are several files.
    case new
    /// The set of this photo, which may be alone until now.
    case joining(photo: Int64)
}

/// The row of a photo.
package struct StoredPhoto: Hashable, Sendable {
    package let id: Int64
    /// The set's number; nil if it is alone.
    package let setID: Int64?
    package let filedAt: FileTime
    /// Whether the source stayed in its inbox, by policy or because it could not be removed.
    package let sourceKept: Bool
    /// When it stopped counting as filed: another row replaced it, because the library's copy was missing or damaged,
    /// or it was undone or struck.
    package let supersededAt: FileTime?
    /// The row that replaced it.
    package var supersededBy: Int64?
    /// The request that undid it.
    package var undoneBy: Int64?
    /// The operation that filed it, whose number people use; nil if the query did not select it.
    package var operation: Int64?
    package var photo: PhotoRecord

    /// Whether its record was struck because its file was missing.
    package var wasStruck: Bool { supersededAt != nil && supersededBy == nil && undoneBy == nil }
}

/// The row of a filing under way: inserted before the first byte is copied, deleted after the source is removed.
package struct StoredIntent: Hashable, Sendable {
    package typealias Step = IntentStep

    package let id: Int64
    /// Names its temporaries.
    package let token: String
    package let since: FileTime
    package let step: Step
    /// The temporary's path relative to the library, if it has a name.
    package let temporary: BytePath
    /// The photo, once recorded.
    package let photoID: Int64?
    /// The planned row; with the actual path once recorded.
    package let photo: PhotoRecord
    /// The token shared by all files of a set that are filed together; nil if it is filed alone.
    package let setToken: String?
    /// The photo whose set it joins.
    package let joins: Int64?
    /// The offset in its name at which a number is inserted if the name is taken, in bytes; nil for the default.
    package let numberAfter: Int?
}

/// An arrival's outcome. Raw values are stored and never change.
package enum OutcomeKind: String, Hashable, Sendable, CaseIterable {
    case filed, duplicate, quarantined, ignored, withdrawn
}

/// The outcome of one arrival, with its circumstances.
package struct OutcomeRecord: Hashable, Sendable {
    package var at: FileTime
    package var inbox: String
    /// Relative to the inbox.
    package var path: BytePath
    package var outcome: OutcomeKind
    /// The reason and the rule that decided.
    package var reason: String
    package var sha256: [UInt8]?
    /// The photo that was filed, or that this is a duplicate of.
    package var photoID: Int64?
    /// The file's new path, if it was moved or copied.
    package var destination: BytePath?

    package init(
        at: FileTime, inbox: String, path: BytePath, outcome: OutcomeKind, reason: String, sha256: [UInt8]? = nil,
        photoID: Int64? = nil, destination: BytePath? = nil
    ) {
        self.at = at
        self.inbox = inbox
        self.path = path
        self.outcome = outcome
        self.reason = reason
        self.sha256 = sha256
        self.photoID = photoID
        self.destination = destination
    }
}

/// The row of an outcome. Its identifier is the operation's number in `show` and `undo`.
package struct StoredOutcome: Hashable, Sendable {
    package let id: Int64
    package let outcome: OutcomeRecord
}

/// A file that stays in its inbox after its outcome, recorded so that it does not count as a new arrival.
package struct KeptSource: Hashable, Sendable {
    package var inbox: String
    /// Relative to the inbox.
    package var path: BytePath
    package var identity: FileIdentity
    package var since: FileTime
    /// `copy mode`, `cannot be removed: …`, `ignored`, `quarantined in place`.
    package var why: String
    package var sha256: [UInt8]?
    package var outcomeID: Int64?

    package init(
        inbox: String, path: BytePath, identity: FileIdentity, since: FileTime, why: String, sha256: [UInt8]? = nil,
        outcomeID: Int64? = nil
    ) {
        self.inbox = inbox
        self.path = path
        self.identity = identity
        self.since = since
        self.why = why
        self.sha256 = sha256
        self.outcomeID = outcomeID
    }
}
