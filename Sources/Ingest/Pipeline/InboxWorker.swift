package import Catalogue
package import FileValues
package import Filing
package import LibraryCare
package import LinuxKernel
import PhotoModel
package import QueueActors
import Settings
import SystemMonitor
import SystemPackage

/// Called with each step that an arrival reaches; on the worker's queue.
typealias StepReport = @Sendable (String) -> Void

/// Does all file work of one inbox, on the inbox's own queue: a root that does not answer holds up nobody else.
///
/// An arrival is proven (``Prover``), waits for its set if it may have one, is filed (``SetFiler``, and from the decision on
/// ``FilingTransaction/run()``), or set aside (``Mover``). While it waits for the catalogue, the next arrival may begin.
package actor InboxWorker {
    nonisolated let spec: InboxSpec
    nonisolated let places: Places
    nonisolated let catalogue: Catalogue
    package nonisolated let subsystem: Subsystem
    /// Something is half done and not being worked on: a step of an earlier life, or of this one, failed.
    nonisolated let recovery = Locked(PendingRecovery())
    private nonisolated let measures: FilingMeasures?
    private nonisolated let executor: QueueExecutor
    private nonisolated let stopping = Locked(false)
    /// Sources of filings that recovery closed since their copies are lost: no event reports them again.
    private nonisolated let toExamine = Locked<[BytePath]>([])
    private nonisolated let finished = FinishedFilings([:])

    private let inbox: InboxContext
    private let prover: Prover
    private let filer: SetFiler
    private let requests: RequestRunner
    private let recoveryRunner: RecoveryRunner

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(
        spec: InboxSpec, places: Places, attributes: FiledAttributes, catalogue: Catalogue,
        libraryGuard: LibraryGuard, subsystem: Subsystem, measures: FilingMeasures? = nil
    ) {
        self.spec = spec
        self.places = places
        self.catalogue = catalogue
        self.subsystem = subsystem
        self.measures = measures
        executor = TaskQueue.executor(on: subsystem.queue)
        let directories = InboxDirectories(spec, places, attributes, catalogue, libraryGuard)
        inbox = InboxContext(directories, catalogue, subsystem, recovery, finished)
        let mover = Mover(inbox)
        prover = Prover(inbox, mover)
        filer = SetFiler(inbox, mover)
        requests = RequestRunner(inbox: inbox)
        recoveryRunner = RecoveryRunner(inbox, mover, requests) { [toExamine] path in
            toExamine.withLock { $0.append(path) }
        }
    }

    /// Ends long steps at their next block, leaving every source where it is. From any thread.
    nonisolated func hurry() { stopping.withLock { $0 = true } }

    /// The end of an arrival that is not in work and whose file is gone, if recovery has finished its filing; from any thread.
    nonisolated func takeFinished(of arrival: Arrival) -> EndedArrival? {
        if case .working = arrival.stage { return nil }
        return finished.withLock { $0.take(of: arrival) }
    }

    /// What recovery has left in the inbox and is to be examined again; from any thread.
    nonisolated func takeToExamine() -> [BytePath] {
        toExamine.withLock { $0.takeAll() }
    }

    // MARK: - Arrivals

    /// Processes one arrival, or a set, as far as it goes now; the result of each, in their order. Never throws: a failure is
    /// a conclusion.
    func process(_ assignment: Assignment, reached: @escaping StepReport) async -> [Conclusion] {
        let first = assignment.arrivals.first.map { "\($0.key)" } ?? ""
        let subject = assignment.arrivals.count > 1 ? "\(first) and its set" : first
        let clock = StepTimer(measures)
        let work = FileWork { [subsystem] step in
            clock.enter(step)
            subsystem.enter("\(step.words): \(subject)")
            reached(step.words)
        } shouldStop: { [stopping, subsystem] in
            subsystem.reportProgress()
            return stopping.withLock { $0 }
        }
        defer {
            clock.end()
            subsystem.idle()
        }
        // Other daemons stay away from the inbox as long. What fails here fails again where it is needed.
        let directory = try? inbox.directories.openInbox()
        defer { withExtendedLifetime(directory) {} }
        var late: [Symptom] = []
        if recovery.withLock({ $0.isDue(now: .now) }) { late = await recover() }
        let wasInboxAway = inbox.isInboxAway
        inbox.isInboxAway = false
        var outcomes = await examine(assignment, work)
        if let first = assignment.arrivals.first?.key {
            if wasInboxAway, !inbox.isInboxAway {
                outcomes[first]?.symptoms.append(.inboxUnreadable(inbox: spec.name, reason: nil))
            }
            // Older than the results of the work, which may have shown that it is over.
            outcomes[first]?.symptoms.insert(contentsOf: late, at: 0)
        }
        return assignment.arrivals.map {
            outcomes[$0.key] ?? inbox.deferred("internal error: no result; it is tried again")
        }
    }

    /// From the names to the proofs, and on to what comes next.
    private func examine(_ assignment: Assignment, _ work: FileWork) async -> Outcomes {
        var outcomes: Outcomes = [:]
        var ready: [ReadyMember] = []
        var looksForSet = assignment.isGathered
        var isSettling = false
        for arrival in assignment.arrivals {
            do {
                switch try await prover.examine(arrival, work) {
                case .ready(let member, let hasSet):
                    ready.append(member)
                    looksForSet = looksForSet || hasSet
                case .concluded(let conclusion):
                    outcomes[arrival.key] = conclusion
                    if case .waitForQuiet = conclusion.verdict { isSettling = true }
                }
            } catch let error as FilingError {
                // It went or changed since it was proven; the others do without it, or with what it is then.
                outcomes[arrival.key] = inbox.conclusion(of: error, arrival)
            } catch {
                // Nothing is known of the rest either.
                for arrival in assignment.arrivals where outcomes[arrival.key] == nil {
                    outcomes[arrival.key] = inbox.conclusion(of: error, arrival)
                }
                return outcomes
            }
        }
        guard let first = ready.first else { return outcomes }
        if assignment.isGathered, isSettling {
            for member in ready { outcomes[member.key] = member.gatheringAgain(spec.sets) }
        } else if !assignment.isGathered, let waiting = first.gathering(spec, assignment) {
            outcomes[first.key] = waiting
        } else {
            outcomes.merge(await filer.file(ready, looksForSet: looksForSet, work)) { $1 }
        }
        return outcomes
    }

    // MARK: - Everything else

    /// Finishes or undoes what was interrupted, see ``RecoveryRunner/run()``.
    package func recover() async -> [Symptom] { await recoveryRunner.run() }

    /// Carries out a request, see ``RequestRunner/carryOut(_:_:)``.
    package func carryOut(_ request: FileRequest, _ facts: [OperationFacts]) async -> [RequestResult] {
        await requests.carryOut(request, facts)
    }

    /// Closes the records of quarantined files that somebody deleted, see ``RequestRunner/closeDeleted(for:)``.
    package func closeDeleted(for requester: Requester) async throws -> Int {
        try await requests.closeDeleted(for: requester)
    }

    /// Deletes what has lain in the trash for long enough, see ``TrashBin/expire(now:)``.
    package func expireTrash(now: ClockReading) async -> TrashBin.Expiry {
        await TrashBin(inbox: inbox).expire(now: now)
    }

    /// What lies at `path` of the inbox now; what was ignored there before may be examined again. Nil if nothing does.
    package func rescan(_ path: BytePath) async throws -> FileStatus? {
        let status: FileStatus
        let directory = try inbox.directories.openInbox()
        do throws(SystemCallError) { status = try FileStatus(of: path, beneath: directory.descriptor) } catch {
            if [.noSuchFileOrDirectory, .notDirectory].contains(error.code) { return nil }
            throw error
        }
        try await catalogue.perform("forgetting a kept source") { [name = spec.name] in
            try $0.forgetIgnored(inbox: name, path: path)
        }
        return status
    }

    /// Tries whether `storage` can be written to: a symptom for each, of its failing or of its being well.
    func tryStorage(_ storage: Storage) async -> [Symptom] {
        defer { subsystem.idle() }
        var symptoms: [Symptom] = []
        if storage.contains(.library) {
            subsystem.enter("trying whether the library can be written to")
            do {
                try inbox.directories.library().tryWriting()
                symptoms.append(.library(failure: nil))
            } catch { symptoms += inbox.symptoms(of: error) }
        }
        if storage.contains(.catalogue) {
            subsystem.enter("trying whether the catalogue can be written to")
            do {
                try await catalogue.perform("trying whether it can be written to") {
                    try $0.tryWriting(at: Moment.now.wall)
                }
                symptoms.append(.catalogue(failure: nil))
            } catch { symptoms += inbox.symptoms(of: error) }
        }
        return symptoms
    }
}
