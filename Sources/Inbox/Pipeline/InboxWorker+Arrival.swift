import FileValues
import Filing
import LinuxKernel
import PhotoModel

/// The way of one arrival to its proof.
extension InboxWorker {
    /// From the name to the proof, and on to ``file(_:_:_:proof:_:)``.
    func takeOn(_ arrival: Arrival, _ work: FileWork) async throws -> Conclusion {
        let path = arrival.key.path
        switch NameRules.decide(path) {
        case .ignored(let rule): return leave(arrival, "not ours, by its name: \(rule)")
        case .unfinished(let rule): return leave(arrival, "unfinished name, \(rule): its final name counts")
        case .sidecar(let kind): return leave(arrival, "a sidecar (\(kind.rawValue)); it stays where it is")
        case .take: break
        }
        let source: SourceFile
        do { source = try open(path) } catch {
            // Gone, for it was moved: by a move whose end could not be recorded then.
            if let late = lateOutcome(of: arrival) { return late }
            throw error
        }
        movedLate[path] = nil
        if try await catalogue.isKept(source.identity, inbox: spec.name) {
            // It was told in an earlier life, or a moment ago: now it is only counted.
            var conclusion = Conclusion(.ended(.ignored))
            conclusion.settled = .opened(source.identity)
            return conclusion
        }
        if owed.withLock({ $0.isOwed }), try await catalogue.isOwed(path, inbox: spec.name) {
            return postponed("it is filed or set aside, and that is still to be finished")
        }
        let now = ContinuousClock.now
        var quiet = arrival.quiet ?? QuietCheck(source.identity, at: now)
        if quiet.identity != source.identity { pace.changed(from: quiet.identity, to: source.identity) }
        quiet.observe(source.identity, at: now)
        work.willEnter(.openSource)
        var examination = try Examination(of: source, probe: probe)
        let windows = spec.quiet.adapted(to: pace)
        var proof = examination.decide(quiet, windows: windows, at: now)
        var content: SourceContent?
        if case .complete = proof {
            let read = try source.read(work)
            examination.hasEmptyBlocks = read.hasEmptyBlocks
            proof = examination.decide(quiet, windows: windows, at: now)
            content = read
        }
        var conclusion: Conclusion
        if let words = try await releaseAsIs(of: source, proof, work) { proof = .complete(evidence: words) }
        switch proof {
        case .complete(let evidence):
            let hash = try content?.hash ?? source.hash(work)
            conclusion = try await file(arrival, source, examination.report, hash, proof: evidence, work)
        case .wait(let reason, let wait):
            conclusion = Conclusion(.settle(reason: reason, seconds: wait / .seconds(1)))
        case .incomplete(let reason), .damaged(let reason):
            let what = examination.report.completeness == .empty ? "it is empty" : reason
            conclusion = try await beforeQuarantine(arrival, source, quiet, what, work)
        case .notAPhoto(let reason) where claimsToBeAPhoto(path):
            conclusion = try await beforeQuarantine(
                arrival, source, quiet, "not a photo in spite of its name: \(reason)", work)
        case .notAPhoto(let reason):
            conclusion = try await leave(arrival, source, "not a photo: \(reason)")
        }
        conclusion.quiet = quiet
        return conclusion
    }

    /// What is not whole may become so: it is looked at again until patience, counted from its last change, is over.
    private func beforeQuarantine(
        _ arrival: Arrival, _ source: SourceFile, _ quiet: QuietCheck, _ reason: String, _ work: FileWork
    ) async throws -> Conclusion {
        let left = quiet.remaining(of: spec.patience, at: .now)
        guard left > .zero else { return try await quarantine(arrival, source, reason: reason, work) }
        return Conclusion(.defer(reason: reason))
    }

    private func claimsToBeAPhoto(_ path: BytePath) -> Bool {
        !PhotoFormat.formats(withExtension: path.lowercasedExtension).isEmpty
    }

    /// Not ours, by its content: it stays where it is, and is not told again after a restart.
    private func leave(_ arrival: Arrival, _ source: SourceFile, _ reason: String) async throws -> Conclusion {
        var conclusion = ended(arrival, .ignored, reason)
        guard let record = conclusion.record else { return conclusion }
        conclusion.record?.operation = try await catalogue.record(
            record, photo: nil, sha256: nil, kept: source.identity)
        conclusion.settled = .opened(source.identity)
        return conclusion
    }

    /// The same by its name or its kind alone, for which it need not be opened nor recorded.
    func leave(_ arrival: Arrival, _ reason: String) -> Conclusion {
        var conclusion = ended(arrival, .ignored, reason)
        conclusion.settled = .asNoticed
        return conclusion
    }
}
