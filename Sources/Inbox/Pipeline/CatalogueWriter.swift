import Catalogue
import FileValues
import Filing
import LinuxKernel
import PhotoModel
import QueueActors
import SystemMonitor

/// A photo that the catalogue has.
struct KnownPhoto: Hashable, Sendable {
    let id: Int64
    let library: BytePath
    /// Relative to the library.
    let path: BytePath

    init(_ stored: StoredPhoto) {
        id = stored.id
        library = stored.photo.library
        path = stored.photo.libraryPath
    }
}

/// What is about to be filed.
struct PlannedFiling: Sendable {
    let plan: PlacementPlan
    let photo: PhotoRecord
    let superseding: KnownPhoto?
}

/// A filing that the catalogue knows to be under way.
struct OpenIntent: Sendable {
    let id: Int64
    fileprivate let planned: PlannedFiling
}

/// A filing whose copy stands durably under its name.
struct CompletedFiling: Sendable {
    let intent: OpenIntent
    let path: BytePath
    let reason: String
    /// What was filed at `path` and is not there any more.
    var replacing: Int64?
}

/// What the catalogue knows of an arrival before its content is looked at.
struct Standing: Hashable, Sendable {
    /// This state of the file has its outcome already, and stays in its inbox.
    let isKept: Bool
    /// A set was filed that it may belong to.
    let hasSet: Bool
}

/// A filing that is complete. `kept` says why its source stays, if it does, and `identity` in which state.
struct ClosedFiling: Sendable {
    let intent: OpenIntent
    let operation: Int64
    let kept: String?
    let identity: FileIdentity?
}

