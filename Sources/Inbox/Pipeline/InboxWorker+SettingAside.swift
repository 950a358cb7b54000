import Catalogue
import FileValues
import Filing
import LinuxKernel

/// Outcomes that move a file out of its inbox without filing it. A move is written down before it is made, so that a
/// crash at any moment leaves one file with one row.
extension InboxWorker {
    /// The library has these bytes, in the file `found`, which was read again.
    func setAsideDuplicate(
        _ duplicate: HashedMember, of stored: StoredPhoto, _ found: FileStatus, _ work: FileWork
    ) async throws -> Conclusion {
        let (arrival, source, hash) = (duplicate.member.arrival, duplicate.member.source, duplicate.hash)
        let known = KnownPhoto(stored)
        if found.device == source.status.device, found.identity.inode == source.identity.inode {
            let same = CopyDoubt.sameFile(places.library.appending(known.path))
            throw FilingError(.verifyCopy, .either, .noOtherCopy(same), path: source.path)
        }
        var ended = EndedArrival(
            key: arrival.key, outcome: .duplicate,
            reason: "the same bytes as \(known.path.escaped), which was read again", ended: .now,
            firstSeen: arrival.firstSeen)
        ended.sha256 = "\(hash)"
        ended.bytes = source.identity.size
        var kept: FileIdentity?
        if spec.removesSources {
            let copy = libraryCopy(known.path, hash, size: source.identity.size, lastRead: found)
            kept = try await move(
                source, hash, to: places.duplicates, &ended, duplicateOf: known.id, seeing: [.recorded(copy)], work)
        } else {
            kept = source.identity
            ended.operation = try await catalogue.record(ended, photo: known.id, sha256: hash, kept: kept)
        }
        var conclusion = Conclusion(.ended(.duplicate), ended)
        conclusion.settled = kept.map { .opened($0) }
        // As a filing would: the library was read, and the catalogue written.
        conclusion.symptoms = [.library(failure: nil), .catalogue(failure: nil)]
        return conclusion
    }

    /// A person has to look at it: it goes out of the way, with a note beside it that says why.
    func quarantine(
        _ arrival: Arrival, _ source: SourceFile, reason: String, _ work: FileWork
    ) async throws -> Conclusion {
        var ended = EndedArrival(
            key: arrival.key, outcome: .quarantined, reason: reason, ended: .now, firstSeen: arrival.firstSeen)
        ended.bytes = source.identity.size
        let hash = try source.hash(work)
        let kept = try await move(source, hash, to: places.quarantine, &ended, duplicateOf: nil, work)
        var conclusion = Conclusion(.ended(.quarantined), ended)
        conclusion.settled = kept.map { .opened($0) }
        return conclusion
    }

    /// Moves `source` below `place` and records that; the identity of a file that could not be moved, and so stays. On
    /// an error its row stays, and ``recover()`` finds out how far it came.
    private func move(
        _ source: SourceFile, _ hash: ContentHash, to place: BytePath, _ ended: inout EndedArrival,
        duplicateOf photo: Int64?, seeing copies: [OtherCopy] = [], _ work: FileWork
    ) async throws -> FileIdentity? {
        let subdirectory = BytePath(spec.name)
        while true {
            let left = owed.withLock { $0.isOwed } ? try await catalogue.pendingMoves(inbox: spec.name) : []
            // No suspension from here on until the name is ours.
            let root = try root(place)
            let name = try root.freeName(
                like: source.name, in: subdirectory, butNot: names(inUseBelow: place, left.map(\.move)))
            let token = FileNames.makeToken()
            let record = MoveRecord(
                token: token, since: Moment.now.wall, inbox: spec.name, path: source.path, root: place,
                destination: subdirectory.appending(name), outcome: OutcomeKind(ended.outcome), reason: ended.reason,
                sha256: hash.bytes, photoID: photo, identity: source.identity)
            underWay[token] = record
            defer { underWay[token] = nil }
            let begun = try await catalogue.begin(record)
            var kept: FileIdentity?
            do throws(FilingError) {
                switch try source.move(
                    to: root, subdirectory: subdirectory, only: name, token: token, seeing: copies, probe: probe,
                    work: work)
                {
                case .moved(let path):
                    ended.destination = place.appending(path)
                    try writeNote(on: record, in: root, work: work)
                case .kept: kept = try source.identityWhenKept()
                }
            } catch {
                owe(error)
                // Somebody took the name meanwhile: the row is dropped by recovery, and another name found.
                if case .noFreeName = error.cause { continue }
                throw error
            }
            do {
                ended.operation = try await catalogue.finish(begun, destination: ended.destination, kept: kept)
            } catch {
                owe(error)
                throw error
            }
            if kept == nil { ImportInbox.removeEmptied(by: source.path, of: spec.path) }
            return kept
        }
    }

    /// Names below `place` that moves are about to take, or may have taken (`left`): a plan must be the only one for its
    /// name.
    private func names(inUseBelow place: BytePath, _ left: [MoveRecord]) -> Set<BytePath> {
        Set((underWay.values.compactMap { $0 } + left).filter { $0.root == place }.map(\.destination.name))
    }

    /// Why it needs a person, beside what was quarantined.
    private func writeNote(
        on move: MoveRecord, in root: DestinationRoot, again: Bool = false, work: FileWork = FileWork()
    ) throws(FilingError) {
        guard move.outcome == .quarantined else { return }
        let note = QuarantineNote(
            what: "set aside by photo-inbox, unchanged", why: move.reason, when: Moment.now.wall,
            origin: spec.path.appending(move.path),
            advice: "copy it again from where it came; this one can then be deleted")
        try writeReason(note, besides: move.destination, in: root, again: again, work: work)
    }

    /// Finds out how far a move came that nobody works on any more, and finishes or undoes it.
    func recover(_ move: StoredMove) async throws {
        guard let hash = ContentHash(move.move.sha256) else { return }
        let root = try root(move.move.root)
        let inbox = try openInbox()
        let pending = PendingMove(
            token: move.move.token, source: move.move.path, identity: move.move.identity, hash: hash,
            destination: move.move.destination)
        switch try Recovery(probe: probe).recover(pending, inbox: inbox.descriptor, root: root) {
        case .undone, .vanished: _ = try await catalogue.finish(move, destination: nil, kept: nil)
        case .moved:
            try writeNote(on: move.move, in: root, again: true)
            let destination = move.move.root.appending(move.move.destination)
            let operation = try await catalogue.finish(move, destination: destination, kept: nil)
            movedLate[move.move.path] = LateMove(move: move.move, destination: destination, operation: operation)
        }
    }

    /// The outcome of an arrival whose move was finished after it had failed half-way; nil for any other.
    func lateOutcome(of arrival: Arrival) -> Conclusion? {
        guard let late = movedLate.removeValue(forKey: arrival.key.path) else { return nil }
        let outcome: Outcome = late.move.outcome == .duplicate ? .duplicate : .quarantined
        var ended = EndedArrival(
            key: arrival.key, outcome: outcome, reason: late.move.reason, ended: .now, firstSeen: arrival.firstSeen)
        ended.destination = late.destination
        ended.operation = late.operation
        ended.bytes = late.move.identity.size
        return Conclusion(.ended(outcome), ended)
    }
}

/// A move that was finished by recovery in the life that began it.
struct LateMove: Sendable {
    let move: MoveRecord
    let destination: BytePath
    let operation: Int64?
}
