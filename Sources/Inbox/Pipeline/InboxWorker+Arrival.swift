import FileValues
import Filing
import LinuxKernel
import PhotoModel

/// The way of arrivals to their proof.
extension InboxWorker {
    /// From the names to the proofs, and on to ``file(_:looksForSet:_:)``.
    func takeOn(_ assignment: Assignment, _ work: FileWork) async -> Outcomes {
        var outcomes: Outcomes = [:]
        var ready: [ReadyMember] = []
        var looksForSet = assignment.isGathered
        var isSettling = false
        for arrival in assignment.arrivals {
            do {
                switch try await look(at: arrival, work) {
                case .ready(let member, let hasSet):
                    ready.append(member)
                    looksForSet = looksForSet || hasSet
                case .concluded(let conclusion):
                    outcomes[arrival.key] = conclusion
                    if case .settle = conclusion.verdict { isSettling = true }
                }
            } catch let error as FilingError {
                // It went or changed since it was proven; the others do without it, or with what it is then.
                outcomes[arrival.key] = conclusion(of: error, arrival)
            } catch {
                // Nothing is known of the rest either.
                for arrival in assignment.arrivals where outcomes[arrival.key] == nil {
                    outcomes[arrival.key] = conclusion(of: error, arrival)
                }
                return outcomes
            }
        }
        guard let first = ready.first else { return outcomes }
        if assignment.isGathered, isSettling {
            for member in ready { outcomes[member.key] = regathering(member) }
        } else if !assignment.isGathered, var waiting = gathering(first, assignment) {
            waiting.quiet = first.quiet
            outcomes[first.key] = waiting
        } else {
            outcomes.merge(await file(ready, looksForSet: looksForSet, work)) { $1 }
        }
        return outcomes
    }

    /// What a look at an arrival has shown.
    private enum Look {
        /// It is complete; `hasSet` if a set was filed that it may belong to.
        case ready(ReadyMember, hasSet: Bool)
        case concluded(Conclusion)
    }

    private func look(at arrival: Arrival, _ work: FileWork) async throws -> Look {
        let path = arrival.key.path
        var sidecar: SidecarKind?
        switch NameRules.decide(path) {
        case .ignored(let rule): return .concluded(leave(arrival, "not ours, by its name: \(rule)"))
        case .unfinished(let rule):
            return .concluded(leave(arrival, "unfinished name, \(rule): its final name counts"))
        case .sidecar(let kind) where spec.sets.isEnabled: sidecar = kind
        case .sidecar(let kind):
            return .concluded(leave(arrival, "a sidecar (\(kind.rawValue)); it stays where it is"))
        case .take: break
        }
        let source: SourceFile
        do { source = try open(path) } catch {
            // Gone, for it was moved: by a move whose end could not be recorded then.
            if let late = lateOutcome(of: arrival) { return .concluded(late) }
            throw error
        }
        movedLate[path] = nil
        let standing = try await catalogue.standing(
            of: source.identity, inbox: spec.name, keys: spec.sets.isEnabled ? arrival.setKeys : [])
        if standing.isKept {
            // It was told in an earlier life, or a moment ago: now it is only counted.
            var conclusion = Conclusion(.ended(.ignored))
            conclusion.settled = .opened(source.identity)
            return .concluded(conclusion)
        }
        if owed.withLock({ $0.isOwed }), try await catalogue.isOwed(path, inbox: spec.name) {
            return .concluded(whileOwed("it is filed or set aside, and that is still to be finished"))
        }
        let now = ContinuousClock.now
        var quiet = arrival.quiet ?? QuietCheck(source.identity, at: now)
        if quiet.identity != source.identity { pace.changed(from: quiet.identity, to: source.identity) }
        quiet.observe(source.identity, at: now)
        work.willEnter(.openSource)
        var examination = try Examination(of: source, probe: probe, sidecar: sidecar)
        let date = date(of: source, examination.report)
        examination.isDatedByFile = sidecar == nil && date.chosen?.provenance == .fileModified
        let windows = spec.quiet.adapted(to: pace)
        var proof = examination.decide(quiet, windows: windows, at: now)
        var content: SourceContent?
        if case .complete = proof {
            let read = try source.read(work)
            try examination.note(read.emptyBlocks, of: source)
            proof = examination.decide(quiet, windows: windows, at: now)
            content = read
        }
        var conclusion: Conclusion
        if let words = try await releaseAsIs(of: source, proof, work) { proof = .complete(evidence: words) }
        switch proof {
        case .complete(let evidence):
            let member = ReadyMember(
                arrival, source, examination.report, sidecar, date: date, proof: evidence, quiet: quiet,
                hash: content?.hash)
            return .ready(member, hasSet: standing.hasSet)
        case .wait(let reason, let wait):
            conclusion = Conclusion(.settle(reason: reason, seconds: wait / .seconds(1)))
        case .lacking(let reason): conclusion = Conclusion(.defer(reason: reason))
        case .incomplete(let reason) where sidecar != nil, .damaged(let reason) where sidecar != nil,
            .notAPhoto(let reason) where sidecar != nil:
            // Nobody needs to be called for a sidecar that never gets whole: it is let go where it is.
            let isOver = quiet.remaining(of: spec.patience, at: .now) <= .zero
            conclusion = isOver ? leave(arrival, source, alone: reason) : Conclusion(.defer(reason: reason))
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
        return .concluded(conclusion)
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

    /// The same of a sidecar, which is taken on again when its photo comes: so nothing of it is recorded.
    func leave(_ arrival: Arrival, _ source: SourceFile, alone reason: String) -> Conclusion {
        var conclusion = ended(arrival, .ignored, reason)
        conclusion.settled = .opened(source.identity)
        return conclusion
    }
}
