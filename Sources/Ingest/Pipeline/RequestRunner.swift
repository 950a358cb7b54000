import Catalogue
import ControlProtocol
import FileValues
import Filing
import Glibc
import LibraryCare
import LinuxKernel
import QueueActors
import Reporting
import Settings

/// Where a file is, and where it goes.
private struct Way {
    let sourceRoot: BytePath
    let path: BytePath
    let destinationRoot: BytePath
    let directory: BytePath
    let name: BytePath
}

/// Carries out what people ask for: a file that was set aside goes back or away, a filed photo is returned, or moved to a
/// bucket that has it.
///
/// The request is recorded, then the file is renamed, or copied, verified, synced and only then removed; then what the
/// request came to is recorded. At every instant one whole copy is there, and ``recover(_:)`` finds it; of what is moved to a
/// bucket it is there before the request. On the inbox's queue.
struct RequestRunner {
    let inbox: InboxContext

    private var spec: InboxSpec { inbox.spec }
    private var places: Places { inbox.places }

    /// Carries it out for all that belong together, one after the other, as far as the first that is refused; if what was shown
    /// is expected, all of that or nothing. Never throws: what failed is the answer.
    nonisolated(nonsending) func carryOut(
        _ request: FileRequest, _ all: [OperationFacts]
    ) async -> [RequestResult] {
        // A set is not torn because a part of it is in a bucket.
        if case .undo = request.what, let moved = all.first(where: { $0.photo?.photo.isInBucket == true }) {
            return [await carryOut(request, moved, expecting: nil)]
        }
        guard let expected = request.expected else { return await carryOutEach(request, all) }
        guard expected.count == all.count else {
            return all.prefix(1).map { RequestResult(answer: ControlAnswer(RequestRefusal.changed($0.outcome))) }
        }
        var look = request
        look.isDryRun = true
        let refused = await carryOutEach(look, all).filter { $0.answer.status != 0 }
        return refused.isEmpty ? await carryOutEach(request, all) : refused
    }

    private nonisolated(nonsending) func carryOutEach(
        _ request: FileRequest, _ all: [OperationFacts]
    ) async -> [RequestResult] {
        var done: [RequestResult] = []
        for (facts, number) in zip(all, 0...) where done.allSatisfy({ $0.answer.status == 0 }) {
            done.append(await carryOut(request, facts, expecting: request.expected?[number]))
        }
        return done
    }

    private nonisolated(nonsending) func carryOut(
        _ request: FileRequest, _ facts: OperationFacts, expecting expected: String?
    ) async -> RequestResult {
        inbox.subsystem.enter("\(request.what.verb) of operation \(facts.outcome.id)")
        defer { inbox.subsystem.idle() }
        do {
            return try await move(request, facts, expecting: expected)
        } catch let refusal as RequestRefusal {
            return RequestResult(answer: ControlAnswer(refusal))
        } catch let error as FilingError {
            inbox.directories.close()
            return RequestResult(answer: ControlAnswer(RequestRefusal(error, facts.outcome)))
        } catch let error as CatalogueError {
            return RequestResult(
                answer: ControlAnswer(
                    status: (error.isTransient ? ExitStatus.busy : .failed).rawValue, "the catalogue refused: \(error)",
                    action: error.isTransient ? "Try again." : nil))
        } catch {
            inbox.directories.close()
            return RequestResult(answer: ControlAnswer(status: ExitStatus.failed.rawValue, "\(error)"))
        }
    }

