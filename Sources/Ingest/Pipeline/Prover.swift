import Catalogue
import FileValues
import Filing
import FleetRules
import LinuxKernel
import PhotoFormats
import PhotoModel

/// Examines one arrival after another until it is proven to be whole, or has another outcome. On the inbox's queue.
final class Prover {
    private let inbox: InboxContext
    private let mover: Mover
    /// How long this inbox's writers were seen to pause.
    private var pace = QuietPace()

    private var spec: InboxSpec { inbox.spec }

    init(_ inbox: InboxContext, _ mover: Mover) {
        self.inbox = inbox
        self.mover = mover
    }

    /// What the examination of an arrival has shown.
    enum Result {
        /// It is whole; `hasSet` if a set was filed that it may belong to.
        case ready(ReadyMember, hasSet: Bool)
        case concluded(Conclusion)
    }

    nonisolated(nonsending) func examine(_ arrival: Arrival, _ work: FileWork) async throws -> Result {
        let path = arrival.key.path
        var sidecar: SidecarKind?
        switch NameRules.decide(path) {
        case .ignored(let rule): return .concluded(inbox.ignored(arrival, "not ours, by its name: \(rule)"))
        case .unfinished(let rule):
            return .concluded(inbox.ignored(arrival, "unfinished name, \(rule): its final name counts"))
        case .sidecar(let kind) where spec.sets.isEnabled: sidecar = kind
        case .sidecar(let kind):
            return .concluded(inbox.ignored(arrival, "a sidecar (\(kind.rawValue)); it stays where it is"))
        case .take: break
        }
        let source: SourceFile
        do { source = try inbox.directories.source(path) } catch {
            // Gone, for it was moved: by a move whose end could not be recorded then.
            if let late = mover.lateOutcome(of: arrival) { return .concluded(late) }
            throw error
        }
        mover.forgetLateOutcome(of: path)
        let (identity, keys) = (source.identity, spec.sets.isEnabled ? arrival.setKeys.map(\.bytes) : [])
        let (kept, hasSet) = try await inbox.catalogue.perform("looking up an arrival") { [name = spec.name] in
            let known = try $0.arrival(identity, inbox: name, keys: keys)
            return (try Self.keptState(of: identity, as: known.kept, inbox: name, in: $0), known.hasSet)
        }
        if let kept {
            // It was logged in an earlier life, or a moment ago: now it is only counted.
            var conclusion = Conclusion(.ended(.ignored))
            conclusion.kept = kept
            return .concluded(conclusion)
        }
        if try await isPending(path) {
            let reason = "it is filed or set aside, and that is still to be finished"
            return .concluded(inbox.deferredUntilRecovered(reason))
        }
        let found = try await prove(arrival, source, sidecar, work)
        var conclusion: Conclusion
        switch found.proof {
        case .complete(let evidence):
            let member = ReadyMember(
                arrival, source, found.report, sidecar, date: found.date, proof: evidence, quiet: found.quiet,
                hash: found.hash)
            return .ready(member, hasSet: hasSet)
        case .wait(let reason, let wait):
            conclusion = Conclusion(.waitForQuiet(reason: reason, seconds: wait / .seconds(1)))
        case .lacking(let reason): conclusion = Conclusion(.defer(reason: reason))
        case .incomplete(let reason) where sidecar != nil, .damaged(let reason) where sidecar != nil,
            .notAPhoto(let reason) where sidecar != nil:
            // Nobody needs to be called for a sidecar that never gets whole: it stays where it is, and is examined again
            // when its photo comes. So nothing of it is recorded.
            let isOver = found.quiet.remaining(of: spec.patience, at: .now) <= .zero
            conclusion = isOver ? inbox.ignored(arrival, source, reason) : Conclusion(.defer(reason: reason))
        case .incomplete(let reason), .damaged(let reason):
            let what = found.report.completeness == .empty ? "it is empty" : reason
            conclusion = try await beforeQuarantine(arrival, source, found.quiet, what, work)
        case .notAPhoto(let reason) where !PhotoFormat.formats(withExtension: path.lowercasedExtension).isEmpty:
            conclusion = try await beforeQuarantine(
                arrival, source, found.quiet, "not a photo in spite of its name: \(reason)", work)
        case .notAPhoto(let reason):
            conclusion = try await ignore(arrival, source, "not a photo: \(reason)")
        }
        conclusion.quiet = found.quiet
        return .concluded(conclusion)
    }

    /// The state in which a file had its outcome, if it has been so since; nil if it is to be examined.
    private static func keptState(
        of identity: FileIdentity, as kept: KeptSource?, inbox: String, in catalogue: CatalogueFile
    ) throws(CatalogueError) -> KeptState? {
        guard let kept, kept.identity == identity else { return nil }
        let last = try catalogue.outcomes(forPath: kept.path, inbox: inbox).first?.outcome.outcome
        return last == .ignored ? .leftAlone(identity) : .opened(identity)
    }

