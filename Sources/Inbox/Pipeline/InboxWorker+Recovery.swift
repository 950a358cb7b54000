import Catalogue
import FileValues
import Filing
import LinuxKernel

/// What an earlier life left under way.
extension InboxWorker {
    /// Finishes or undoes each filing and each move of this inbox that was interrupted, before anything new is taken.
    /// Doing it twice changes nothing. What cannot be finished now keeps its row, holds up none of the others, and is
    /// tried again (``owed``).
    func recover() async -> [Symptom] {
        if isRecovering { return [] }
        isRecovering = true
        defer {
            isRecovering = false
            owed.withLock { $0.end(now: .now) }
            subsystem.idle()
        }
        owed.withLock { $0.begin() }
        return await attempt {
            var symptoms: [Symptom] = []
            let intents = try await catalogue.pendingIntents(inbox: spec.name)
            for set in intents.bySet where !set.contains(where: { isUnderWay($0.token) }) {
                guard let first = set.first else { continue }
                subsystem.enter("recovering \(spec.name)/\(first.photo.sourcePath.escaped)")
                symptoms += await attempt { set.count > 1 ? try await recover(set) : try await recover(first) }
            }
            for move in try await catalogue.pendingMoves(inbox: spec.name) where !isUnderWay(move.move.token) {
                subsystem.enter("recovering \(spec.name)/\(move.move.path.escaped)")
                symptoms += await attempt {
                    try await recover(move)
                    return []
                }
            }
            for request in try await catalogue.pendingRequests(inbox: spec.name)
            where request.request.move.map({ !isUnderWay($0.token) }) ?? true {
                subsystem.enter("recovering what request \(request.id) asked for")
                symptoms += await attempt {
                    try await recover(request)
                    return []
                }
            }
            return symptoms
        }
    }

    /// What recovers filings.
    private var recovery: Recovery { Recovery(probe: probe, requirePlace: requireLibrary) }

    private func isUnderWay(_ token: String) -> Bool { underWay.keys.contains(token) }

    /// What failed is a symptom, and owed.
    private func attempt(_ body: () async throws -> [Symptom]) async -> [Symptom] {
        do { return try await body() } catch {
            let symptoms = symptoms(of: error)
            owed.withLock { $0.owe(refusedBy: symptoms.refusal, because: "\(error)") }
            return symptoms
        }
    }

    /// A set that was being filed: all copies there and whole, then all are recorded; else those that are there are taken
    /// back, if their source stands whole in the inbox. Recorded, each source is seen to.
    private func recover(_ set: [StoredIntent]) async throws -> [Symptom] {
        let library = try root(places.library)
        let inbox = try openInbox()
        var symptoms: [Symptom] = []
        var found: [(intent: StoredIntent, path: BytePath)] = []
        var undone: [StoredIntent] = []
        for intent in set {
            guard intent.step == .begun, let pending = PendingFiling(intent) else {
                symptoms += try await recover(intent)
                continue
            }
            switch try recovery.recover(pending, inbox: inbox.descriptor, library: library) {
            case .placed(let path): found.append((intent, path))
            case .undone, .finished, .sourceKept, .sourceReplaced, .copyDamaged: undone.append(intent)
            }
        }
        if undone.isEmpty, !found.isEmpty {
            do {
                try await catalogue.commit(recovered: found, keepsSource: !spec.removesSources)
                // The same as if it had been recorded before the crash.
                for intent in try await catalogue.pendingIntents(inbox: spec.name)
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
            if try await catalogue.isRecorded(intent.photo, at: path) {
                undone.append(intent)
            } else if try recovery.takeBack(pending, at: path, inbox: inbox.descriptor, in: library) {
                undone.append(intent)
            } else {
                // The only copy there is: it stays, and is recorded by itself.
                symptoms += try await recover(intent)
            }
        }
        try await catalogue.close(undone: undone)
        return symptoms
    }

    private func recover(_ intent: StoredIntent) async throws -> [Symptom] {
        guard let hash = ContentHash(intent.photo.sha256) else { return [] }
        let library = try root(places.library)
        let inbox = try openInbox()
        var path = intent.photo.libraryPath
        var isRecorded = intent.step == .recorded
        // At most twice: a copy that stands unrecorded is recorded, then its source is seen to.
        for _ in 0..<2 {
            let pending = PendingFiling(
                token: intent.token, source: intent.photo.sourcePath, identity: intent.photo.sourceIdentity, hash: hash,
                destination: path, isRecorded: isRecorded, numberAfter: intent.numberAfter)
            if isRecorded, !spec.removesSources {
                try await catalogue.close(recovered: intent, kept: "mode = \"copy\"")
                return []
            }
            switch try recovery.recover(pending, inbox: inbox.descriptor, library: library) {
            case .placed(let found):
                guard try await record(intent, pending, at: found, inbox.descriptor, library) else {
                    try await catalogue.close(recovered: intent, kept: nil)
                    return []
                }
                path = found
                isRecorded = true
            case .undone, .finished, .sourceReplaced:
                try await catalogue.close(recovered: intent, kept: nil)
                return []
            case .sourceKept(let error):
                // A name that was given back has another time of change.
                let now = try? FileStatus(of: intent.photo.sourcePath, beneath: inbox.descriptor).identity
                let before = intent.photo.sourceIdentity
                try await catalogue.close(
                    recovered: intent, kept: "it cannot be removed: \(error)",
                    identity: now.flatMap { $0.hasSameContent(as: before) ? $0 : nil })
                return [
                    .sourceKept(
                        inbox: spec.name, directory: intent.photo.sourcePath.parent, reason: "\(error)")
                ]
            case .copyDamaged:
                try await catalogue.close(recovered: intent, kept: nil)
                toLookAt.withLock { $0.append(intent.photo.sourcePath) }
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
    private func record(
        _ intent: StoredIntent, _ pending: PendingFiling, at path: BytePath, _ inbox: borrowing OwnedDescriptor,
        _ library: DestinationRoot
    ) async throws -> Bool {
        var lost: [Int64] = []
        while true {
            do throws(CatalogueError) {
                try await catalogue.commit(
                    recovered: intent, at: path, keepsSource: !spec.removesSources, superseding: lost)
                return true
            } catch {
                switch error.code {
                case .alreadyRecorded(let photo) where !lost.contains(photo):
                    if try await catalogue.isRecorded(intent.photo, at: path) { return true }
                    if try recovery.takeBack(pending, at: path, inbox: inbox, in: library) { return false }
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
    /// What the row tells; nil if it is not ours.
    fileprivate init?(_ intent: StoredIntent) {
        guard let hash = ContentHash(intent.photo.sha256) else { return nil }
        self.init(
            token: intent.token, source: intent.photo.sourcePath, identity: intent.photo.sourceIdentity, hash: hash,
            destination: intent.photo.libraryPath, isRecorded: intent.step == .recorded,
            numberAfter: intent.numberAfter)
    }
}