    private nonisolated(nonsending) func move(
        _ request: FileRequest, _ facts: OperationFacts, expecting expected: String?
    ) async throws -> RequestResult {
        try refuseSecond(request, facts)
        let outcome = facts.outcome.outcome
        if case .release = request.what, outcome.destination == nil {
            return try await releaseInPlace(request, facts, expecting: expected)
        }
        let way = try self.way(of: request, facts)
        if [.release, .discard].contains(request.what.kind), let other = try await successor(of: facts.outcome) {
            guard request.what == .discard else { throw RequestRefusal.replaced(facts.outcome, by: other) }
            return try await closeDeleted(way, request, facts, expecting: expected, isReplaced: true)
        }
        let root = try inbox.directories.origin(way.sourceRoot)
        let source: SourceFile
        do throws(FilingError) { source = try SourceFile(way.path, beneath: root) } catch {
            guard case .refused(.gone) = error.cause, request.what == .discard else { throw error }
            return try await closeDeleted(way, request, facts, expecting: expected)
        }
        let from = way.sourceRoot.appending(way.path)
        var item = ControlAnswer.Item(request.what.participle, inbox: outcome.inbox, file: outcome.path)
        item.operation = facts.outcome.id
        item.from = from
        item.identity = try source.identity(expecting: expected, facts.outcome)
        var stored: ContentHash?
        if case .store(_, _, let hash) = request.what {
            stored = hash
            if request.isDryRun, inbox.probe.probe(source) == .writerOpen {
                throw RequestRefusal.written(facts.outcome)
            }
        }
        let hash = stored != nil || !request.isDryRun ? try source.hash(FileWork()) : nil
        if let stored, stored != hash { throw RequestRefusal.altered(facts.outcome) }
        if request.what.kind == .undo, let hash, let other = try await standing(hash, besides: facts.photo) {
            throw RequestRefusal.another(facts.outcome, at: from, other)
        }
        guard !request.isDryRun, let hash else {
            item.to = way.destinationRoot.appending(way.directory).appending(way.name)
            let text = "would be \(request.what.participle): \(outcome.inbox)/\(outcome.path.escaped)"
            return RequestResult(answer: ControlAnswer(text, items: [item]))
        }
        var move = RequestedMove(
            token: FileNames.makeToken(), sourceRoot: way.sourceRoot, sourcePath: way.path,
            destinationRoot: way.destinationRoot, destinationPath: way.directory.appending(way.name),
            sha256: hash.bytes, identity: source.identity)
        inbox.underWay.updateValue(nil, forKey: move.token)
        defer { inbox.underWay[move.token] = nil }
        let photo = [.undo, .store].contains(request.what.kind) ? facts.photo : nil
        // As long as the intent of its filing is open, its source may stand.
        if photo != nil { await inbox.catalogue.flush() }
        let id: Int64
        do throws(CatalogueError) {
            id = try await inbox.catalogue.beginRequest(record(request, facts, move), returning: photo)
        } catch { throw inbox.recordingFailed(error) }
        do {
            if let stored {
                let removal = try source.remove(
                    token: move.token, hash: hash, seeing: [.stored(stored)], probe: inbox.probe, syncing: false)
                if case .kept(let error) = removal { throw error }
            } else {
                let destination = try inbox.directories.destination(way.destinationRoot)
                switch try source.move(
                    to: destination, subdirectory: way.directory, as: way.name, token: move.token, probe: inbox.probe)
                {
                case .moved(let path): move.destinationPath = path
                case .kept(let error): throw error
                }
                move.identity = try FileStatus(of: move.destinationPath, beneath: destination.descriptor).identity
            }
        } catch {
            let reason = "\(error)"
            do {
                try await inbox.catalogue.endRequest(
                    id, at: Moment.now.wall, move: nil, note: reason, returning: photo)
            } catch { inbox.requireRecovery(after: error) }
            throw error
        }
        if stored != nil {
            do { try source.syncDirectory() } catch {
                // Recovery finds it gone.
                inbox.requireRecovery(after: error)
                throw RequestRefusal(
                    .failed, "\(way.path) is removed from the library, which cannot be synced: \(error)",
                    action: "It is recorded in the bucket as soon as that is possible.")
            }
        }
        item.to = way.destinationRoot.appending(move.destinationPath)
        item.request = id
        removeNote(way)
        try await end(id, move, photo)
        return RequestResult(answer: ControlAnswer(words(request, facts, item), items: [item]))
    }

    /// What is recorded of a file that somebody deleted in the place where it was set aside.
    private static let deletedByHand = "deleted by hand"

