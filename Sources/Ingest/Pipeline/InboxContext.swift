import Catalogue
import FileValues
import Filing
import LibraryCare
import LinuxKernel
import QueueActors

/// What all work on one inbox's files shares, and what its failures amount to. On the inbox's queue.
final class InboxContext {
    let directories: InboxDirectories
    let catalogue: Catalogue
    let subsystem: Subsystem
    let probe = WriterProbe()
    /// Read by the pipeline, which has recovery tried again.
    let recovery: Locked<PendingRecovery>
    /// By their tokens, filings and moves that this life works on, which recovery must leave alone; with their plan, if
    /// they are moves.
    var underWay: [String: MoveRecord?] = [:]
    /// By their tokens, filings whose copies have names that may not be durable: none is recorded.
    var distrusted: Set<String> = []
    /// By their tokens, filings of this life whose commit was not answered, so that their arrivals wait.
    var unanswered: Set<String> = []
    /// Read by the pipeline, which is told that files are gone.
    let finished: FinishedFilings
    /// The inbox could not be opened at the last try.
    var isInboxAway = false

    var spec: InboxSpec { directories.spec }
    var places: Places { directories.places }

    init(
        _ directories: InboxDirectories, _ catalogue: Catalogue, _ subsystem: Subsystem,
        _ recovery: Locked<PendingRecovery>, _ finished: FinishedFilings
    ) {
        self.directories = directories
        self.catalogue = catalogue
        self.subsystem = subsystem
        self.recovery = recovery
        self.finished = finished
    }

    /// Something is half done: recovery is to finish or undo it.
    func requireRecovery(after error: any Error) {
        let storage = symptoms(of: error).refusal
        recovery.withLock { $0.require(refusedBy: storage, because: "\(error)") }
    }

    /// The catalogue failed to record what was about to happen. It may be recorded for all that, and is then to be undone.
    func recordingFailed(_ error: CatalogueError) -> CatalogueError {
        if !error.leavesNothing { requireRecovery(after: error) }
        return error
    }

    /// Closes intents whose filing is complete or was undone, without waiting for it. Where that fails, recovery does it.
    func closeSoon(_ intents: [Int64]) {
        catalogue.closeSoon(intents) { [recovery] error in
            recovery.withLock { $0.require(refusedBy: Symptom.catalogue(failure: error).refusal, because: "\(error)") }
        }
    }

    // MARK: - Conclusions

    /// It stays where it is, and is tried again.
    func deferred(_ reason: String, _ symptoms: [Symptom] = []) -> Conclusion {
        var conclusion = Conclusion(.defer(reason: reason))
        conclusion.symptoms = symptoms
        conclusion.refusedBy = symptoms.refusal
        return conclusion
    }

    /// An outcome that leaves the file where it is.
    func ended(_ arrival: Arrival, _ outcome: Outcome, _ reason: String) -> Conclusion {
        Conclusion(
            .ended(outcome),
            EndedArrival(
                key: arrival.key, outcome: outcome, reason: reason, ended: .now, firstSeen: arrival.firstSeen))
    }

    /// Ignored by its name or its kind alone, for which it need not be opened nor recorded.
    func ignored(_ arrival: Arrival, _ reason: String) -> Conclusion {
        var conclusion = ended(arrival, .ignored, reason)
        conclusion.kept = .asNoticed
        return conclusion
    }

    /// Ignored as it is now, by its content.
    func ignored(_ arrival: Arrival, _ source: SourceFile, _ reason: String) -> Conclusion {
        var conclusion = ended(arrival, .ignored, reason)
        conclusion.kept = .leftAlone(source.identity)
        return conclusion
    }

    /// The watch reported a regular file that is not there.
    private func missed(_ arrival: Arrival, _ outcome: Outcome, _ reason: String) -> Conclusion {
        Conclusion(.missed(outcome), ended(arrival, outcome, reason).record)
    }

    /// What a failure amounts to for one arrival that has no outcome.
    func conclusion(of error: any Error, _ arrival: Arrival) -> Conclusion {
        switch error {
        case let error as FilingError: return conclusion(of: error, arrival)
        case let refusal as LibraryGuard.Refusal:
            directories.close()
            return deferred("what lies at \(refusal.path) is not the library: \(refusal)", symptoms(of: refusal))
        case let away as LibraryGuard.PlaceAway: return deferred("\(away)")
        case let taken as PlaceLock.Taken:
            isInboxAway = isInboxAway || taken.path == spec.path
            return deferred("\(taken)", symptoms(of: taken))
        case let error as CatalogueError:
            if error.code == .inboxOfAnother { isInboxAway = true }
            guard case .beingFiled = error.code else {
                return deferred("the catalogue refused: \(error)", symptoms(of: error))
            }
            guard recovery.withLock({ $0.isPending }) else {
                return deferred("the same content is being filed just now")
            }
            return deferredUntilRecovered("what an earlier try began is still to be undone")
        default:
            directories.close()
            isInboxAway = true
            return deferred("\(error)", symptoms(of: error))
        }
    }

