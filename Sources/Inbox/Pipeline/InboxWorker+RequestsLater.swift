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
        case .incomplete, .damaged, .notAPhoto: break
        }
        let size = source.identity.size
        guard try await catalogue.hasReleaseAsIs(inbox: spec.name, size: size) else { return nil }
        let request = try await catalogue.releaseAsIs(inbox: spec.name, size: size, hash: try source.hash(work))
        return request.map { "released by \($0.request.asker)" }
    }

    /// What lies at `path` of the inbox now; what was ignored there before may be looked at again. Nil if nothing does.
    func rescan(_ path: BytePath) async throws -> FileStatus? {
        let status: FileStatus
        do throws(SystemCallError) { status = try FileStatus(of: path, beneath: try openInbox().descriptor) } catch {
            if [.noSuchFileOrDirectory, .notDirectory].contains(error.code) { return nil }
            throw error
        }
        try await catalogue.forgetIgnored(inbox: spec.name, path: path)
        return status
    }

    /// Deletes what has lain in the trash for long enough, if it is what was put there. Gives back what was deleted, and
    /// when the next is due, in seconds since 1970.
    func expireTrash(now: FileTime) async -> (deleted: [BytePath], next: Int64) {
        subsystem.enter("emptying the trash of \(spec.name)")
        defer { subsystem.idle() }
        // What fails is tried again in an hour.
        guard let requests = try? await catalogue.discarded(inbox: spec.name) else { return ([], now.seconds + 3_600) }
        let time = places.trashTime.duration.components.seconds
        var next = Int64.max
        var deleted: [BytePath] = []
        for stored in requests {
            let due = (stored.endedAt?.seconds ?? now.seconds) + time
            guard due <= now.seconds, let move = stored.request.move else {
                next = min(next, due)
                continue
            }
            do {
                let note = try delete(move)
                if note == nil { deleted.append(move.destinationRoot.appending(move.destinationPath)) }
                try await catalogue.expire(stored.id, note: note)
            } catch {
                next = min(next, now.seconds + 3_600)
            }
        }
        return (deleted, next)
    }

    /// Why it was not deleted, if it was not.
    private func delete(_ move: RequestedMove) throws -> String? {
        let file: SourceFile
        do throws(FilingError) {
            let root: OwnedDescriptor
            do throws(SystemCallError) { root = try openDirectory(move.destinationRoot) } catch {
                throw FilingError(.openSource, .source, .system(error), path: move.destinationPath)
            }
            file = try SourceFile(move.destinationPath, beneath: root)
        } catch {
            if case .refused(let refusal) = error.cause { return "not deleted: \(refusal)" }
            throw error
        }
        guard file.identity.hasSameContent(as: move.identity) else { return "not deleted: another file lies there" }
        switch try file.remove(token: move.token, probe: probe) {
        case .removed: return nil
        case .kept(let error): throw error
        }
    }
}
