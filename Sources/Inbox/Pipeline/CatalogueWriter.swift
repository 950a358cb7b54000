import Catalogue
import FileValues
import Filing
import PhotoModel
import SystemMonitor

/// A photo that the catalogue has.
struct KnownPhoto: Hashable, Sendable {
    let id: Int64
    let library: BytePath
    /// Relative to the library.
    let path: BytePath
}

/// What is about to be filed.
struct PlannedFiling: Sendable {
    let key: ArrivalKey
    let plan: PlacementPlan
    let photo: PhotoRecord
    let superseding: KnownPhoto?
}

/// A filing that the catalogue knows to be under way.
struct OpenIntent: Sendable {
    let id: Int64
    fileprivate let planned: PlannedFiling
}

/// The only one who writes to the catalogue, on a queue of its own: nobody else ever waits for its disk.
actor CatalogueWriter {
    nonisolated let subsystem: Subsystem
    private nonisolated let executor: QueueExecutor
    let catalogue: Catalogue
    /// Intents that came to nothing and could not be closed then: while they stand, their contents cannot be filed.
    private var abandoned: [Int64] = []
    /// Contents that are being taken back out of the library just now.
    var takingBack: Set<[UInt8]> = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ catalogue: Catalogue, subsystem: Subsystem) {
        self.catalogue = catalogue
        self.subsystem = subsystem
        executor = QueueExecutor(queue: subsystem.queue)
    }

    /// The photo with this content, if it was filed.
    func photo(withHash hash: ContentHash) throws(CatalogueError) -> KnownPhoto? {
        // Neither here nor gone: whoever asks comes again in a second.
        if takingBack.contains(hash.bytes) { throw .beingTakenBack }
        let stored = try perform("looking up a hash") { () throws(CatalogueError) in
            try catalogue.photo(withHash: hash.bytes)
        }
        return stored.map { KnownPhoto(id: $0.id, library: $0.photo.library, path: $0.photo.libraryPath) }
    }

    /// Writes down what is about to happen, before the first byte is copied.
    func begin(_ planned: PlannedFiling) throws(CatalogueError) -> OpenIntent {
        if !abandoned.isEmpty {
            try perform("closing intents") { () throws(CatalogueError) in try catalogue.closeIntents(abandoned) }
            abandoned = []
        }
        let id = try perform("recording an intent") { () throws(CatalogueError) in
            try catalogue.beginIntent(
                token: planned.plan.token,
                temporary: planned.plan.directory.appending(FileNames.temporary(planned.plan.token)),
                photo: planned.photo, since: Moment.now.wall, supersedes: planned.superseding?.id)
        }
        return OpenIntent(id: id, planned: planned)
    }

    /// Records the photo, which stands durably under `path`, in place of `lost` if that was there. Gives back the number
    /// of the operation.
    func commit(
        _ intent: OpenIntent, at path: BytePath, reason: String, keepsSource: Bool, replacing lost: Int64? = nil
    ) throws(CatalogueError) -> Int64 {
        var photo = intent.planned.photo
        photo.libraryPath = path
        let ids = try perform("recording a filing") { () throws(CatalogueError) in
            try catalogue.commitFiling(
                FilingCommit(
                    intent: intent.id, photo: photo, filedAt: Moment.now.wall, reason: reason,
                    keepsSource: keepsSource, supersedes: lost ?? intent.planned.superseding?.id))
        }
        return ids.outcome
    }

    /// The filing is complete: nothing of it has to be recovered. `kept` says why its source stays, if it does, and in
    /// which state.
    func close(
        _ intent: OpenIntent, operation: Int64, kept reason: String?, identity: FileIdentity?
    ) throws(CatalogueError) {
        let photo = intent.planned.photo
        let kept = reason.map {
            KeptSource(
                inbox: photo.inbox, path: photo.sourcePath, identity: identity ?? photo.sourceIdentity,
                since: Moment.now.wall,
                why: $0, sha256: photo.sha256, outcomeID: operation)
        }
        try perform("closing an intent") { () throws(CatalogueError) in
            try catalogue.closeIntents([intent.id], kept: kept.map { [$0] } ?? [])
        }
    }

    /// The filing came to nothing, and nothing of it is left in the library.
    func abandon(_ intent: OpenIntent) {
        do throws(CatalogueError) {
            try perform("closing an intent") { () throws(CatalogueError) in try catalogue.closeIntent(intent.id) }
        } catch {
            // Tried again before the next intent; after a crash, recovery sees that there is nothing to do.
            abandoned.append(intent.id)
        }
    }

    /// What an earlier life left under way in an inbox, oldest first.
    func pendingIntents(inbox: String) throws(CatalogueError) -> [StoredIntent] {
        try perform("reading intents") { () throws(CatalogueError) in try catalogue.pendingIntents() }
            .filter { $0.photo.inbox == inbox }
    }

    /// Records a photo that a crash left in the library unrecorded.
    func commit(recovered intent: StoredIntent, at path: BytePath, keepsSource: Bool) throws(CatalogueError) {
        var photo = intent.photo
        photo.libraryPath = path
        let filing = FilingCommit(
            intent: intent.id, photo: photo, filedAt: Moment.now.wall, reason: "finished after a crash",
            keepsSource: keepsSource)
        do {
            _ = try perform("recording a recovered filing") { () throws(CatalogueError) in
                try catalogue.commitFiling(filing)
            }
        } catch {
            // The same content was recorded by a later try: what stands in the library is that photo.
            guard case .alreadyRecorded = error.code else { throw error }
        }
    }

    /// Whether the photo that lies at `path` of `inbox` is filed, and still to be removed or remembered as kept, or a
    /// move of it is to be finished or undone.
    func isOwed(_ path: BytePath, inbox: String) throws(CatalogueError) -> Bool {
        if try pendingMoves(inbox: inbox).contains(where: { $0.move.path == path }) { return true }
        return try pendingIntents(inbox: inbox).contains { $0.photo.sourcePath == path && $0.step == .recorded }
    }

    /// Forgets an intent of an earlier life, or one that this life could not finish. `identity` is the state in which
    /// its source stays, if it does.
    func close(
        recovered intent: StoredIntent, kept reason: String?, identity: FileIdentity? = nil
    ) throws(CatalogueError) {
        let kept = reason.map {
            KeptSource(
                inbox: intent.photo.inbox, path: intent.photo.sourcePath,
                identity: identity ?? intent.photo.sourceIdentity,
                since: Moment.now.wall, why: $0, sha256: intent.photo.sha256)
        }
        try perform("closing a recovered intent") { () throws(CatalogueError) in
            try catalogue.closeIntents([intent.id], kept: kept.map { [$0] } ?? [])
        }
    }

    /// Writes down what is about to leave its inbox without being filed, before it is moved.
    func begin(_ move: MoveRecord) throws(CatalogueError) -> StoredMove {
        try perform("recording a move") { () throws(CatalogueError) in try catalogue.beginMove(move) }
    }

    /// Forgets a move and records what came of it; the operation's number. `kept` is the identity of a file that stays
    /// in its inbox; nil for both if nothing came of it.
    func finish(
        _ move: StoredMove, destination: BytePath?, kept: FileIdentity?
    ) throws(CatalogueError) -> Int64? {
        let record = move.move
        var outcome: OutcomeRecord?
        if destination != nil || kept != nil {
            outcome = OutcomeRecord(
                at: Moment.now.wall, inbox: record.inbox, path: record.path, outcome: record.outcome,
                reason: record.reason, sha256: record.sha256, photoID: record.photoID, destination: destination)
        }
        let source = kept.map {
            KeptSource(
                inbox: record.inbox, path: record.path, identity: $0, since: Moment.now.wall, why: record.reason,
                sha256: record.sha256)
        }
        return try perform("recording a move's end") { () throws(CatalogueError) in
            try catalogue.finishMove(move.id, outcome: outcome, kept: source)
        }
    }

    /// What an earlier life left half-way out of an inbox, oldest first.
    func pendingMoves(inbox: String) throws(CatalogueError) -> [StoredMove] {
        try perform("reading moves") { () throws(CatalogueError) in try catalogue.pendingMoves(inbox: inbox) }
    }

    /// Records an outcome other than filed; its number. `kept` is the identity of a file that stays in its inbox.
    func record(
        _ ended: EndedArrival, photo: Int64?, sha256: ContentHash?, kept: FileIdentity?
    ) throws(CatalogueError) -> Int64 {
        let stored = OutcomeRecord(
            at: ended.ended.wall, inbox: ended.key.inbox, path: ended.key.path, outcome: OutcomeKind(ended.outcome),
            reason: ended.reason, sha256: sha256?.bytes, photoID: photo, destination: ended.destination)
        let source = kept.map {
            KeptSource(
                inbox: ended.key.inbox, path: ended.key.path, identity: $0, since: ended.ended.wall,
                why: ended.reason, sha256: sha256?.bytes)
        }
        return try perform("recording an outcome") { () throws(CatalogueError) in
            try catalogue.recordOutcome(stored, kept: source)
        }
    }

    /// Whether this state of a file has its outcome already, and stays in its inbox.
    func isKept(_ identity: FileIdentity, inbox: String) throws(CatalogueError) -> Bool {
        try perform("looking up kept sources") { () throws(CatalogueError) in
            try catalogue.isKept(identity, inbox: inbox)
        }
    }

    /// Remembers which directory a library is.
    func remember(_ library: KnownLibrary) throws(CatalogueError) {
        try perform("recording what the library is") { () throws(CatalogueError) in
            try catalogue.remember(library, at: Moment.now.wall)
        }
    }

    func perform<R>(
        _ step: String, _ body: () throws(CatalogueError) -> R
    ) throws(CatalogueError) -> R {
        subsystem.enter(step)
        defer { subsystem.idle() }
        return try body()
    }
}

extension OutcomeKind {
    init(_ outcome: Outcome) {
        self =
            switch outcome {
            case .filed: .filed
            case .duplicate: .duplicate
            case .quarantined: .quarantined
            case .ignored: .ignored
            case .withdrawn: .withdrawn
            }
    }
}