    /// A step failed: the source is where it was, what was ours is gone. Whose fault it was decides what is reported.
    private func conclusion(of error: FilingError, _ arrival: Arrival) -> Conclusion {
        switch error.cause {
        case .refused(let refusal): return conclusion(of: refusal, arrival)
        case .noOtherCopy(.sameFile):
            // A library that is reached through its inbox: to move or remove this file would take it out of the library.
            var conclusion = ignored(arrival, "\(error.cause)")
            conclusion.symptoms = [
                .sourceKept(inbox: spec.name, directory: arrival.key.path.parent, reason: "\(error.cause)")
            ]
            return conclusion
        case .sourceChanged(let how): return deferred("it changed while it was read: \(how)")
        default:
            // Whatever was open may be what went away; it is opened anew at the next try.
            directories.close()
            return deferred("\(error)", libraryFailure(error, arrival.key.path).map { [.library(failure: $0)] } ?? [])
        }
    }

    /// What stands under the name is nothing that is filed.
    private func conclusion(of refusal: SourceRefusal, _ arrival: Arrival) -> Conclusion {
        switch refusal {
        case .gone:
            if let end = finished.withLock({ $0.take(of: arrival) }) { return Conclusion(.ended(.filed), end) }
            return missed(arrival, .withdrawn, "gone before it was filed")
        case .leased: return deferred("\(refusal)")
        // Some programs give a file its final name as a second one, and take the first away a moment later, which no
        // event reports here.
        case .hardLinks where Moment.now.seconds(since: arrival.firstSeen) < spec.patience / .seconds(1):
            return deferred("\(refusal)")
        case .hardLinks: return ignored(arrival, "\(refusal)")
        case .symbolicLink, .fifo, .socket, .device, .directory:
            let reason = refusal == .symbolicLink ? "\(refusal), which is never followed" : "\(refusal)"
            return arrival.noticed == nil ? ignored(arrival, reason) : missed(arrival, .ignored, reason)
        }
    }

    /// What is pending must be recovered first: the cause is that of its last failure.
    func deferredUntilRecovered(_ what: String) -> Conclusion {
        let (reason, storage) = recovery.withLock { ($0.reason, $0.refusedBy) }
        var conclusion = deferred(reason.map { "\(what): \($0)" } ?? what)
        conclusion.refusedBy = storage
        return conclusion
    }

    // MARK: - Symptoms

    /// What a failure shows of the library, the catalogue and the inbox, if anything.
    func symptoms(of error: any Error) -> [Symptom] {
        switch error {
        case let failure as CatalogueError:
            if failure.code == .inboxOfAnother { return [.inboxTaken(inbox: spec.name, reason: failure.message)] }
            return [.catalogue(failure: failure)]
        case let refusal as LibraryGuard.Refusal: return [.library(failure: .replaced("\(refusal)"))]
        case is LibraryGuard.PlaceAway: return []
        case let taken as PlaceLock.Taken:
            if taken.path == places.library { return [.library(failure: .taken("\(taken)"))] }
            return [.inboxTaken(inbox: spec.name, reason: "\(taken)")]
        case let error as FilingError:
            directories.close()
            return libraryFailure(error).map { [.library(failure: $0)] } ?? []
        default: return [.inboxUnreadable(inbox: spec.name, reason: "\(error)")]
        }
    }

    /// What `error` shows of the library; nil where it is about the source, which lies at `path` of the inbox.
    private func libraryFailure(_ error: FilingError, _ path: BytePath? = nil) -> LibraryFailure? {
        // The library accepts what others put there just now.
        if error.side == .source || error.cause == .noFreeName { return nil }
        switch error.kind {
        case .noSpace:
            let size = path.flatMap { try? FileStatus(at: spec.path.appending($0)) }?.identity.size
            let status = try? FileSystemStatus(of: openDirectory(places.library))
            return .full(needed: size.map { $0 + places.minFree }, free: status?.available)
        case .readOnly: return .readOnly
        case .inputOutput, .damagedCopy: return .inputOutput
        case .unsuitableFileSystem: return .unsuitable("\(error.cause)")
        case .gone where error.step == .openDestination && error.path == places.library: return .missing
        default: return error.side == .destination ? .other("\(error)") : nil
        }
    }
}
