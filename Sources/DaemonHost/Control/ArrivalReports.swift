import Catalogue
import ControlProtocol
import DaemonSupport
import FileValues
import Ingest
import LibraryCare
import LinuxKernel
import Reporting
import Settings
import SystemMonitor
import SystemPackage

/// What the daemon says of files to the program that has put them into an inbox.
///
/// What it calls durable is filed with its record in the catalogue: the copy was synced and read again before, as
/// `FilingTransaction` has it. A record alone is not sufficient: the library may be another one now, or have lost the file,
/// and a catalogue may be a backup. So for each answer the library is asked for the file.
struct ArrivalReports: Sendable {
    let state: LiveState
    let catalogue: Catalogue
    let library: LibrarySight

    private static let doubts: [ProblemCode] = [
        .libraryMissing, .libraryReplaced, .libraryFailing, .libraryStalled, .placeTaken,
    ]

    /// Whether nothing speaks against the library's being there, with the photos that the catalogue has.
    private var isLibraryThere: Bool { !Self.doubts.contains { state.problems.isRaised($0) } }

    /// Whether a photo of each content is filed, and its file is in the library now.
    func known(_ hashes: [[UInt8]]) async throws -> [Bool] {
        let photos = try await catalogue.perform("looking up contents") { file in
            try hashes.map { try Self.standing($0, file) }
        }
        let findings = await find(photos.compactMap(\.self))
        return photos.map { photo in photo.map { findings[$0.id] == .present } ?? false }
    }

    /// Whether these photos' files are in the library; none where that cannot be said.
    private func find(_ photos: [StoredPhoto]) async -> [Int64: LibrarySight.Finding] {
        guard !photos.isEmpty, isLibraryThere else { return [:] }
        let findings = await library.find(photos)
        // Afterwards: what a person takes back meanwhile is not called durable.
        let returning = await catalogue.returning
        let undecided = Set(photos.filter { returning.contains($0.photo.sha256) }.map(\.id))
        return isLibraryThere ? findings.filter { !undecided.contains($0.key) } : [:]
    }

    /// The photo with this content, unless it is known to be missing or damaged.
    private static func standing(_ hash: [UInt8], _ file: CatalogueFile) throws -> StoredPhoto? {
        guard let photo = try file.photo(withHash: hash), try file.damage(ofPhoto: photo.id) == nil else { return nil }
        return photo
    }

    func outcomes(of paths: [BytePath], in inbox: String, after: Int64?) async throws -> FileReports {
        // First, and then what is in hand: an outcome that is recorded meanwhile is after it.
        let newest = try await catalogue.perform("looking up outcomes") { try $0.recentOutcomes(limit: 1).first?.id }
        let arrivals = state.current.pipeline?.arrivals.withLock { table in
            paths.map { table.arrivals[ArrivalKey(inbox: inbox, path: $0)]?.stage }
        }
        let (found, photos) = try await catalogue.perform("looking up outcomes") { file in
            var reports = FileReports(through: newest ?? 0)
            // Of each report.
            var photos: [StoredPhoto?] = []
            func add(_ report: FileReports.Report, _ photo: StoredPhoto? = nil) {
                reports.files.append(report)
                photos.append(photo)
            }
            for (index, path) in paths.enumerated() {
                if let stage = arrivals?[index] {
                    add(Self.report(path, stage))
                } else if let outcome = try file.outcomes(forPath: path, inbox: inbox).first {
                    let (report, photo) = try Self.report(outcome, file)
                    add(report, photo)
                } else {
                    add(FileReports.Report(path, .unseen))
                }
            }
            // Outcomes that a rebuilt catalogue has not are asked for again from its beginning.
            guard let after, after <= reports.through else { return (reports, photos) }
            let new = try file.outcomes(after: after, limit: ControlCommand.outcomesLimit)
            for outcome in new where outcome.outcome.inbox == inbox {
                let (report, photo) = try Self.report(outcome, file)
                add(report, photo)
            }
            if new.count == ControlCommand.outcomesLimit, let last = new.last { reports.through = last.id }
            return (reports, photos)
        }
        var reports = found
        let findings = await find(photos.compactMap(\.self))
        for (index, photo) in photos.enumerated() {
            guard let photo else { continue }
            switch findings[photo.id] {
            case .present: reports.files[index].durable = hexadecimal(photo.photo.sha256)
            case .missing: reports.files[index].lose()
            case nil: break
            }
        }
        reports.paused = state.pauses.pause(of: inbox).map { "paused by \($0.by.words) since \($0.since.rfc3339)" }
        return reports
    }