/// The only one who writes to the catalogue, on a queue of its own: nobody else ever waits for its disk.
actor CatalogueWriter {
    nonisolated let subsystem: Subsystem
    private nonisolated let executor: QueueExecutor
    let catalogue: Catalogue
    /// Intents that came to nothing and could not be closed then: while they stand, their contents cannot be filed.
    private var abandoned: [Int64] = []
    /// Called after files have got their outcomes, on this queue.
    private struct Listener { let call: @Sendable () -> Void }
    private nonisolated let listener = Locked<Listener?>(nil)
    /// Contents that are being taken back out of the library just now.
    var takingBack: Set<[UInt8]> = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ catalogue: Catalogue, subsystem: Subsystem) {
        self.catalogue = catalogue
        self.subsystem = subsystem
        executor = TaskQueue.executor(on: subsystem.queue)
    }

    /// Has `handler` called whenever files have got their outcomes; it must wait for nobody. From any thread.
    nonisolated func whenOutcomesAreRecorded(_ handler: @escaping @Sendable () -> Void) {
        listener.withLock { $0 = Listener(call: handler) }
    }

    /// The photo with this content, if it was filed.
    func photo(withHash hash: ContentHash) throws(CatalogueError) -> StoredPhoto? {
        // Neither here nor gone: whoever asks comes again in a second.
        if takingBack.contains(hash.bytes) { throw .beingTakenBack }
        return try perform("looking up a hash") { () throws(CatalogueError) in try catalogue.photo(withHash: hash.bytes)
        }
    }

    /// What is known of a file with this identity, and these keys of its set.
    func standing(
        of identity: FileIdentity, inbox: String, keys: [SetKey]
    ) throws(CatalogueError) -> Standing {
        try perform("looking up an arrival") { () throws(CatalogueError) in
            Standing(
                isKept: try catalogue.isKept(identity, inbox: inbox),
                hasSet: try catalogue.hasFiledSet(inbox: inbox, keys: keys.map(\.bytes)))
        }
    }

    /// The set that was filed last of those that fit.
    func filedSet(_ query: SetQuery) throws(CatalogueError) -> [StoredPhoto] {
        try perform("looking for a set") { () throws(CatalogueError) in try catalogue.filedSet(query) }
    }

    /// All of a photo's set.
    func set(of photo: StoredPhoto) throws(CatalogueError) -> [StoredPhoto] {
        try perform("looking for a set") { () throws(CatalogueError) in try catalogue.photos(inSetOf: photo) }
    }

    /// With what lately came what in an inbox.
    func history(of inbox: String) throws(CatalogueError) -> PairHistory {
        let rows = try perform("looking for sets") { () throws(CatalogueError) in
            try catalogue.recentRoles(inbox: inbox, limit: 4 * PairHistory.length)
        }
        var sets: [(number: Int64, roles: [SetRole])] = []
        for row in rows.reversed() {
            guard let role = SetRole(code: row.role) else { continue }
            if let index = sets.firstIndex(where: { $0.number == row.set }) {
                sets[index].roles.append(role)
            } else {
                sets.append((row.set, [role]))
            }
        }
        var history = PairHistory()
        for set in sets { history.filed(set.roles) }
        return history
    }

    /// Writes down what is about to happen, before the first byte is copied: several are a set, to be filed as one.
    func begin(_ planned: [PlannedFiling], joining anchor: Int64?) async throws(CatalogueError) -> [OpenIntent] {
        if !abandoned.isEmpty {
            let ids = abandoned
            _ = try await submit(.close(ids, kept: []))
            abandoned.removeAll { ids.contains($0) }
        }
        let since = Moment.now.wall
        let token = planned.count > 1 ? planned.first?.plan.token : nil
        let intents = planned.map { filing in
            NewIntent(
                token: filing.plan.token,
                temporary: filing.plan.directory.appending(FileNames.temporary(filing.plan.token)),
                photo: filing.photo, since: since, supersedes: filing.superseding?.id, setToken: token, joins: anchor,
                numberAfter: filing.plan.numberAfter)
        }
        guard case .begun(let ids) = try await submit(.begin(intents)) else { return [] }
        return zip(ids, planned).map { OpenIntent(id: $0, planned: $1) }
    }

    /// Records photos, which stand durably under their names, as one. Gives back the numbers of the operations.
    func commit(
        _ filings: [CompletedFiling], joining anchor: Int64?, keepsSource: Bool
    ) async throws(CatalogueError) -> [Int64] {
        let now = Moment.now.wall
        let commits = filings.map { filing in
            var photo = filing.intent.planned.photo
            photo.libraryPath = filing.path
            return FilingCommit(
                intent: filing.intent.id, photo: photo, filedAt: now, reason: filing.reason, keepsSource: keepsSource,
                supersedes: [filing.intent.planned.superseding?.id, filing.replacing].compactMap(\.self))
        }
        let set = anchor.map { SetPlace.joining(photo: $0) } ?? .new
        guard case .committed(let ids) = try await submit(.commit(commits, set: set)) else { return [] }
        return ids.map(\.outcome)
    }

    /// The photo with this number.
    func photo(id: Int64) throws(CatalogueError) -> StoredPhoto? {
        try perform("looking up a photo") { () throws(CatalogueError) in try catalogue.photo(id: id) }
    }

    /// The filings are complete: nothing of them has to be recovered.
    func close(_ filings: [ClosedFiling]) async throws(CatalogueError) {
        let kept = filings.compactMap { filing in
            let photo = filing.intent.planned.photo
            return filing.kept.map {
                KeptSource(
                    inbox: photo.inbox, path: photo.sourcePath, identity: filing.identity ?? photo.sourceIdentity,
                    since: Moment.now.wall, why: $0, sha256: photo.sha256, outcomeID: filing.operation)
            }
        }
        _ = try await submit(.close(filings.map(\.intent.id), kept: kept))
    }

    /// The filings came to nothing, and nothing of them is left in the library.
    func abandon(_ intents: [OpenIntent]) async {
        do throws(CatalogueError) { _ = try await submit(.close(intents.map(\.id), kept: [])) } catch {
            // Tried again before the next intent; after a crash, recovery sees that there is nothing to do.
            abandoned += intents.map(\.id)
        }
    }

    /// What an earlier life left under way in an inbox, oldest first.
    func pendingIntents(inbox: String) throws(CatalogueError) -> [StoredIntent] {
        try perform("reading intents") { () throws(CatalogueError) in try catalogue.pendingIntents() }
            .filter { $0.photo.inbox == inbox }
    }

    /// Records a photo that a crash left in the library unrecorded, in place of the photos `old`. Throws
    /// ``CatalogueError/Code/alreadyRecorded(photo:)`` or ``CatalogueError/Code/pathTaken(photo:)`` if there is one with
    /// the same content or at the same place.
    func commit(
        recovered intent: StoredIntent, at path: BytePath, keepsSource: Bool, superseding old: [Int64]
    ) throws(CatalogueError) {
        var photo = intent.photo
        photo.libraryPath = path
        let filing = FilingCommit(
            intent: intent.id, photo: photo, filedAt: Moment.now.wall, reason: "finished after a crash",
            keepsSource: keepsSource, supersedes: old)
        _ = try perform("recording a recovered filing") { () throws(CatalogueError) in
            try catalogue.commitFilings([filing], set: intent.joins.map { .joining(photo: $0) })
        }
        tellOutcomes()
    }

    /// Whether the photo that lies at `path` of `inbox` is filed, and still to be removed or remembered as kept, or a
    /// move of it is to be finished or undone.
    func isOwed(_ path: BytePath, inbox: String) throws(CatalogueError) -> Bool {
        if try pendingMoves(inbox: inbox).contains(where: { $0.move.path == path }) { return true }
        return try pendingIntents(inbox: inbox).contains { $0.photo.sourcePath == path && $0.step == .recorded }
    }

    /// The same for a set, all or nothing.
    func commit(
        recovered filings: [(intent: StoredIntent, path: BytePath)], keepsSource: Bool
    ) throws(CatalogueError) {
        let now = Moment.now.wall
        let commits = filings.map { filing in
            var photo = filing.intent.photo
            photo.libraryPath = filing.path
            return FilingCommit(
                intent: filing.intent.id, photo: photo, filedAt: now, reason: "finished after a crash",
                keepsSource: keepsSource)
        }
        let set = filings.first?.intent.joins.map { SetPlace.joining(photo: $0) } ?? .new
        _ = try perform("recording a recovered set") { () throws(CatalogueError) in
            try catalogue.commitFilings(commits, set: set)
        }
        tellOutcomes()
    }

    /// Whether `photo`'s content is recorded at this place of its library.
    func isRecorded(_ photo: PhotoRecord, at path: BytePath) throws(CatalogueError) -> Bool {
        try perform("looking up a place") { () throws(CatalogueError) in
            try catalogue.photo(library: photo.library, path: path)?.photo.sha256 == photo.sha256
        }
    }

    /// Forgets intents of an earlier life whose filing came to nothing.
    func close(undone intents: [StoredIntent]) throws(CatalogueError) {
        try perform("closing recovered intents") { () throws(CatalogueError) in
            try catalogue.closeIntents(intents.map(\.id))
        }
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
        defer { tellOutcomes() }
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
    ) async throws(CatalogueError) -> Int64 {
        let stored = OutcomeRecord(
            at: ended.ended.wall, inbox: ended.key.inbox, path: ended.key.path, outcome: OutcomeKind(ended.outcome),
            reason: ended.reason, sha256: sha256?.bytes, photoID: photo, destination: ended.destination)
        let source = kept.map {
            KeptSource(
                inbox: ended.key.inbox, path: ended.key.path, identity: $0, since: ended.ended.wall,
                why: ended.reason, sha256: sha256?.bytes)
        }
        guard case .recorded(let ids) = try await submit(.record([stored], kept: source.map { [$0] } ?? [])),
            let id = ids.first
        else { return 0 }
        return id
    }

    /// Throws what recording a photo would run into now.
    func tryWriting() throws(CatalogueError) {
        try perform("trying whether it can be written to") { () throws(CatalogueError) in
            try catalogue.tryWriting(at: Moment.now.wall)
        }
    }

    /// Whether the open file is not at its path any more.
    func loss() -> CatalogueError? {
        subsystem.enter("looking at its file")
        defer { subsystem.idle() }
        return catalogue.loss()
    }

    /// Writes it to its path again; where what lay there is now, if anything did.
    func restore() throws(CatalogueError) -> String? {
        try perform("writing it anew") { () throws(CatalogueError) in try catalogue.restore(at: Moment.now.wall) }
    }

    /// Remembers which directory a library is.
    func remember(_ library: KnownLibrary) throws(CatalogueError) {
        try perform("recording what the library is") { () throws(CatalogueError) in
            try catalogue.remember(library, at: Moment.now.wall)
        }
    }

    // MARK: - Together

    private struct Request {
        let change: CatalogueChange
        let answer: CheckedContinuation<Result<CatalogueAnswer, CatalogueError>, Never>
    }

    private var waiting: [Request] = []
    /// How many were needed so far.
    private(set) var transactions = 0

    /// Makes a change together with all others that wait: each transaction waits for the disk, and what comes meanwhile
    /// shares the next one's wait.
    func submit(_ change: CatalogueChange) async throws(CatalogueError) -> CatalogueAnswer {
        let result = await withCheckedContinuation { answer in
            waiting.append(Request(change: change, answer: answer))
            // Behind what has come by now: that joins in.
            if waiting.count == 1 { subsystem.queue.async { self.assumeIsolated { $0.makeChanges() } } }
        }
        return try result.get()
    }

    private func makeChanges() {
        let requests = waiting
        waiting = []
        transactions += 1
        subsystem.enter("recording \(requests.count == 1 ? "a change" : "\(requests.count) changes")")
        let results: [Result<CatalogueAnswer, CatalogueError>]
        do { results = try catalogue.perform(requests.map(\.change)) } catch {
            results = Array(repeating: .failure(error), count: requests.count)
        }
        subsystem.idle()
        for (request, result) in zip(requests, results) { request.answer.resume(returning: result) }
        if requests.contains(where: { $0.change.makesOutcomes }) { tellOutcomes() }
    }

    private func tellOutcomes() { listener.withLock { $0 }?.call() }

    func perform<R>(
        _ step: String, _ body: () throws(CatalogueError) -> R
    ) throws(CatalogueError) -> R {
        subsystem.enter(step)
        defer { subsystem.idle() }
        return try body()
    }
}

extension CatalogueChange {
    /// Whether files have their outcomes by it.
    fileprivate var makesOutcomes: Bool {
        switch self {
        case .commit, .record: true
        case .begin, .close, .hook: false
        }
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
