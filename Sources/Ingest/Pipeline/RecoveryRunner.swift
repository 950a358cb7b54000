import Catalogue
import FileValues
import Filing
import FleetRules
import LinuxKernel
import QueueActors

/// Finishes or undoes what was interrupted: filings, moves and requests of an earlier life, or of this one where a step
/// failed. On the inbox's queue.
final class RecoveryRunner {
    private let inbox: InboxContext
    private let mover: Mover
    private let requests: RequestRunner
    /// Called with paths of sources whose copies are lost: no event reports them again.
    private let examineAgain: (BytePath) -> Void
    /// One at a time: two could both find what one has finished.
    private var isRunning = false

    private var spec: InboxSpec { inbox.spec }
    /// What recovers filings.
    private var recovery: Recovery {
        Recovery(probe: inbox.probe, requirePlace: inbox.directories.requireLibrary)
    }

    init(
        _ inbox: InboxContext, _ mover: Mover, _ requests: RequestRunner, examineAgain: @escaping (BytePath) -> Void
    ) {
        self.inbox = inbox
        self.mover = mover
        self.requests = requests
        self.examineAgain = examineAgain
    }

    /// Finishes or undoes each filing, move and request that was interrupted. Doing it twice changes nothing. What cannot
    /// be finished now keeps its row, holds up none of the others, and is tried again (``PendingRecovery``).
    nonisolated(nonsending) func run() async -> [Symptom] {
        if isRunning { return [] }
        isRunning = true
        defer {
            isRunning = false
            let isPending = inbox.recovery.withLock { recovery in
                recovery.end(now: .now)
                return recovery.isPending
            }
            // The others were undone.
            if !isPending { inbox.unanswered = [] }
            inbox.subsystem.idle()
        }
        inbox.recovery.withLock { $0.begin() }
        var symptoms: [Symptom] = []
        do {
            let name = spec.name
            try await inbox.catalogue.perform("serving an inbox") { try $0.claimInbox(name) }
            for set in try await pendingIntents().bySet where !set.contains(where: { isUnderWay($0.token) }) {
                inbox.subsystem.enter("recovering \(name)/\(set[0].photo.sourcePath.escaped)")
                // What was under way when it was read has been recorded or closed since.
                let set = try await readAgain(set)
                guard let first = set.first else { continue }
                do {
                    try await giveUpDistrusted(set)
                    symptoms += set.count > 1 ? try await recover(set) : try await recover(first)
                } catch { symptoms += failed(error) }
            }
            let moves = try await inbox.catalogue.perform("reading moves") { try $0.pendingMoves(inbox: name) }
            for move in moves where !isUnderWay(move.move.token) {
                inbox.subsystem.enter("recovering \(name)/\(move.move.path.escaped)")
                do { try await mover.recover(move) } catch { symptoms += failed(error) }
            }
            let pending = try await inbox.catalogue.perform("reading requests") { try $0.pendingRequests(inbox: name) }
            for request in pending where request.request.move.map({ !isUnderWay($0.token) }) ?? true {
                inbox.subsystem.enter("recovering what request \(request.id) asked for")
                do { try await requests.recover(request) } catch { symptoms += failed(error) }
            }
        } catch { symptoms += failed(error) }
        return symptoms
    }

    private func isUnderWay(_ token: String) -> Bool { inbox.underWay.keys.contains(token) }

    /// What failed is a symptom, and tried again.
    private func failed(_ error: any Error) -> [Symptom] {
        if (error as? CatalogueError)?.code == .inboxOfAnother { inbox.isInboxAway = true }
        // For another daemon, or another copy: nothing was refused.
        var isWaiting = error is Waiting
        if let error = error as? CatalogueError, case .beingFiled = error.code { isWaiting = true }
        if isWaiting {
            inbox.recovery.withLock { $0.require(because: "\(error)") }
            return []
        }
        inbox.requireRecovery(after: error)
        return inbox.symptoms(of: error)
    }

    private nonisolated(nonsending) func pendingIntents() async throws(CatalogueError) -> [StoredIntent] {
        try await inbox.catalogue.perform("reading intents") { [name = spec.name] in
            try $0.pendingIntents(inbox: name)
        }
    }

    private nonisolated(nonsending) func readAgain(_ set: [StoredIntent]) async throws(CatalogueError) -> [StoredIntent]
    {
        let ids = set.map(\.id)
        return try await inbox.catalogue.perform("reading intents") { file in
            try ids.compactMap { try file.pendingIntent($0) }
        }
    }

