import Catalogue
import FileValues
import Filing
import LinuxKernel

/// Moves files out of their inbox without filing them: duplicates, and what a person has to decide on. A move is recorded
/// before it is made, so that a crash at any moment leaves one file with one row. On the inbox's queue.
final class Mover {
    private let inbox: InboxContext
    /// Moves that recovery finished, until their arrivals are examined again.
    private var late: [BytePath: EndedMove] = [:]

    init(_ inbox: InboxContext) { self.inbox = inbox }

    /// The library has these bytes, in the file `found`, which was read again.
    nonisolated(nonsending) func setAsideDuplicate(
        _ duplicate: HashedMember, of stored: StoredPhoto, _ found: FileStatus, _ work: FileWork
    ) async throws -> Conclusion {
        let (arrival, source, hash) = (duplicate.member.arrival, duplicate.member.source, duplicate.hash)
        let path = stored.photo.libraryPath
        if found.device == source.status.device, found.identity.inode == source.identity.inode {
            let same = CopyDoubt.sameFile(inbox.places.library.appending(path))
            throw FilingError(.verifyCopy, .either, .noOtherCopy(same), path: source.path)
        }
        var ended = EndedArrival(
            key: arrival.key, outcome: .duplicate, reason: "the same bytes as \(path.escaped), which was read again",
            ended: .now, firstSeen: arrival.firstSeen)
        ended.sha256 = "\(hash)"
        ended.bytes = source.identity.size
        let kept: FileIdentity?
        if inbox.spec.removesSources {
            let copy = inbox.directories.libraryCopy(path, hash, size: source.identity.size, lastRead: found)
            kept = try await move(
                source, hash, to: inbox.places.duplicates, &ended, duplicateOf: stored.id, seeing: [.recorded(copy)],
                work)
        } else {
            kept = source.identity
            ended.operation = try await inbox.catalogue.record(
                ended, photo: stored.id, sha256: hash.bytes, kept: source.identity)
        }
        var conclusion = Conclusion(.ended(.duplicate), ended)
        conclusion.kept = kept.map { .opened($0) }
        return conclusion
    }

    /// A person has to decide on it: it is set aside, with a note beside it that says why.
    nonisolated(nonsending) func quarantine(
        _ arrival: Arrival, _ source: SourceFile, reason: String, _ work: FileWork
    ) async throws -> Conclusion {
        var ended = EndedArrival(
            key: arrival.key, outcome: .quarantined, reason: reason, ended: .now, firstSeen: arrival.firstSeen)
        ended.bytes = source.identity.size
        let hash = try source.hash(work)
        let kept = try await move(source, hash, to: inbox.places.quarantine, &ended, duplicateOf: nil, work)
        var conclusion = Conclusion(.ended(.quarantined), ended)
        conclusion.kept = kept.map { .opened($0) }
        return conclusion
    }

    /// Moves `source` below `place` and records that; the identity of a file that could not be moved, and so stays. On
    /// an error its row stays, and recovery finds out how far it came.
    private nonisolated(nonsending) func move(
        _ source: SourceFile, _ hash: ContentHash, to place: BytePath, _ ended: inout EndedArrival,
        duplicateOf photo: Int64?, seeing copies: [OtherCopy] = [], _ work: FileWork
    ) async throws -> FileIdentity? {
        let subdirectory = BytePath(inbox.spec.name)
        while true {
            let left = try await pendingMoves()
            // No suspension from here on until the name is ours.
            let root = try inbox.directories.root(place)
            // A plan must be the only one for its name.
            let planned = (inbox.underWay.values.compactMap { $0 } + left.map(\.move)).filter { $0.root == place }
            let name = try root.freeName(
                like: source.name, in: subdirectory, butNot: Set(planned.map(\.destination.name)))
            let token = FileNames.makeToken()
            let record = MoveRecord(
                token: token, since: Moment.now.wall, inbox: inbox.spec.name, path: source.path, root: place,
                destination: subdirectory.appending(name), outcome: OutcomeKind(ended.outcome), reason: ended.reason,
                sha256: hash.bytes, photoID: photo, identity: source.identity)
            inbox.underWay[token] = record
            defer { inbox.underWay[token] = nil }
            let begun: StoredMove
            do throws(CatalogueError) {
                begun = try await inbox.catalogue.perform("recording a move") { try $0.beginMove(record) }
            } catch { throw inbox.recordingFailed(error) }
            var kept: FileIdentity?
            do throws(FilingError) {
                switch try source.move(
                    to: root, subdirectory: subdirectory, only: name, token: token, seeing: copies, probe: inbox.probe,
                    work: work)
                {
                case .moved(let path):
                    ended.destination = place.appending(path)
                    try writeNote(on: record, in: root, work: work)
                case .kept: kept = try source.identityWhenKept()
                }
            } catch {
                inbox.requireRecovery(after: error)
                // The name is in use meanwhile: the row is dropped by recovery, and another name found.
                if case .noFreeName = error.cause { continue }
                throw error
            }
            do { ended.operation = try await end(begun, destination: ended.destination, kept: kept) } catch {
                inbox.requireRecovery(after: error)
                throw error
            }
            if kept == nil { ImportInbox.removeEmptied(by: source.path, of: inbox.spec.path) }
            return kept
        }
    }