    /// What is known of a file that was read.
    private struct Reading {
        let proof: Proof
        let quiet: QuietCheck
        let report: PhotoReport
        let date: CaptureDateDecision
        /// Of its bytes, where they were read.
        let hash: ContentHash?
    }

    /// Reads the file's structure, and its bytes where that is what is still missing.
    private nonisolated(nonsending) func prove(
        _ arrival: Arrival, _ source: SourceFile, _ sidecar: SidecarKind?, _ work: FileWork
    ) async throws -> Reading {
        let now = ContinuousClock.now
        var quiet = arrival.quiet ?? QuietCheck(source.identity, at: now)
        if quiet.identity != source.identity { pace.changed(from: quiet.identity, to: source.identity) }
        quiet.observe(source.identity, at: now)
        work.willEnter(.openSource)
        var examination = try Examination(of: source, probe: inbox.probe, sidecar: sidecar)
        let date = date(of: source, examination.report)
        examination.isDatedByFile = sidecar == nil && date.chosen?.provenance == .fileModified
        let windows = spec.quiet.adapted(to: pace)
        var proof = examination.decide(quiet, windows: windows, at: now)
        var hash: ContentHash?
        if case .complete = proof {
            let read = try source.read(work)
            try examination.note(read.emptyBlocks, of: source)
            proof = examination.decide(quiet, windows: windows, at: now)
            hash = read.hash
        }
        if let words = try await releaseAsIs(of: source, proof, work) { proof = .complete(evidence: words) }
        return Reading(proof: proof, quiet: quiet, report: examination.report, date: date, hash: hash)
    }

    private func date(of source: SourceFile, _ report: PhotoReport) -> CaptureDateDecision {
        CaptureDateDecision(
            recorded: report.dates, name: source.name, modified: source.identity.modified,
            now: Moment.now.wall, trust: inbox.places.dates, zone: { LocalClock(at: $0).offset })
    }

    /// Why a file may be filed that cannot be proven complete: a person released it as it is. Nil for all others.
    private nonisolated(nonsending) func releaseAsIs(
        of source: SourceFile, _ proof: Proof, _ work: FileWork
    ) async throws -> String? {
        switch proof {
        case .complete, .wait: return nil
        case .lacking, .incomplete, .damaged, .notAPhoto: break
        }
        let (name, size) = (spec.name, source.identity.size)
        guard try await inbox.catalogue.perform("reading requests", { try $0.hasReleaseAsIs(inbox: name, size: size) })
        else { return nil }
        let hash = try source.hash(work).bytes
        let request = try await inbox.catalogue.perform("reading requests") {
            try $0.releaseAsIs(inbox: name, size: size, sha256: hash)
        }
        return request.map { "released by \($0.request.asker)" }
    }

    /// Whether it is filed, and still to be removed or remembered as kept, or a move of it is to be finished or undone. In a
    /// catalogue of several daemons a filing that was lost, and one of a sidecar, keeps nobody from beginning it again, so those
    /// count as well: else recovery and the next try would each file a part of a set.
    private nonisolated(nonsending) func isPending(_ path: BytePath) async throws -> Bool {
        guard inbox.recovery.withLock({ $0.isPending }) else { return false }
        return try await inbox.catalogue.perform("reading intents") {
            [name = spec.name, apart = inbox.distrusted] catalogue in
            try catalogue.pendingMoves(inbox: name).contains { $0.move.path == path }
                || catalogue.pendingIntents(inbox: name).contains {
                    $0.photo.sourcePath == path
                        && ($0.step == .recorded || catalogue.isShared && !apart.contains($0.token))
                }
        }
    }

    /// What is not whole may become so: it is examined again until patience, counted from its last change, is over.
    private nonisolated(nonsending) func beforeQuarantine(
        _ arrival: Arrival, _ source: SourceFile, _ quiet: QuietCheck, _ reason: String, _ work: FileWork
    ) async throws -> Conclusion {
        if quiet.remaining(of: spec.patience, at: .now) > .zero { return Conclusion(.defer(reason: reason)) }
        return try await mover.quarantine(arrival, source, reason: reason, work)
    }

    /// Ignored by its content: it stays where it is, and is not reported again after a restart.
    private nonisolated(nonsending) func ignore(
        _ arrival: Arrival, _ source: SourceFile, _ reason: String
    ) async throws -> Conclusion {
        var conclusion = inbox.ignored(arrival, source, reason)
        if let record = conclusion.record {
            conclusion.record?.operation = try await inbox.catalogue.record(record, kept: source.identity)
        }
        return conclusion
    }
}