    /// The row of a filing that is recorded after a crash.
    private func commit(
        of intent: StoredIntent, at path: BytePath, superseding old: [Int64] = [],
        filedAt now: FileTime = Moment.now.wall
    ) -> FilingCommit {
        var photo = intent.photo
        photo.libraryPath = path
        return FilingCommit(
            intent: intent.id, photo: photo, filedAt: now, reason: "finished after a crash",
            keepsSource: !spec.removesSources, supersedes: old)
    }

    /// Whether `photo`'s content is recorded at this place of its library.
    private nonisolated(nonsending) func isRecorded(_ photo: PhotoRecord, at path: BytePath) async throws -> Bool {
        try await self.photo(like: photo, at: path) != nil
    }

    private nonisolated(nonsending) func photo(like photo: PhotoRecord, at path: BytePath) async throws -> Int64? {
        try await inbox.catalogue.perform("looking up a place") {
            let found = try $0.photo(library: photo.library, path: path)
            return found?.photo.sha256 == photo.sha256 ? found?.id : nil
        }
    }

    /// Closes an intent. `identity` is the state in which its source stays, if it does.
    private nonisolated(nonsending) func close(
        _ intent: StoredIntent, kept reason: String? = nil, identity: FileIdentity? = nil
    ) async throws {
        let kept = reason.map {
            KeptSource(
                inbox: intent.photo.inbox, path: intent.photo.sourcePath,
                identity: identity ?? intent.photo.sourceIdentity,
                since: Moment.now.wall, why: $0, sha256: intent.photo.sha256)
        }
        try await inbox.catalogue.close([intent.id], kept: kept.map { [$0] } ?? [])
    }

    /// A set that was being filed: all copies there and whole, then all are recorded; else those that are there are taken
    /// back, if their source stands whole in the inbox. Recorded, each source is seen to.
    private nonisolated(nonsending) func recover(_ set: [StoredIntent]) async throws -> [Symptom] {
        let library = try inbox.directories.library()
        let directory = try inbox.directories.openInbox()
        let set = try await begunAgain(set, in: library)
        var symptoms: [Symptom] = []
        var found: [(intent: StoredIntent, path: BytePath)] = []
        var undone: [StoredIntent] = []
        var anchor = set.first?.joins
        for intent in IntentRules.order.flatMap({ step in set.filter { $0.step == step } }) {
            guard intent.step == .begun, let pending = PendingFiling(intent) else {
                symptoms += try await recover(intent, joining: anchor)
                if anchor == nil { anchor = try await claims(of: intent).photo?.id }
                continue
            }
            switch try recovery.recover(pending, inbox: directory.descriptor, library: library) {
            case .placed(let first):
                if let path = try await copy(of: intent, pending, foundFirst: first, in: library) {
                    found.append((intent, path))
                } else {
                    undone.append(intent)
                }
            case .undone, .finished, .sourceKept, .sourceReplaced, .copyDamaged: undone.append(intent)
            }
        }
        if library.isShared, let anchor {
            let others = try await inbox.catalogue.perform("looking for a set") { file in
                try file.photo(id: anchor).map { try file.photos(inSetOf: $0) } ?? []
            }
            for (intent, path) in found where intent.photo.part.isSidecar {
                // Another daemon has filed the set, with its sidecar.
                guard let pending = PendingFiling(intent),
                    let same = others.first(where: { $0.photo.isSidecar(like: intent.photo) }),
                    try await giveUp([path], of: intent, pending, for: same.id, in: library)
                else { continue }
                undone.append(intent)
                found.removeAll { $0.intent.id == intent.id }
            }
        }
        if undone.isEmpty, !found.isEmpty {
            do {
                // One time, as of what is filed at once.
                let now = Moment.now.wall
                _ = try await inbox.catalogue.commit(
                    found.map { commit(of: $0.intent, at: $0.path, filedAt: now) },
                    set: anchor.map { .joining(photo: $0) } ?? .new)
                // The same as if it had been recorded before the crash.
                for intent in try await pendingIntents()
                where found.contains(where: { $0.intent.id == intent.id }) {
                    symptoms += try await recover(intent)
                }
                return symptoms
            } catch let error as CatalogueError {
                switch error.code {
                // One of them was recorded by a later try, so this set is none any more; or it was to take the place of a
                // photo whose copy is lost, which filing it again sees to.
                case .alreadyRecorded, .pathTaken: break
                default: throw error
                }
            }
        }
        for (intent, path) in found {
            guard let pending = PendingFiling(intent) else { continue }
            if try await isRecorded(intent.photo, at: path) {
                // The first of equal files may be another daemon's: no copy of its own stays.
                if library.isShared, let other = try await photo(like: intent.photo, at: path),
                    try await !giveUp(
                        recovery.findCopies(of: pending, in: library), of: intent, pending, for: other, in: library)
                {
                    continue
                }
                undone.append(intent)
            } else if !library.isShared,
                try recovery.takeBack(pending, at: path, inbox: directory.descriptor, in: library)
            {
                undone.append(intent)
            } else {
                // The only copy there is, or one that another daemon may know: it stays, and is recorded by itself. The others
                // of its set join it when they are filed again.
                symptoms += try await recover(intent, joining: anchor)
                if library.isShared, anchor == nil { anchor = try await claims(of: intent).photo?.id }
            }
        }
        try await inbox.catalogue.close(undone.map(\.id))
        return symptoms
    }

