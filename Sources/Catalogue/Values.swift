package import FileValues

/// When a photo was taken, as far as known. Kept as it was recorded, never as a guess at an instant.
package struct CaptureDate: Hashable, Sendable {
    /// The clock's time, `2026-11-21T14:07:31`, or a date alone; sorts by itself.
    package var local: String
    /// How many seconds east of UTC that clock was, if recorded.
    package var offset: Int32?
    /// Where it comes from: `EXIF DateTimeOriginal`, `file time`.
    package var provenance: String

    package init(local: String, offset: Int32? = nil, provenance: String) {
        self.local = local
        self.offset = offset
        self.provenance = provenance
    }
}

/// Everything that is known of a photo when it is filed.
package struct PhotoRecord: Hashable, Sendable {
    /// 32 bytes; that of the whole file.
    package var sha256: [UInt8]
    /// Bytes.
    package var size: UInt64
    /// The library's root as configured.
    package var library: BytePath
    /// Where it lies, relative to ``library``.
    package var libraryPath: BytePath
    /// The inbox it came to, by its configured name.
    package var inbox: String
    /// Where it lay, relative to the inbox.
    package var sourcePath: BytePath
    /// Its name there.
    package var originalName: BytePath
    /// The format's stable name: `jpeg`.
    package var format: String
    package var captured: CaptureDate?
    /// Pixels.
    package var width: UInt32?
    /// Pixels.
    package var height: UInt32?
    /// 1 to 8, as EXIF counts.
    package var orientation: UInt8?
    package var camera: String?
    /// What showed that it was complete: `no writer left (lease), ends with its end marker`.
    package var proof: String
    /// The source as it was examined.
    package var sourceIdentity: FileIdentity
    /// What it is in its set, or could be.
    package var part = SetPart()
    /// The address that it was downloaded from, as its file said; never believed, only shown.
    package var origin: String?

    package init(
        sha256: [UInt8], size: UInt64, library: BytePath, libraryPath: BytePath, inbox: String, sourcePath: BytePath,
        originalName: BytePath, format: String, captured: CaptureDate? = nil, width: UInt32? = nil,
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

/// What a file is in a set, and by what others of it find it.
package struct SetPart: Hashable, Sendable {
    /// The role of a file that goes with others and is nothing by itself: of those, many may have the same bytes.
    package static let sidecar = "sidecar"

    /// `raw`, `picture`, `film` or ``sidecar``; nil for what was filed before sets were known.
    package var role: String?
    /// What a Live Photo's picture and film share.
    package var contentIdentifier: String?
    /// Directory and stem, folded.
    package var key: [UInt8]?
    /// The same of a name that programs shorten.
    package var shortKey: [UInt8]?

    package init(
        role: String? = nil, contentIdentifier: String? = nil, key: [UInt8]? = nil, shortKey: [UInt8]? = nil
    ) {
        self.role = role
        self.contentIdentifier = contentIdentifier
        self.key = key
        self.shortKey = shortKey
    }

    /// Whether it is a sidecar.
    package var isSidecar: Bool { role == Self.sidecar }
}

/// To which set what is filed belongs.
package enum SetPlace: Hashable, Sendable {
    /// One of its own, if it is more than one file.
    case new
    /// That of this photo, which may have been alone until now.
    case joining(photo: Int64)
}

/// A photo of the catalogue.
package struct StoredPhoto: Hashable, Sendable {
    package let id: Int64
    /// The number that all of its set share; nil if it is alone.
    package let setID: Int64?
    package let filedAt: FileTime
    /// Whether the source stayed in its inbox, by policy or because it could not be removed.
    package let sourceKept: Bool
    /// When it left the list of what the library holds: another row took its place, because the library's copy was missing
    /// or damaged, or it was taken back, or struck.
    package let supersededAt: FileTime?
    /// The row that took its place.
    package var supersededBy: Int64?
    /// The request that took it back out of the library, if it was that.
    package var undoneBy: Int64?
    /// The operation that filed it, by whose number people know it; nil where it was not asked for.
    package var operation: Int64?
    package let photo: PhotoRecord

    /// Whether its record was struck, since its file was nowhere.
    package var wasStruck: Bool { supersededAt != nil && supersededBy == nil && undoneBy == nil }
}

/// A filing under way: written before the first byte is copied, gone when the source is.
package struct StoredIntent: Hashable, Sendable {
    /// How far it came.
    package enum Step: String, Hashable, Sendable {
        /// Nothing is recorded; a copy may stand in the library or not.
        case begun
        /// Photo and outcome are recorded; the source may still be there.
        case recorded
    }

    package let id: Int64
    /// Names its temporaries.
    package let token: String
    package let since: FileTime
    package let step: Step
    /// The temporary's path relative to the library, if it has a name.
    package let temporary: BytePath
    /// The photo, once recorded.
    package let photoID: Int64?
    /// The row to be, with the planned path; with the real one once recorded.
    package let photo: PhotoRecord
    /// What all have that are filed together, as one; nil if it is filed alone.
    package let setToken: String?
    /// The photo whose set it joins.
    package let joins: Int64?
    /// How many bytes of its name are before the number that it gets if names are taken; nil for the usual place.
    package let numberAfter: Int?
}

/// What became of an arrival. Raw values are stored and never change.
package enum OutcomeKind: String, Hashable, Sendable, CaseIterable {
    case filed, duplicate, quarantined, ignored, withdrawn
}

/// One arrival's outcome.
package struct OutcomeRecord: Hashable, Sendable {
    package var at: FileTime
    package var inbox: String
    /// Relative to the inbox.
    package var path: BytePath
    package var outcome: OutcomeKind
    /// Why so, and which rule decided.
    package var reason: String
    package var sha256: [UInt8]?
    /// The photo that was filed, or that this is a duplicate of.
    package var photoID: Int64?
    /// Where the file went, if anywhere.
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

/// An outcome of the catalogue; its identifier is the operation that people name in `show` and `undo`.
package struct StoredOutcome: Hashable, Sendable {
    package let id: Int64
    package let outcome: OutcomeRecord
}

/// A file that stays in its inbox though it has its outcome, so that it is not taken for a new arrival.
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
