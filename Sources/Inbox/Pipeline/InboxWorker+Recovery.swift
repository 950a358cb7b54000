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
            for intent in try await catalogue.pendingIntents(inbox: spec.name) where !isUnderWay(intent.token) {
                subsystem.enter("recovering \(spec.name)/\(intent.photo.sourcePath.escaped)")
                symptoms += await attempt { try await recover(intent) }
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

    private func isUnderWay(_ token: String) -> Bool { underWay.keys.contains(token) }

    /// What failed is a symptom, and owed.
    private func attempt(_ body: () async throws -> [Symptom]) async -> [Symptom] {
        do { return try await body() } catch {
            owed.withLock { $0.owe() }
            switch error {
            case let failure as CatalogueError: return [.catalogue(failure: failure)]
            case let refusal as LibraryGuard.Refusal: return [.library(failure: .replaced("\(refusal)"))]
            case let error as FilingError:
                forgetRoots()
                return libraryFailure(error).map { [.library(failure: $0)] } ?? []
            default: return [.inboxUnreadable(inbox: spec.name, reason: "\(error)")]
            }
        }
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
                destination: path, isRecorded: isRecorded)
            if isRecorded, !spec.removesSources {
                try await catalogue.close(recovered: intent, kept: "mode = \"copy\"")
                return []
            }
            switch try Recovery(probe: probe).recover(pending, inbox: inbox.descriptor, library: library) {
            case .placed(let found):
                path = found
                isRecorded = true
                try await catalogue.commit(recovered: intent, at: found, keepsSource: !spec.removesSources)
            case .undone, .finished, .sourceReplaced:
                try await catalogue.close(recovered: intent, kept: nil)
                return []
            case .sourceKept(let error):
                let now = try? FileStatus(of: intent.photo.sourcePath, beneath: inbox.descriptor)
                try await catalogue.close(
                    recovered: intent, kept: "it cannot be removed: \(error)", identity: now?.identity)
                return [.sourceKept(inbox: spec.name, reason: "\(error)")]
            case .copyDamaged:
                try await catalogue.close(recovered: intent, kept: nil)
                return [.damaged(path, reason: "missing or damaged after a crash; its source is still in the inbox")]
            }
        }
        return []
    }
}
