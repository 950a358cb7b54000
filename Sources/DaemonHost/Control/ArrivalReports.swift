import Catalogue
import ControlProtocol
import DaemonSupport
import FileValues
import Ingest
import LinuxKernel
import Reporting

/// What the daemon says of files to the program that has put them into an inbox.
///
/// What it calls durable is filed with its record in the catalogue: the copy was synced and read again before, as
/// `FilingTransaction` has it. It is not durable while it is not known whether the library still has it.
struct ArrivalReports: Sendable {
    let state: LiveState
    let catalogue: Catalogue

    private static let doubts: [ProblemCode] = [
        .libraryMissing, .libraryReplaced, .libraryFailing, .libraryStalled, .placeTaken,
    ]

    /// Whether nothing speaks against the library's being there, with the photos that the catalogue has.
    private var isLibraryThere: Bool { !Self.doubts.contains { state.problems.isRaised($0) } }

    /// Whether a photo of each content is filed.
    func known(_ hashes: [[UInt8]]) async throws -> [Bool] {
        guard isLibraryThere else { return hashes.map { _ in false } }
        return try await catalogue.perform("looking up contents") { file in
            try hashes.map { try Self.standing($0, file) != nil }
        }
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
        let isLibraryThere = isLibraryThere
        var reports = try await catalogue.perform("looking up outcomes") { file in
            var reports = FileReports(through: newest ?? 0)
            for (index, path) in paths.enumerated() {
                if let stage = arrivals?[index] {
                    reports.files.append(Self.report(path, stage))
                } else if let outcome = try file.outcomes(forPath: path, inbox: inbox).first {
                    reports.files.append(try Self.report(outcome, file, isLibraryThere))
                } else {
                    reports.files.append(FileReports.Report(path, .unseen))
                }
            }
            // Outcomes that a rebuilt catalogue has not are asked for again from its beginning.
            guard let after, after <= reports.through else { return reports }
            let new = try file.outcomes(after: after, limit: ControlCommand.outcomesLimit)
            for outcome in new where outcome.outcome.inbox == inbox {
                reports.files.append(try Self.report(outcome, file, isLibraryThere))
            }
            if new.count == ControlCommand.outcomesLimit, let last = new.last { reports.through = last.id }
            return reports
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

    private static func report(
        _ stored: StoredOutcome, _ file: CatalogueFile, _ isLibraryThere: Bool
    ) throws -> FileReports.Report {
        let outcome = stored.outcome
        let photo = try outcome.photoID.flatMap { try file.photo(id: $0) }
        // Its content counts: the photo may have been filed again, or by a release under another name.
        let standing = try (outcome.sha256 ?? photo?.photo.sha256).flatMap { try Self.standing($0, file) }
        var step: FileReports.Step
        switch outcome.outcome {
        case .filed: step = .filed
        case .duplicate: step = .duplicate
        case .quarantined: step = standing == nil ? .quarantined : .filed
        case .ignored: step = .ignored
        case .withdrawn: step = .withdrawn
        }
        let isFiled = step == .filed || step == .duplicate
        if isFiled, standing == nil { step = photo?.undoneBy == nil ? .lost : .undone }
        var report = FileReports.Report(outcome.path, step)
        (report.operation, report.reason) = (stored.id, outcome.reason)
        if isFiled, let standing {
            report.place = standing.photo.libraryPath.escaped
            if isLibraryThere { report.durable = hexadecimal(standing.photo.sha256) }
        }
        return report
    }
}