    /// What recovery has still to finish or undo, whose names may be in use.
    private nonisolated(nonsending) func pendingMoves() async throws -> [StoredMove] {
        guard inbox.recovery.withLock({ $0.isPending }) else { return [] }
        return try await inbox.catalogue.perform("reading moves") { [name = inbox.spec.name] in
            try $0.pendingMoves(inbox: name)
        }
    }

    /// Closes a move and records its outcome; the operation's number. `kept` is the identity of a file that stays in its
    /// inbox; nil for both if nothing was moved.
    private nonisolated(nonsending) func end(
        _ move: StoredMove, destination: BytePath?, kept: FileIdentity?
    ) async throws(CatalogueError) -> Int64? {
        let (record, now) = (move.move, Moment.now.wall)
        var outcome: OutcomeRecord?
        if destination != nil || kept != nil {
            outcome = OutcomeRecord(
                at: now, inbox: record.inbox, path: record.path, outcome: record.outcome, reason: record.reason,
                sha256: record.sha256, photoID: record.photoID, destination: destination)
        }
        let source = kept.map {
            KeptSource(
                inbox: record.inbox, path: record.path, identity: $0, since: now, why: record.reason,
                sha256: record.sha256)
        }
        return try await inbox.catalogue.finishMove(move.id, outcome: outcome, kept: source)
    }

    /// Why it needs a person, beside what was quarantined.
    private func writeNote(
        on move: MoveRecord, in root: DestinationRoot, again: Bool = false, work: FileWork = FileWork()
    ) throws(FilingError) {
        guard move.outcome == .quarantined else { return }
        let note = QuarantineNote(
            what: "set aside by photo-inbox, unchanged", why: move.reason, when: Moment.now.wall,
            origin: inbox.spec.path.appending(move.path),
            advice: "copy it again from where it came; this one can then be deleted")
        try writeReason(note, besides: move.destination, in: root, again: again, work: work)
    }

    // MARK: - After a failure

    /// Finds out how far an interrupted move came, and finishes or undoes it.
    nonisolated(nonsending) func recover(_ move: StoredMove) async throws {
        guard let hash = ContentHash(move.move.sha256) else { return }
        let root = try inbox.directories.root(move.move.root)
        let directory = try inbox.directories.openInbox()
        let pending = PendingMove(
            token: move.move.token, source: move.move.path, identity: move.move.identity, hash: hash,
            destination: move.move.destination)
        switch try Recovery(probe: inbox.probe).recover(pending, inbox: directory.descriptor, root: root) {
        case .undone, .vanished: _ = try await end(move, destination: nil, kept: nil)
        case .moved:
            try writeNote(on: move.move, in: root, again: true)
            let destination = move.move.root.appending(move.move.destination)
            let operation = try await end(move, destination: destination, kept: nil)
            late[move.move.path] = EndedMove(move: move.move, destination: destination, operation: operation)
        }
    }

    /// The outcome of an arrival whose move was finished after it had failed half-way; nil for any other.
    func lateOutcome(of arrival: Arrival) -> Conclusion? {
        guard let late = late.removeValue(forKey: arrival.key.path) else { return nil }
        let outcome: Outcome = late.move.outcome == .duplicate ? .duplicate : .quarantined
        var ended = EndedArrival(
            key: arrival.key, outcome: outcome, reason: late.move.reason, ended: .now, firstSeen: arrival.firstSeen)
        ended.destination = late.destination
        ended.operation = late.operation
        ended.bytes = late.move.identity.size
        return Conclusion(.ended(outcome), ended)
    }

    /// Another file lies at `path` of the inbox now.
    func forgetLateOutcome(of path: BytePath) { late[path] = nil }
}

/// A move that was finished by recovery in the life that began it.
private struct EndedMove {
    let move: MoveRecord
    let destination: BytePath
    let operation: Int64?
}

extension Catalogue {
    /// Records an outcome other than filed; its number. `kept` is the identity of the file, which stays in its inbox.
    nonisolated(nonsending) func record(
        _ ended: EndedArrival, photo: Int64? = nil, sha256: [UInt8]? = nil, kept: FileIdentity
    ) async throws(CatalogueError) -> Int64 {
        let outcome = OutcomeRecord(
            at: ended.ended.wall, inbox: ended.key.inbox, path: ended.key.path, outcome: OutcomeKind(ended.outcome),
            reason: ended.reason, sha256: sha256, photoID: photo, destination: ended.destination)
        let source = KeptSource(
            inbox: ended.key.inbox, path: ended.key.path, identity: kept, since: ended.ended.wall, why: ended.reason,
            sha256: sha256)
        return try await record(outcome, kept: source)
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