    /// Closes the record of a file that is to be discarded, and is gone already, if it is certain that somebody deleted it.
    private nonisolated(nonsending) func closeDeleted(
        _ way: Way, _ request: FileRequest, _ facts: OperationFacts, expecting expected: String?,
        isReplaced: Bool = false
    ) async throws -> RequestResult {
        let name = "\(facts.outcome.outcome.inbox)/\(facts.outcome.outcome.path.escaped)"
        do {
            guard try isReplaced || inbox.directories.isRemoved(way.path, from: way.sourceRoot) else {
                throw RequestRefusal.changed(facts.outcome)
            }
        } catch let away as LibraryGuard.PlaceAway {
            throw RequestRefusal(
                .failed, "\(name) is not where it was put, and may be on a disk that is away: \(away)",
                action: "Mount what is missing, and try again.")
        }
        guard expected ?? Self.deletedByHand == Self.deletedByHand else { throw RequestRefusal.changed(facts.outcome) }
        var item = ControlAnswer.Item(Self.deletedByHand, inbox: facts.outcome.outcome.inbox)
        item.file = facts.outcome.outcome.path
        item.operation = facts.outcome.id
        item.from = way.sourceRoot.appending(way.path)
        item.identity = Self.deletedByHand
        let place = way.sourceRoot.appending(way.path.parent)
        let what = "\(name), which was \(Self.deletedByHand) from \(place.escaped)"
        if request.isDryRun { return RequestResult(answer: ControlAnswer("would be closed: \(what)", items: [item])) }
        item.request = try await close(facts.outcome, request.requester)
        guard item.request != nil else {
            throw RequestRefusal(
                .busy, "\(name) was moved by another request, or by another host", action: "Try again.")
        }
        return RequestResult(answer: ControlAnswer("closed \(what)", items: [item]))
    }

    /// Closes the records of quarantined files of this inbox that somebody deleted; returns their number. Those of which it is
    /// uncertain stay.
    nonisolated(nonsending) func closeDeleted(for requester: Requester) async throws -> Int {
        let waiting = try await inbox.catalogue.perform("reading what is quarantined") { [name = spec.name] in
            try $0.waitingInQuarantine(inbox: name)
        }
        // Two files have had one place: the older one is gone from it.
        let newest = Dictionary(waiting.map { ($0.outcome.destination, $0.id) }) { $1 }
        var count = 0
        for stored in waiting {
            guard let path = stored.outcome.destination?.relative(to: places.quarantine), path.isSafeBeneath,
                newest[stored.outcome.destination] != stored.id
                    || (try? inbox.directories.isRemoved(path, from: places.quarantine)) == true
            else { continue }
            if try await close(stored, requester) != nil { count += 1 }
        }
        return count
    }

    /// What was set aside later in the place of this quarantined file, which somebody must have removed before: a name that
    /// is taken is never used.
    private nonisolated(nonsending) func successor(of stored: StoredOutcome) async throws -> StoredOutcome? {
        guard stored.outcome.outcome == .quarantined else { return nil }
        return try await inbox.catalogue.perform("reading what is quarantined") { [name = spec.name] in
            try $0.waitingInQuarantine(inbox: name)
                .last { $0.id > stored.id && $0.outcome.destination == stored.outcome.destination }
        }
    }

    /// Another photo that is recorded with this content.
    private nonisolated(nonsending) func standing(
        _ hash: ContentHash, besides photo: StoredPhoto?
    ) async throws -> StoredPhoto? {
        guard let photo, photo.photo.sha256 != hash.bytes else { return nil }
        return try await inbox.catalogue.perform("looking for a content") { try $0.photo(withHash: hash.bytes) }
    }

    private nonisolated(nonsending) func close(
        _ stored: StoredOutcome, _ requester: Requester
    ) async throws -> Int64? {
        let record = RequestRecord(
            at: Moment.now.wall, what: .discard, user: requester.user, userName: requester.name, inbox: spec.name,
            path: stored.outcome.path, outcomeID: stored.id, photoID: stored.outcome.photoID)
        return try await inbox.catalogue.perform("recording a deleted file") {
            try $0.closeDeleted(record, note: Self.deletedByHand)
        }
    }

