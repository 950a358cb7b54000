import Catalogue
import FileValues
import Filing
import LinuxKernel
import Settings
import SystemPackage

/// What follows from what people asked for: after a crash, when a released file is looked at again, when the trash is due.
extension InboxWorker {
    // MARK: - After a crash

    /// Finishes or closes a request that was under way. Doing it twice changes nothing.
    func recover(_ stored: StoredRequest) async throws {
        guard var move = stored.request.move, let hash = ContentHash(move.sha256) else {
            return try await catalogue.end(stored.id, move: nil, note: "not understood after a crash")
        }
        let source = try open(sourceRoot: move.sourceRoot)
        let destination = try open(destinationRoot: move.destinationRoot)
        let recovery = Recovery(probe: probe)
        func look(isRecorded: Bool) throws(FilingError) -> Recovered {
            try recovery.recover(
                PendingFiling(
                    token: move.token, source: move.sourcePath, identity: move.identity, hash: hash,
                    destination: move.destinationPath, isRecorded: isRecorded),
                inbox: source, library: destination)
        }
        guard case .placed(let path) = try look(isRecorded: false) else {
            return try await catalogue.end(stored.id, move: nil, note: "interrupted before the file was moved")
        }
        move.destinationPath = path
        // A copy is there, whole and durable: now the original goes, if it is still there and still the same.
        switch try look(isRecorded: true) {
        case .finished, .sourceReplaced, .sourceKept: break
        case .undone, .placed, .copyDamaged:
            return try await catalogue.end(stored.id, move: nil, note: "interrupted before the file was moved")
        }
        move.identity = try FileStatus(of: path, beneath: destination.descriptor).identity
        try await catalogue.end(stored.id, move: move, note: "finished after a crash")
    }

    // MARK: - What follows

    /// What shows that a file may be filed that cannot be shown to be whole: somebody said so. Nil for all others.
    func releaseAsIs(of source: SourceFile, _ proof: Proof, _ work: FileWork) async throws -> String? {
        switch proof {
        case .complete, .wait: return nil
        case .lacking, .incomplete, .damaged, .notAPhoto: break
        }
        let size = source.identity.size
        guard try await catalogue.hasReleaseAsIs(inbox: spec.name, size: size) else { return nil }
        let request = try await catalogue.releaseAsIs(inbox: spec.name, size: size, hash: try source.hash(work))
        return request.map { "released by \($0.request.asker)" }
    }

    /// What lies at `path` of the inbox now; what was ignored there before may be looked at again. Nil if nothing does.
    func rescan(_ path: BytePath) async throws -> FileStatus? {
        let status: FileStatus
        let inbox = try openInbox()
        do throws(SystemCallError) { status = try FileStatus(of: path, beneath: inbox.descriptor) } catch {
            if [.noSuchFileOrDirectory, .notDirectory].contains(error.code) { return nil }
            throw error
        }
        try await catalogue.forgetIgnored(inbox: spec.name, path: path)
        return status
    }

    /// What emptying the trash came to.
    struct TrashExpiry {
        var deleted: [BytePath] = []
        /// Discarded duplicates that stay, since the photos that they duplicate were not seen.
        var kept: [(path: BytePath, reason: String)] = []
        /// When to look again, in nanoseconds of CLOCK_BOOTTIME.
        var next = Int64.max
    }

    /// Deletes what has lain in the trash for long enough, if it is what was put there, and, of a duplicate, if the
    /// photo that it duplicates is seen in the library.
    func expireTrash(now: ClockReading) async -> TrashExpiry {
        subsystem.enter("emptying the trash of \(spec.name)")
        defer { subsystem.idle() }
        // What fails is tried again in an hour; and as often the time is written down, as long as anything lies there.
        let hour = now.boottime + 3_600_000_000_000
        guard let trash = try? await catalogue.trash(of: spec.name, at: now) else { return TrashExpiry(next: hour) }
        let time = places.trashTime.duration.components.seconds * 1_000_000_000
        var expiry = TrashExpiry()
        for (stored, age) in trash {
            guard age >= time, let move = stored.request.move else {
                expiry.next = min(expiry.next, hour, now.boottime + max(0, time - age))
                continue
            }
            let path = move.destinationRoot.appending(move.destinationPath)
            do {
                let note = try await delete(move, stored)
                if note == nil { expiry.deleted.append(path) }
                try await catalogue.expire(stored.id, note: note)
            } catch {
                expiry.next = min(expiry.next, hour)
                if let error = error as? FilingError, case .noOtherCopy(let doubt) = error.cause {
                    expiry.kept.append((path, "\(doubt)"))
                }
            }
        }
        return expiry
    }

    /// Why it was not deleted, if it was not.
    private func delete(_ move: RequestedMove, _ stored: StoredRequest) async throws -> String? {
        // Without its disk, nothing is known of it.
        let root = try openDirectory(move.destinationRoot)
        try Recovery(probe: probe).bringBack(move.destinationPath, move.token, in: root)
        let file: SourceFile
        do throws(FilingError) { file = try SourceFile(move.destinationPath, beneath: root) } catch {
            if case .refused(let refusal) = error.cause, refusal != .leased { return "not deleted: \(refusal)" }
            throw error
        }
        guard file.identity.hasSameContent(as: move.identity), let hash = ContentHash(move.sha256) else {
            return "not deleted: another file lies there"
        }
        let removal: Removal
        var discarded: OperationFacts?
        if let operation = stored.request.outcomeID { discarded = try await catalogue.facts(of: operation) }
        if discarded?.outcome.outcome.outcome == .quarantined {
            removal = try file.remove(
                token: move.token, hash: hash, by: DiscardOrder(request: stored.id), probe: probe)
        } else {
            removal = try file.remove(
                token: move.token, hash: hash, seeing: try await copies(duplicatedBy: file, hash, stored), probe: probe)
        }
        switch removal {
        case .removed: return nil
        case .kept(let error): throw error
        }
    }

    /// Where the photo is that `file` duplicates: in the library, or where it was taken back to. None if neither is recorded.
    private func copies(
        duplicatedBy file: SourceFile, _ hash: ContentHash, _ request: StoredRequest
    ) async throws -> [OtherCopy] {
        if let stored = try await catalogue.photo(withHash: hash), stored.photo.library == places.library {
            return [.recorded(libraryCopy(stored.photo.libraryPath, hash, size: file.identity.size))]
        }
        guard let photo = request.request.photoID, let move = try await catalogue.undo(ofPhoto: photo)?.request.move
        else { return [] }
        return [
            .recorded(
                RecordedCopy(
                    root: move.destinationRoot, path: move.destinationPath, hash: hash, size: file.identity.size))
        ]
    }
}
