import Catalogue
package import FileValues
import Filing
import LinuxKernel
import QueueActors
import Settings

/// Deletes what has lain in the trash of an inbox for long enough. On the inbox's queue.
package struct TrashBin {
    let inbox: InboxContext

    /// What emptying the trash came to.
    package struct Expiry: Sendable {
        package var deleted: [BytePath] = []
        /// Discarded duplicates that stay, since the photos that they duplicate were not found.
        package var kept: [(path: BytePath, reason: String)] = []
        /// When to try again, in nanoseconds of CLOCK_BOOTTIME.
        package var next = Int64.max
    }

    /// Deletes what has lain in the trash for long enough, if it is what was put there, and, of a duplicate, if the
    /// photo that it duplicates is seen in the library.
    nonisolated(nonsending) func expire(now: ClockReading) async -> Expiry {
        let name = inbox.spec.name
        inbox.subsystem.enter("emptying the trash of \(name)")
        defer { inbox.subsystem.idle() }
        // What fails is tried again in an hour; and as often the time is written down, as long as anything lies there.
        let hour = now.boottime + 3_600_000_000_000
        let trash = try? await inbox.catalogue.perform("counting the time of the trash") {
            try $0.trash(of: name, at: now)
        }
        guard let trash else { return Expiry(next: hour) }
        let time = inbox.places.trashTime.duration.components.seconds * 1_000_000_000
        var expiry = Expiry()
        for (stored, age) in trash {
            guard age >= time, let move = stored.request.move else {
                expiry.next = min(expiry.next, hour, now.boottime + max(0, time - age))
                continue
            }
            let path = move.destinationRoot.appending(move.destinationPath)
            do {
                let note = try await delete(move, stored)
                if note == nil { expiry.deleted.append(path) }
                try await inbox.catalogue.perform("expiring a discarded file") {
                    try $0.expireRequests([stored.id], note: note)
                }
            } catch {
                expiry.next = min(expiry.next, hour)
                if let error = error as? FilingError, case .noOtherCopy(let reason) = error.cause {
                    expiry.kept.append((path, "\(reason)"))
                }
            }
        }
        return expiry
    }

    /// Why it was not deleted, if it was not.
    private nonisolated(nonsending) func delete(
        _ move: RequestedMove, _ stored: StoredRequest
    ) async throws -> String? {
        // Without its disk, nothing is known of it.
        let root = try openDirectory(move.destinationRoot)
        try Recovery(probe: inbox.probe).bringBack(move.destinationPath, move.token, in: root)
        let file: SourceFile
        do throws(FilingError) { file = try SourceFile(move.destinationPath, beneath: root) } catch {
            if case .refused(let refusal) = error.cause, refusal != .leased { return "not deleted: \(refusal)" }
            throw error
        }
        guard file.identity.hasSameContent(as: move.identity), let hash = ContentHash(move.sha256) else {
            return "not deleted: another file lies there"
        }
        let removal: Removal
        var discarded: OutcomeKind?
        if let operation = stored.request.outcomeID {
            discarded = try await inbox.catalogue.perform("looking up an operation") {
                try $0.outcome(id: operation)?.outcome.outcome
            }
        }
        if discarded == .quarantined {
            removal = try file.remove(
                token: move.token, hash: hash, by: DiscardOrder(request: stored.id), probe: inbox.probe)
        } else {
            removal = try file.remove(
                token: move.token, hash: hash, seeing: try await copies(duplicatedBy: file, hash, stored),
                probe: inbox.probe)
        }
        switch removal {
        case .removed: return nil
        case .kept(let error): throw error
        }
    }

    /// Where the photo is that `file` duplicates: in the library, or where it was taken back to. None if neither is recorded.
    private nonisolated(nonsending) func copies(
        duplicatedBy file: SourceFile, _ hash: ContentHash, _ request: StoredRequest
    ) async throws -> [OtherCopy] {
        if let stored = try await inbox.catalogue.lookUp([hash.bytes]).photos[0],
            stored.photo.library == inbox.places.library
        {
            return [.recorded(inbox.directories.libraryCopy(stored.photo.libraryPath, hash, size: file.identity.size))]
        }
        guard let photo = request.request.photoID else { return [] }
        let undo = try await inbox.catalogue.perform("reading requests") {
            try $0.requests(ofPhoto: photo).first { $0.request.what == .undo && $0.step == .done }
        }
        guard let move = undo?.request.move else { return [] }
        return [
            .recorded(
                RecordedCopy(
                    root: move.destinationRoot, path: move.destinationPath, hash: hash, size: file.identity.size))
        ]
    }
}