    private nonisolated(nonsending) func end(
        _ id: Int64, _ move: RequestedMove, _ photo: StoredPhoto?
    ) async throws {
        do {
            try await inbox.catalogue.endRequest(id, at: Moment.now.wall, move: move, returning: photo)
        } catch {
            inbox.requireRecovery(after: error)
            throw RequestRefusal(
                .failed,
                "the file lies in \(move.destinationRoot.appending(move.destinationPath)), but the catalogue refused: \(error)",
                action: "It is recorded as soon as the catalogue can be written to.")
        }
    }

    /// It could not be moved to quarantine and so lies in the inbox still, where it is left alone.
    private nonisolated(nonsending) func releaseInPlace(
        _ request: FileRequest, _ facts: OperationFacts, expecting expected: String?
    ) async throws -> RequestResult {
        let path = facts.outcome.outcome.path
        let source = try inbox.directories.source(path)
        var item = ControlAnswer.Item("released", inbox: spec.name, file: path)
        item.operation = facts.outcome.id
        item.from = spec.path.appending(path)
        item.to = item.from
        item.identity = try source.identity(expecting: expected, facts.outcome)
        if request.isDryRun {
            return RequestResult(
                answer: ControlAnswer("would be released: \(spec.name)/\(path.escaped)", items: [item]))
        }
        // No move, but the same record: what is released as it is is known by its content.
        let move = RequestedMove(
            token: FileNames.makeToken(), sourceRoot: spec.path, sourcePath: path, destinationRoot: spec.path,
            destinationPath: path, sha256: try source.hash(FileWork()).bytes, identity: source.identity)
        let record = record(request, facts, move)
        item.request = try await inbox.catalogue.perform("recording a request") { [name = spec.name] in
            let id = try $0.recordRequest(record, step: .done)
            try $0.forgetIgnored(inbox: name, path: path)
            return id
        }
        return RequestResult(
            answer: ControlAnswer(words(request, facts, item), items: [item]),
            lookAt: ArrivalKey(inbox: spec.name, path: path))
    }

    /// Kept under this worker's inbox, which is another than the outcome's where that is configured no longer: whoever does
    /// it finishes it after a crash, and empties the trash.
    private func record(_ request: FileRequest, _ facts: OperationFacts, _ move: RequestedMove) -> RequestRecord {
        RequestRecord(
            at: Moment.now.wall, what: request.what.kind, user: request.requester.user,
            userName: request.requester.name,
            inbox: spec.name, path: facts.outcome.outcome.path, outcomeID: facts.outcome.id,
            photoID: facts.outcome.outcome.photoID, isAsIs: request.what == .release(asIs: true), move: move)
    }

    // MARK: - After a crash

    /// Finishes or closes a request that was under way. Doing it twice changes nothing.
    nonisolated(nonsending) func recover(_ stored: StoredRequest) async throws {
        guard var move = stored.request.move, let hash = ContentHash(move.sha256) else {
            return try await end(stored, note: "not understood after a crash")
        }
        if stored.request.what == .store, let photo = stored.request.photoID {
            // The library may have another path by now.
            let recorded = try await inbox.catalogue.perform("looking for a photo's library") {
                try $0.photo(id: photo)
            }
            if let library = recorded?.photo.library, library == places.library { move.sourceRoot = library }
        }
        let source = try inbox.directories.origin(move.sourceRoot, isLibrary: stored.request.what == .store)
        let recovery = Recovery(probe: inbox.probe)
        if stored.request.what == .store {
            try recovery.bringBack(move.sourcePath, move.token, in: source)
            // Its bytes, not its inode: the library may have been copied to another disk.
            let library = try inbox.directories.destination(move.sourceRoot)
            if try library.holds(move.sourcePath, hash: hash, size: move.identity.size) {
                return try await end(stored, note: "interrupted before the file was removed")
            }
            return try await end(stored, move, note: "finished after a crash")
        }
        let destination = try inbox.directories.destination(move.destinationRoot)
        func examine(isRecorded: Bool) throws(FilingError) -> Recovered {
            try recovery.recover(
                PendingFiling(
                    token: move.token, source: move.sourcePath, identity: move.identity, hash: hash,
                    destination: move.destinationPath, isRecorded: isRecorded),
                inbox: source, library: destination)
        }
        guard case .placed(let path) = try examine(isRecorded: false) else {
            return try await end(stored, note: "interrupted before the file was moved")
        }
        move.destinationPath = path
        // A copy is there, whole and durable: now the original goes, if it is still there and still the same.
        switch try examine(isRecorded: true) {
        case .finished, .sourceReplaced, .sourceKept: break
        case .undone, .placed, .copyDamaged:
            return try await end(stored, note: "interrupted before the file was moved")
        }
        move.identity = try FileStatus(of: path, beneath: destination.descriptor).identity
        try await end(stored, move, note: "finished after a crash")
    }

