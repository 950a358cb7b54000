import Catalogue
import FileValues
import Filing
import LinuxKernel

/// What an earlier life left under way.
extension InboxWorker {
    /// Finishes or undoes each filing of this inbox that was interrupted, before anything new is taken. Doing it twice
    /// changes nothing. What cannot be finished now keeps its intent, and is tried at the next start.
    func recover() async -> [Symptom] {
        defer { subsystem.idle() }
        var symptoms: [Symptom] = []
        do {
            for intent in try await catalogue.pendingIntents(inbox: spec.name) {
                subsystem.enter("recovering \(spec.name)/\(intent.photo.sourcePath.escaped)")
                symptoms += try await recover(intent)
            }
        } catch let failure as CatalogueError {
            symptoms.append(.catalogue(failure: failure))
        } catch let refusal as LibraryGuard.Refusal {
            symptoms.append(.library(failure: .replaced("\(refusal)")))
        } catch let error as FilingError {
            if let failure = libraryFailure(error) { symptoms.append(.library(failure: failure)) }
        } catch {
            symptoms.append(.inboxUnreadable(inbox: spec.name, reason: "\(error)"))
        }
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
                try await catalogue.close(recovered: intent, kept: "it cannot be removed: \(error)")
                return [.sourceKept(inbox: spec.name, reason: "\(error)")]
            case .copyDamaged:
                try await catalogue.close(recovered: intent, kept: nil)
                return [.damaged(path, reason: "missing or damaged after a crash; its source is still in the inbox")]
            }
        }
        return []
    }
}