    /// A filing by itself, or as one of the set of the photo `anchor`.
    private nonisolated(nonsending) func recover(
        _ intent: StoredIntent, joining anchor: Int64? = nil
    ) async throws -> [Symptom] {
        guard let hash = ContentHash(intent.photo.sha256) else { return [] }
        if intent.step == .lost {
            try await recoverLost(intent, joining: anchor)
            return []
        }
        let library = try inbox.directories.library()
        let directory = try inbox.directories.openInbox()
        var path = intent.photo.libraryPath
        var isRecorded = intent.step == .recorded
        // At most twice: a copy that stands unrecorded is recorded, then its source is seen to.
        for _ in 0..<2 {
            let pending = PendingFiling(
                token: intent.token, source: intent.photo.sourcePath, identity: intent.photo.sourceIdentity, hash: hash,
                destination: path, isRecorded: isRecorded, numberAfter: intent.numberAfter)
            if isRecorded, !spec.removesSources {
                try await close(intent, kept: "mode = \"copy\"")
                return []
            }
            // Before the watch can report that its source is gone.
            if isRecorded, inbox.unanswered.remove(intent.token) != nil {
                let filing = FinishedFiling(source: intent.photo.sourceIdentity, destination: path, hash: hash)
                inbox.finished.withLock { $0.add(filing, of: intent.photo.sourcePath) }
            }
            switch try recovery.recover(pending, inbox: directory.descriptor, library: library) {
            case .placed(let first):
                guard let found = try await copy(of: intent, pending, foundFirst: first, in: library) else {
                    try await close(intent)
                    return []
                }
                guard try await record(intent, pending, at: found, anchor, directory.descriptor, library) else {
                    try await close(intent)
                    return []
                }
                path = found
                isRecorded = true
            case .undone, .finished, .sourceReplaced:
                try await close(intent)
                return []
            case .sourceKept(let error):
                // A name that was given back has another time of change.
                let now = try? FileStatus(of: intent.photo.sourcePath, beneath: directory.descriptor).identity
                let before = intent.photo.sourceIdentity
                try await close(
                    intent, kept: "it cannot be removed: \(error)",
                    identity: now.flatMap { $0.hasSameContent(as: before) ? $0 : nil })
                return [
                    .sourceKept(
                        inbox: spec.name, directory: intent.photo.sourcePath.parent, reason: "\(error)")
                ]
            case .copyDamaged:
                inbox.finished.withLock { $0[intent.photo.sourcePath] = nil }
                try await close(intent)
                examineAgain(intent.photo.sourcePath)
                return [.damaged(path, reason: "missing or damaged after a crash; its source is still in the inbox")]
            }
        }
        return []
    }