    private nonisolated(nonsending) func end(
        _ stored: StoredRequest, _ move: RequestedMove? = nil, note: String
    ) async throws {
        try await inbox.catalogue.endRequest(stored.id, at: Moment.now.wall, move: move, note: note)
    }

    // MARK: - Where from, where to

    private func refuseSecond(_ request: FileRequest, _ facts: OperationFacts) throws(RequestRefusal) {
        let id = facts.outcome.id
        for earlier in facts.requests where [.release, .discard, .undo].contains(earlier.request.what) {
            let what = earlier.request.what.participle
            switch earlier.step {
            case .undone: continue
            case .begun: throw RequestRefusal(.busy, "operation \(id) is being \(what) just now", action: "Try again.")
            case .done, .expired:
                throw RequestRefusal(.noMatch, "operation \(id) was \(what) already, by \(earlier.request.asker)")
            }
        }
    }

    private func way(of request: FileRequest, _ facts: OperationFacts) throws(RequestRefusal) -> Way {
        let outcome = facts.outcome.outcome
        let (id, kind) = (facts.outcome.id, outcome.outcome)
        switch request.what {
        case .undo, .store:
            guard kind == .filed, let photo = facts.photo else {
                let other = kind == .quarantined ? "photoinbox release \(id)" : nil
                throw RequestRefusal(.failed, "operation \(id) filed nothing: its outcome is \(kind)", action: other)
            }
            guard photo.photo.library == places.library else {
                throw RequestRefusal(
                    .failed, "\(photo.photo.libraryPath) is in another library, \(photo.photo.library)",
                    action: photo.photo.isInBucket
                        ? "Bring it back first; how: photoinbox explain \(shellQuoted("\(outcome.inbox)/\(outcome.path.escaped)"))"
                        : nil)
            }
            if photo.supersededAt != nil {
                throw RequestRefusal(.noMatch, "\(photo.photo.libraryPath) is filed no longer; another took its place")
            }
            if case .store(let bucket, let path, _) = request.what {
                guard path == photo.photo.libraryPath else {
                    throw RequestRefusal(.busy, "\(path) stays: it is \(photo.photo.libraryPath) now")
                }
                return Way(
                    sourceRoot: places.library, path: photo.photo.libraryPath, destinationRoot: bucket,
                    directory: photo.photo.libraryPath.parent, name: photo.photo.libraryPath.name)
            }
            return Way(
                sourceRoot: places.library, path: photo.photo.libraryPath, destinationRoot: places.returned,
                directory: BytePath(outcome.inbox), name: photo.photo.originalName)
        case .release, .discard:
            let isDiscard = request.what == .discard
            guard kind == .quarantined || kind == .duplicate && isDiscard else {
                let other = kind == .filed ? "photoinbox undo \(id)" : nil
                throw RequestRefusal(
                    .failed, "operation \(id) set nothing aside: its outcome is \(kind)", action: other)
            }
            if kind == .duplicate, let photo = facts.photo?.photo, photo.isInBucket {
                // It would stay in the trash: nothing is deleted whose other copy cannot be read.
                throw RequestRefusal(
                    .failed, "the photo that it duplicates was moved to \(photo.library)",
                    action:
                        "Bring that back first; how: photoinbox explain \(shellQuoted("\(photo.inbox)/\(photo.sourcePath.escaped)"))"
                )
            }
            let root = kind == .quarantined ? places.quarantine : places.duplicates
            guard let destination = outcome.destination else {
                throw RequestRefusal(
                    .failed, "\(outcome.inbox)/\(outcome.path.escaped) was not moved out of its inbox",
                    action: "Remove it there.")
            }
            guard let path = destination.relative(to: root), path.isSafeBeneath else {
                throw RequestRefusal(.failed, "it was set aside in another place, \(destination), than \(root) is now")
            }
            if isDiscard {
                return Way(
                    sourceRoot: root, path: path, destinationRoot: places.trash, directory: BytePath(outcome.inbox),
                    name: path.name)
            }
            return Way(
                sourceRoot: root, path: path, destinationRoot: spec.path, directory: outcome.path.parent,
                name: outcome.path.name)
        }
    }