    private static func report(_ path: BytePath, _ stage: ArrivalStage) -> FileReports.Report {
        guard case .deferred(let reason, _, _) = stage else { return FileReports.Report(path, .inHand) }
        var report = FileReports.Report(path, .deferred)
        report.reason = reason
        return report
    }

    /// With the photo that its being durable depends on.
    private static func report(
        _ stored: StoredOutcome, _ file: CatalogueFile
    ) throws -> (FileReports.Report, StoredPhoto?) {
        let outcome = stored.outcome
        let photo = try outcome.photoID.flatMap { try file.photo(id: $0) }
        // Its content counts: the photo may have been filed again, or by a release under another name.
        let standing = try (outcome.sha256 ?? photo?.photo.sha256).flatMap { try Self.standing($0, file) }
        var step: FileReports.Step
        switch outcome.outcome {
        case .filed: step = .filed
        case .duplicate: step = .duplicate
        case .quarantined: step = standing != nil ? .filed : try isDiscarded(stored, file) ? .discarded : .quarantined
        case .ignored: step = .ignored
        case .withdrawn: step = .withdrawn
        }
        let isFiled = step == .filed || step == .duplicate
        if isFiled, standing == nil { step = photo?.undoneBy == nil ? .lost : .undone }
        var report = FileReports.Report(outcome.path, step)
        (report.operation, report.reason) = (stored.id, outcome.reason)
        if isFiled { report.place = standing?.photo.libraryPath.escaped }
        return (report, isFiled ? standing : nil)
    }

    /// Whether a person has discarded this quarantined file, or deleted it by hand.
    private static func isDiscarded(_ outcome: StoredOutcome, _ file: CatalogueFile) throws -> Bool {
        try file.requests(ofOutcome: outcome.id).contains {
            $0.request.what == .discard && [.done, .expired].contains($0.step)
        }
    }
}

/// The files of the library that is configured, as they are now. On a queue of its own, which waits for the library.
actor LibrarySight {
    enum Finding: Hashable, Sendable {
        case present
        /// No file is at its place, though the library is there.
        case missing
    }

    private let queue = MonitorQueue(label: "photo-inbox.receipts")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let libraryGuard: LibraryGuard
    private let catalogue: Catalogue
    private nonisolated let path = Locked<BytePath?>(nil)
    /// How many seconds after its filing was recorded the library's file may be changed by it.
    private static let slack: Int64 = 2

    init(_ libraryGuard: LibraryGuard, _ catalogue: Catalogue) {
        (self.libraryGuard, self.catalogue) = (libraryGuard, catalogue)
    }

    /// A configuration came into force.
    nonisolated func adopt(_ settings: Settings) { path.withLock { $0 = settings.library?.path } }

    /// What is known of each; nothing of photos of another library, or while it is not there.
    func find(_ photos: [StoredPhoto]) -> [Int64: Finding] {
        guard let library = path.withLock({ $0 }), let root = try? openDirectory(library) else { return [:] }
        do {
            catalogue.rememberSoon(try libraryGuard.check(root, at: library))
            try libraryGuard.requireCatalogue()
        } catch { return [:] }
        var findings: [Int64: Finding] = [:]
        for stored in photos where stored.photo.library == library {
            do throws(SystemCallError) {
                let status = try FileStatus(of: stored.photo.libraryPath, beneath: root)
                // Another file, or one that was written to: nothing is known of these bytes. A time of the camera may be
                // wrong, and so may a file server's clock, but hardly both.
                let identity = status.identity
                if status.kind == .regular, identity.size == stored.photo.size,
                    min(identity.modified.seconds, identity.changed.seconds) <= stored.filedAt.seconds + Self.slack
                {
                    findings[stored.id] = .present
                }
            } catch {
                let isGone = error.code == .noSuchFileOrDirectory || error.code == .notDirectory
                if isGone { findings[stored.id] = .missing }
            }
        }
        // Below a mount point of the library whose file system is away, nothing is known to be missing.
        if findings.values.contains(.missing),
            (try? libraryGuard.awayMounts(in: root, of: library))?.values.allSatisfy({ $0 == nil }) != true
        {
            findings = findings.filter { $0.value == .present }
        }
        return findings
    }
}