    /// Records the copy that stands at `path`; false if it does not stand there any more, since another is recorded.
    ///
    /// A photo with the same content is either this one, recorded by a later try; or one whose copy was missing or
    /// damaged when this one was begun, which is to take its place. That is decided anew when the source is filed again,
    /// so the copy goes as long as the source is whole. A photo at the same place has no copy any more: filing never
    /// replaces one.
    private nonisolated(nonsending) func record(
        _ intent: StoredIntent, _ pending: PendingFiling, at path: BytePath, _ anchor: Int64?,
        _ directory: borrowing OwnedDescriptor,
        _ library: DestinationRoot
    ) async throws -> Bool {
        var lost: [Int64] = []
        while true {
            do throws(CatalogueError) {
                _ = try await inbox.catalogue.commit(
                    [commit(of: intent, at: path, superseding: lost)],
                    set: (intent.joins ?? anchor).map { .joining(photo: $0) })
                return true
            } catch {
                switch error.code {
                case .alreadyRecorded(let photo) where !lost.contains(photo):
                    if library.isShared {
                        // The first of equal files may be the other daemon's: no copy of its own stays. Its source is then a
                        // duplicate.
                        let copies = try recovery.findCopies(of: pending, in: library)
                        if try await giveUp(copies, of: intent, pending, for: photo, in: library) { return false }
                    }
                    if try await isRecorded(intent.photo, at: path) { return true }
                    if !library.isShared, try recovery.takeBack(pending, at: path, inbox: directory, in: library) {
                        return false
                    }
                    // The only copy there may be: it stays, as that photo.
                    lost.append(photo)
                case .pathTaken(let photo) where !lost.contains(photo): lost.append(photo)
                default: throw error
                }
            }
        }
    }
}

extension RecoveryRunner {
    // MARK: - Several daemons

    /// Has filings whose copies are not trusted be lost, so that their sources are filed again, with other copies; waits until
    /// they are, with all of a set.
    private nonisolated(nonsending) func giveUpDistrusted(_ set: [StoredIntent]) async throws {
        guard set.contains(where: { inbox.distrusted.contains($0.token) }) else { return }
        for intent in set where intent.step == .begun {
            try await inbox.catalogue.perform("giving up a filing") { try $0.giveUp(intent.id) }
        }
        for intent in set where try await claims(of: intent).photo == nil { throw Waiting.forAnotherCopy }
        inbox.distrusted.subtract(set.map(\.token))
    }

    /// A filing whose content another daemon took over, because this one was away for long. What its source is, a duplicate
    /// or a photo, is decided when that is examined again.
    private nonisolated(nonsending) func recoverLost(_ intent: StoredIntent, joining anchor: Int64?) async throws {
        guard let pending = PendingFiling(intent) else { return }
        let library = try inbox.directories.library()
        try recovery.removeTemporary(pending.token, beside: pending.destination, in: library)
        try recovery.bringBack(pending.source, pending.token, in: inbox.directories.openInbox().descriptor)
        try recovery.bringBack(pending.destination, pending.token, in: library.descriptor, .destination)
        let copies = try recovery.findCopies(of: pending, in: library)
        let claims = try await claims(of: intent)
        let recorded: RecordedPlace =
            claims.photo.map { copies.contains($0.photo.libraryPath) ? .here : .elsewhere } ?? .nowhere
        switch IntentRules.next(
            recorded: recorded, begunByOther: claims.isBegun ? .yes(leaseIsOver: claims.isAway) : .no)
        {
        case .becomeRecorded, .readOther:
            guard let photo = claims.photo?.id, try await !giveUp(copies, of: intent, pending, for: photo, in: library)
            else {
                break
            }
            // That photo has lost its file.
            if !copies.isEmpty { return try await recoverAgain(intent, joining: anchor, superseding: photo) }
        // Refused while another daemon files it, and tried again.
        case .takeOver, .beginAgain, .waitForOther:
            if !copies.isEmpty { return try await recoverAgain(intent, joining: anchor) }
        }
        try await close(intent)
    }

    /// A set of which all that was lost, and has a copy, and is recorded nowhere, is begun again at once: what is filed anew of
    /// it between two of them would get other names.
    private nonisolated(nonsending) func begunAgain(
        _ set: [StoredIntent], in library: DestinationRoot
    ) async throws -> [StoredIntent] {
        var lost: [StoredIntent] = []
        for intent in set where intent.step == .lost {
            guard let pending = PendingFiling(intent), try await claims(of: intent).photo == nil,
                try !recovery.findCopies(of: pending, atMost: 1, in: library).isEmpty
            else { continue }
            lost.append(intent)
        }
        if lost.isEmpty { return set }
        try await inbox.catalogue.perform("beginning a filing again") { [lost] in try $0.beginAgain(lost) }
        return try await readAgain(set)
    }