    private func removeNote(_ way: Way) {
        guard way.sourceRoot == places.quarantine, let root = try? openDirectory(way.sourceRoot) else { return }
        removeReason(besides: way.path, in: root)
    }

    private func words(_ request: FileRequest, _ facts: OperationFacts, _ item: ControlAnswer.Item) -> String {
        let file = "\(facts.outcome.outcome.inbox)/\(facts.outcome.outcome.path.escaped)"
        let place = item.to?.escaped ?? ""
        switch request.what {
        case .release(asIs: false): return "released \(file): it is in \(place) and is looked at again"
        case .release(asIs: true): return "released \(file): it is in \(place) and is filed as it is"
        case .discard:
            return "discarded \(file): it is in \(place) and will be deleted in \(places.trashTime)"
        case .undo: return "taken back \(file): it is in \(place) and is filed no longer"
        case .store: return "moved \(file) to \(place)"
        }
    }
}

extension SourceFile {
    /// What tells it from every other file, and from what it was before it was written to.
    fileprivate func identity(expecting expected: String?, _ outcome: StoredOutcome) throws(RequestRefusal) -> String {
        let changed = identity.changed
        let found = "\(identity.inode)-\(identity.size)-\(changed.seconds).\(changed.nanoseconds)"
        guard expected ?? found == found else { throw .changed(outcome) }
        return found
    }
}

extension RequestRefusal {
    fileprivate static func changed(_ outcome: StoredOutcome) -> RequestRefusal {
        RequestRefusal(
            .failed, "\(outcome.outcome.inbox)/\(outcome.outcome.path.escaped) has changed since it was shown",
            action: "See what would be done now.")
    }

    fileprivate static func written(_ outcome: StoredOutcome) -> RequestRefusal {
        RequestRefusal(
            .busy, "\(outcome.outcome.inbox)/\(outcome.outcome.path.escaped) stays: a program has it open for writing",
            action: "Try again.")
    }

    fileprivate static func replaced(_ outcome: StoredOutcome, by other: StoredOutcome) -> RequestRefusal {
        RequestRefusal(
            .failed,
            """
            \(outcome.outcome.inbox)/\(outcome.outcome.path.escaped) is not where it was set aside: the file there is of \
            operation \(other.id)
            """, action: "See what that is: photoinbox explain \(other.id)")
    }

    fileprivate static func another(_ outcome: StoredOutcome, at path: BytePath, _ other: StoredPhoto) -> RequestRefusal
    {
        RequestRefusal(
            .failed,
            """
            \(outcome.outcome.inbox)/\(outcome.outcome.path.escaped) is not at its place: the file at \(path.escaped) has the \
            bytes of another photo, recorded at \(other.photo.libraryPath.escaped)
            """, action: "Have their records repaired: photoinbox verify --repair")
    }

    fileprivate static func altered(_ outcome: StoredOutcome) -> RequestRefusal {
        RequestRefusal(
            .failed,
            "\(outcome.outcome.inbox)/\(outcome.outcome.path.escaped) stays: its file in the library has other bytes than the bucket",
            action: "See what is: photoinbox verify")
    }

    fileprivate init(_ error: FilingError, _ outcome: StoredOutcome) {
        let name = "\(outcome.outcome.inbox)/\(outcome.outcome.path.escaped)"
        if case .refused(.gone) = error.cause {
            self.init(
                .noMatch, "\(name) is not where it was put; somebody moved or removed it",
                action: "If somebody deleted it, its record is closed by: photoinbox rescan")
            return
        }
        let status: ExitStatus = error.kind == .busy || error.kind == .sourceChanged ? .busy : .failed
        self.init(status, "\(name) stays where it is: \(error)", action: status == .busy ? "Try again." : nil)
    }
}
