import Catalogue
import FileValues
import Filing
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
            inbox.recovery.withLock { $0.end(now: .now) }
            inbox.subsystem.idle()
        }
        inbox.recovery.withLock { $0.begin() }
        var symptoms: [Symptom] = []
        do {
            let name = spec.name
            for set in try await pendingIntents().bySet where !set.contains(where: { isUnderWay($0.token) }) {
                guard let first = set.first else { continue }
                inbox.subsystem.enter("recovering \(name)/\(first.photo.sourcePath.escaped)")
                do { symptoms += set.count > 1 ? try await recover(set) : try await recover(first) } catch {
                    symptoms += failed(error)
                }
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
        inbox.requireRecovery(after: error)
        return inbox.symptoms(of: error)
    }

    private nonisolated(nonsending) func pendingIntents() async throws(CatalogueError) -> [StoredIntent] {
        try await inbox.catalogue.perform("reading intents") { [name = spec.name] in
            try $0.pendingIntents().filter { $0.photo.inbox == name }
        }
    }

    /// The row of a filing that is recorded after a crash.
    private func commit(of intent: StoredIntent, at path: BytePath, superseding old: [Int64] = []) -> FilingCommit {
        var photo = intent.photo
        photo.libraryPath = path
        return FilingCommit(
            intent: intent.id, photo: photo, filedAt: Moment.now.wall, reason: "finished after a crash",
            keepsSource: !spec.removesSources, supersedes: old)
    }

    /// Whether `photo`'s content is recorded at this place of its library.
    private nonisolated(nonsending) func isRecorded(_ photo: PhotoRecord, at path: BytePath) async throws -> Bool {
        try await inbox.catalogue.perform("looking up a place") {
            try $0.photo(library: photo.library, path: path)?.photo.sha256 == photo.sha256
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
        var symptoms: [Symptom] = []
        var found: [(intent: StoredIntent, path: BytePath)] = []
        var undone: [StoredIntent] = []
        for intent in set {
            guard intent.step == .begun, let pending = PendingFiling(intent) else {
                symptoms += try await recover(intent)
                continue
            }
            switch try recovery.recover(pending, inbox: directory.descriptor, library: library) {
            case .placed(let path): found.append((intent, path))
            case .undone, .finished, .sourceKept, .sourceReplaced, .copyDamaged: undone.append(intent)
            }
        }
        if undone.isEmpty, !found.isEmpty {
            do {
                _ = try await inbox.catalogue.commit(
                    found.map { commit(of: $0.intent, at: $0.path) },
                    set: set.first?.joins.map { .joining(photo: $0) } ?? .new)
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
                undone.append(intent)
            } else if try recovery.takeBack(pending, at: path, inbox: directory.descriptor, in: library) {
                undone.append(intent)
            } else {
                // The only copy there is: it stays, and is recorded by itself.
                symptoms += try await recover(intent)
            }
        }
        try await inbox.catalogue.close(undone.map(\.id))
        return symptoms
    }

    private nonisolated(nonsending) func recover(_ intent: StoredIntent) async throws -> [Symptom] {
        guard let hash = ContentHash(intent.photo.sha256) else { return [] }
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
            switch try recovery.recover(pending, inbox: directory.descriptor, library: library) {
            case .placed(let found):
                guard try await record(intent, pending, at: found, directory.descriptor, library) else {
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
        _ intent: StoredIntent, _ pending: PendingFiling, at path: BytePath, _ directory: borrowing OwnedDescriptor,
        _ library: DestinationRoot
    ) async throws -> Bool {
        var lost: [Int64] = []
        while true {
            do throws(CatalogueError) {
                _ = try await inbox.catalogue.commit(
                    [commit(of: intent, at: path, superseding: lost)],
                    set: intent.joins.map { .joining(photo: $0) })
                return true
            } catch {
                switch error.code {
                case .alreadyRecorded(let photo) where !lost.contains(photo):
                    if try await isRecorded(intent.photo, at: path) { return true }
                    if try recovery.takeBack(pending, at: path, inbox: directory, in: library) { return false }
                    // The only copy there may be: it stays, as that photo.
                    lost.append(photo)
                case .pathTaken(let photo) where !lost.contains(photo): lost.append(photo)
                default: throw error
                }
            }
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