    /// The copy of a filing that is not recorded: in a shared library the first equal file may be another's.
    private nonisolated(nonsending) func copy(
        of intent: StoredIntent, _ pending: PendingFiling, foundFirst first: BytePath, in library: DestinationRoot
    ) async throws -> BytePath? {
        if !library.isShared { return first }
        for path in try recovery.findCopies(of: pending, in: library) {
            if try await !hasPhoto(at: path, of: intent.photo.library) { return path }
        }
        return nil
    }

    private nonisolated(nonsending) func hasPhoto(at path: BytePath, of library: BytePath) async throws -> Bool {
        try await inbox.catalogue.perform("looking up a place") { try $0.photo(library: library, path: path) != nil }
    }

    private nonisolated(nonsending) func claims(
        of intent: StoredIntent
    ) async throws(CatalogueError) -> (photo: StoredPhoto?, isBegun: Bool, isAway: Bool) {
        try await inbox.catalogue.perform("reading who files a content") { try $0.claims(on: intent.photo.sha256) }
    }

    /// Records its copy as that of a filing that was begun.
    private nonisolated(nonsending) func recoverAgain(
        _ intent: StoredIntent, joining anchor: Int64?, superseding old: Int64? = nil
    ) async throws {
        try await inbox.catalogue.perform("beginning a filing again") {
            try $0.beginAgain([intent], superseding: old)
        }
        for begun in try await pendingIntents() where begun.id == intent.id {
            _ = try await recover(begun, joining: anchor)
        }
    }

    /// Removes unrecorded copies of a content that is recorded as this photo, once that one's file was read. Returns false,
    /// with nothing removed, if it is missing or damaged.
    private nonisolated(nonsending) func giveUp(
        _ copies: [BytePath], of intent: StoredIntent, _ pending: PendingFiling, for photo: Int64,
        in library: DestinationRoot
    ) async throws -> Bool {
        let stored = try await inbox.catalogue.perform("looking up a photo") { try $0.photo(id: photo) }
        guard let other = stored?.photo, other.library == inbox.places.library,
            let status = try library.file(
                other.libraryPath, hash: pending.hash, size: pending.identity.size, work: FileWork())
        else { return false }
        let kept = inbox.directories.libraryCopy(
            other.libraryPath, pending.hash, size: pending.identity.size, lastRead: status)
        let others = copies.filter { path in
            RemovalRule.mayRemove(
                isOwn: true, recorded: path == other.libraryPath ? .here : .elsewhere, other: .whole)
        }
        // They may be of another filing, which has named its copy and not recorded it yet. Sidecars, of which many may have the
        // same bytes, are left then.
        if !others.isEmpty,
            try await inbox.catalogue.perform("reading who files a content", { try $0.isBegunElsewhere(intent) })
        {
            if intent.photo.part.isSidecar { return true }
            throw Waiting.forAnotherDaemon
        }
        for path in others {
            if try await hasPhoto(at: path, of: other.library) { continue }
            guard try recovery.removeCopy(of: pending, at: path, in: library, seeing: kept) else { return false }
        }
        return true
    }
}

extension PhotoRecord {
    fileprivate func isSidecar(like other: PhotoRecord) -> Bool {
        part.isSidecar && sha256 == other.sha256 && originalName == other.originalName
    }
}

/// Why a filing is neither finished nor undone now, though nothing has failed.
private enum Waiting: Error, CustomStringConvertible {
    case forAnotherCopy
    case forAnotherDaemon

    var description: String {
        switch self {
        case .forAnotherCopy: "the directory of its copy could not be synced, so it is filed again"
        case .forAnotherDaemon: "the same content is being filed by another daemon"
        }
    }
}

extension [StoredIntent] {
    /// What was to be filed as one together, in the order in which it was begun.
    fileprivate var bySet: [[StoredIntent]] {
        var sets: [[StoredIntent]] = []
        var places: [String: Int] = [:]
        for intent in self {
            if let token = intent.setToken, let place = places[token] {
                sets[place].append(intent)
            } else {
                if let token = intent.setToken { places[token] = sets.count }
                sets.append([intent])
            }
        }
        return sets
    }
}

extension PendingFiling {
    /// The filing of the row; nil if it is not ours.
    fileprivate init?(_ intent: StoredIntent) {
        guard let hash = ContentHash(intent.photo.sha256) else { return nil }
        self.init(
            token: intent.token, source: intent.photo.sourcePath, identity: intent.photo.sourceIdentity, hash: hash,
            destination: intent.photo.libraryPath, isRecorded: intent.step == .recorded,
            numberAfter: intent.numberAfter)
    }
}
