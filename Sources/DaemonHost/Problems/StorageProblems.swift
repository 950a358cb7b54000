import Catalogue
import DaemonSupport
import FileValues
import Ingest
import LibraryCare
import LinuxKernel
import PhotoModel
import QueueActors
import Reporting
import Settings

/// Problems of what photos are filed from and into: the library and the places beside it, the catalogue, the inboxes'
/// directories. Any thread. It checks nothing itself: those who saw something report it here.
package final class StorageProblems: Sendable {
    private struct State: Sendable {
        /// Filed sources that stay, by inbox.
        var kept: [String: Int] = [:]
        var freeBytes: [BytePath: UInt64] = [:]
        /// Bytes that the photo needed for which the library had no room.
        var needed: UInt64?
        /// How many filed photos are not in the library as they were filed.
        var damaged = 0
        /// How far the library was read again; nil if it never was.
        var verified: VerificationState?
        /// What fails and may heal by itself.
        var failing: Storage = []
        /// Whether directories of the configuration meet by mounts, and how many checks of that are under way.
        var isNested = false
        var nestingChecks = 0

        /// The library's room, for PI-402.
        func room(at path: BytePath) -> String {
            let needed = needed.map { "\(HumanText.bytes($0)) needed for a photo" }
            let free = freeBytes[path].map { "\(HumanText.bytes($0)) free" }
            let words = [needed, free].compactMap(\.self).joined(separator: ", ")
            return words.isEmpty ? "no space left" : words
        }
    }

    let reporter: ProblemReporter
    private let state = Locked(State())

    init(_ reporter: ProblemReporter) { self.reporter = reporter }

    /// Storage that fails, and is to be tried where no photo shows whether it still does.
    var failing: Storage { state.withLock { $0.failing } }

    /// How many filed photos are known to be damaged or missing.
    var damagedCount: Int { state.withLock { $0.damaged } }

    /// How far the library was read again; nil if it never was.
    var verified: VerificationState? { state.withLock { $0.verified } }

    /// Whether nothing may be filed from any inbox: directories meet that must not, or mounts have changed and that is
    /// not known yet.
    var mayBeNested: Bool { state.withLock { $0.isNested || $0.nestingChecks > 0 } }

    func freeBytes(of path: BytePath) -> Int? { state.withLock { $0.freeBytes[path].map { Int(clamping: $0) } } }

    /// A sign from work on files.
    func symptom(_ symptom: Symptom) {
        switch symptom {
        case .library(let failure): library(failure)
        case .catalogue(let failure): catalogue(failure)
        case .sourceKept(let inbox, let directory, let reason):
            let count = state.withLock { state in
                state.kept[inbox, default: 0] += 1
                return state.kept[inbox] ?? 1
            }
            reporter.set(
                .sourceKept, subject: inbox,
                [
                    .count: .count(count), .inbox: .text(inbox), .reason: .text(reason),
                    .path: .path(reporter.path(ofInbox: inbox).appending(directory)),
                ])
        case .damaged(let path, let reason):
            reporter.log.damage(path, reason: reason)
        case .inboxUnreadable(let inbox, let reason):
            reporter.set(
                .inboxMissing, subject: inbox,
                reason.map { _ in [.inbox: .text(inbox), .path: .path(reporter.path(ofInbox: inbox))] })
            // It can be opened again.
            if reason == nil { reporter.set(.inboxTaken, subject: inbox, nil) }
        case .inboxTaken(let inbox, let reason):
            let path = reporter.path(ofInbox: inbox)
            reporter.set(
                .inboxTaken, subject: inbox, [.inbox: .text(inbox), .path: .path(path), .reason: .text(reason)])
        }
    }

    // MARK: - The library

    private func library(_ failure: LibraryFailure?) {
        let path = reporter.settings?.library?.path ?? ""
        let room = state.withLock { state -> String in
            switch failure {
            case nil: state.needed = nil
            case .full(let needed, let free):
                if let free { state.freeBytes[path] = free }
                // A trial needs next to nothing, which is not what the photo needed.
                if let needed { state.needed = needed }
            case .missing: state.freeBytes[path] = nil
            case .readOnly, .inputOutput, .taken, .replaced, .unsuitable, .other: break
            }
            state.failing.set(.library, failure != nil)
            return state.room(at: path)
        }
        var rows: [ProblemCode: [ProblemParameter: ProblemValue]] = [:]
        if let failure {
            let (code, parameters) = failure.problem(at: path, waiting: reporter.waitingCount, room: room)
            rows[code] = parameters
        }
        reporter.setOne(
            of: [
                .libraryFull, .libraryReadOnly, .libraryFailing, .libraryMissing, .libraryReplaced, .placeTaken,
                .libraryUnsuitable,
            ], rows)
    }

    /// Whether the library stands at its path (nil), as was seen without writing there.
    func librarySeen(_ failure: LibraryFailure?) {
        if let failure { return library(failure) }
        for code in [ProblemCode.libraryMissing, .libraryReplaced, .placeTaken] { reporter.set(code, nil) }
    }

    /// So many bytes are free at `path`.
    func free(_ bytes: UInt64, at path: BytePath) {
        let room = state.withLock { state in
            state.freeBytes[path] = bytes
            return state.room(at: path)
        }
        // As it is now, and not as it was when the first photo had no room.
        if path == reporter.settings?.library?.path { reporter.amend(.libraryFull, [.reason: .text(room)]) }
    }

    /// Photos that are recorded in another library, or nowhere.
    func counted(_ census: LibraryGuard.Census, at library: BytePath) {
        reporter.set(.photosElsewhere, census.elsewhere.map { [.path: .path($0.library), .count: .count($0.photos)] })
        reporter.set(.photosUnrecorded, census.unrecorded.map { [.path: .path(library), .name: .path($0)] })
    }

    /// A place beside the library is on its file system (nil), or away.
    func place(_ path: BytePath, away reason: String?) {
        reporter.set(
            .placeAway, subject: path.escaped, reason.map { [.path: .path(path), .reason: .text($0)] })
    }

    /// So many photos of the library are known to be missing or damaged; the first of them, and what is wrong with it.
    func damaged(_ count: Int, _ path: BytePath?, _ reason: String?) {
        state.withLock { $0.damaged = count }
        guard count > 0, let path, let reason else { return reporter.set(.libraryDamaged, nil) }
        reporter.set(.libraryDamaged, [.count: .count(count), .name: .path(path), .reason: .text(reason)])
    }

    /// How far the library was read again.
    func verified(_ progress: VerificationState?) { state.withLock { $0.verified = progress } }

    /// Files in quarantine, and the last of them.
    func quarantine(holds count: Int, last: BytePath?) {
        reporter.set(.photosQuarantined, count == 0 ? nil : [.count: .count(count), .path: .path(last ?? "")])
    }

    /// A check begins whether directories meet; nothing more is filed from any inbox until ``nested(_:)``.
    func checksForNesting() { state.withLock { $0.nestingChecks += 1 } }

    /// Directories that meet by mounts, a sentence each; while there are any, nothing is filed.
    func nested(_ sentences: [String]) {
        state.withLock { state in
            state.isNested = !sentences.isEmpty
            state.nestingChecks -= 1
        }
        reporter.set(
            .placesNested, sentences.first.map { [.reason: .text($0), .count: .count(reporter.waitingCount)] })
    }

    // MARK: - The catalogue

    private func catalogue(_ error: CatalogueError?) {
        var rows: [ProblemCode: [ProblemParameter: ProblemValue]] = [:]
        if let error {
            let path = reporter.settings?.catalogue.name ?? ""
            let common: [ProblemParameter: ProblemValue] = [.path: .path(path), .count: .count(reporter.waitingCount)]
            switch error.code {
            case .replaced: rows[.catalogueReplaced] = common.merging([.reason: .text(error.message)]) { $1 }
            case .diskFull: rows[.catalogueFull] = common
            case .anotherHost: rows[.catalogueTaken] = common.merging([.reason: .text(error.message)]) { $1 }
            // Transient, or of one photo alone: it shows nothing of the rest.
            case .busy, .alreadyRecorded, .beingFiled, .pathTaken, .noSuchIntent, .inboxOfAnother: return
            case .corrupt: rows[.catalogueDamaged] = common.merging([.reason: .text("\(error)")]) { $1 }
            case _ where reporter.settings?.catalogue.file == nil:
                // Of a server that is away, the row itself says what to do.
                let reason = error.isAway ? "\(error)" : error.explained
                rows[.catalogueUnreachable] = common.merging([.reason: .text(reason)]) { $1 }
            default: rows[.catalogueDamaged] = common.merging([.reason: .text("\(error)")]) { $1 }
            }
        }
        state.withLock { $0.failing.set(.catalogue, error?.mayHeal ?? false) }
        reporter.setOne(
            of: [
                .catalogueFull, .catalogueDamaged, .catalogueReplaced, .catalogueUnreachable, .catalogueTaken,
            ], rows)
    }

    /// The catalogue at this path is being made anew; nil when it is whole.
    func rebuilding(catalogue path: String?) {
        reporter.set(
            .catalogueRebuilding, path.map { [.path: .path(BytePath($0)), .count: .count(reporter.waitingCount)] })
    }
}

extension Storage {
    fileprivate mutating func set(_ element: Storage, _ isFailing: Bool) {
        if isFailing { insert(element) } else { remove(element) }
    }
}

extension CatalogueError {
    /// Whether writing to it may show that it is over: not so where some pages are damaged, and others are not.
    fileprivate var mayHeal: Bool { ![.corrupt, .newerSchema, .olderSchema, .missing].contains(code) }
}
