package import ControlProtocol
package import DaemonSupport
import FileValues
import Importing
package import LinuxKernel
import LogMessages
import Logging
package import QueueActors
import Reporting
package import Settings
import SystemMonitor
import Systemd

/// Imports cards when they are mounted, and reports it: in the log, the state, as problems.
///
/// The ``CardTable`` decides what to do, on the queue, which touches no file: each card is read on a thread of its own, and
/// one that does not answer holds up neither the others nor the daemon's end.
package final class CardCoordinator: DaemonPart {
    private struct State: Sendable {
        var table = CardTable()
        var stops: [Int: Locked<Bool>] = [:]
        /// Cards of which something is missing.
        var incomplete: Set<BytePath> = []
        var whenIdle: CheckedContinuation<Void, Never>?
    }

    /// How long the end of the daemon waits for a card that does not answer. Its import leaves nothing half-done.
    private static let patience = Duration.seconds(10)
    /// So many files that failed are logged one by one.
    private static let mostFailuresLogged = 10

    private let subsystem: Subsystem
    private let log: DaemonLog
    private let problems: ProblemReporter
    private let status = StatusTable<Int, DaemonState.Card> { _ in nil }
    private let isOn = Locked(false)
    private let state: QueueBound<State>

    package init(log: DaemonLog, problems: ProblemReporter) {
        subsystem = Subsystem(name: "cards", queue: MonitorQueue(label: "photo-inbox.cards"), isVital: false)
        self.log = log
        self.problems = problems
        state = QueueBound(State(), queue: subsystem.queue)
    }

    package var subsystems: [Subsystem] { [subsystem] }

    package func prepare(_ settings: Settings) { isOn.withLock { $0 = settings.cards.isEnabled } }

    package func describe(in state: inout DaemonState) { state.cards = isOn.withLock { $0 } ? status.all : nil }

    /// Any thread.
    package func adopt(_ settings: Settings) {
        let plan = CardPlan(settings)
        subsystem.queue.async { [self] in
            let (steps, over) = state.onQueue { state in
                let steps = state.table.adopt(plan)
                defer { if plan == nil { state.incomplete = [] } }
                return (steps, plan == nil ? state.incomplete : [])
            }
            for place in over { problems.set(.cardIncomplete, subject: place.escaped, nil) }
            perform(steps)
        }
    }

    /// The mount table as it is now. Any thread.
    package func mounted(_ mounts: MountTable) {
        subsystem.queue.async { [self] in
            let steps = state.onQueue { $0.table.mounted(mounts) }
            for (number, card) in state.onQueue({ $0.table.cards }) where !card.isMounted {
                status.change(number) { $0.mounted = nil }
            }
            perform(steps)
        }
    }

    /// Ends what is under way, and returns when nothing is read of any card; or when one has not answered for long.
    package func end(hurrying: Bool) async -> @Sendable () async -> Void {
        await withCheckedContinuation { done in
            subsystem.queue.async { [self] in
                let (steps, isIdle) = state.onQueue { state in
                    let steps = state.table.end()
                    state.whenIdle = done
                    return (steps, state.table.isIdle)
                }
                perform(steps)
                if isIdle { return resumeWaiter() }
                subsystem.queue.after(Self.patience) { self.resumeWaiter() }
            }
        }
        return {}
    }

    private func resumeWaiter() {
        let waiter = state.onQueue { $0.whenIdle.take() }
        waiter?.resume()
    }

    private func perform(_ steps: [CardTable.Step]) {
        for step in steps {
            switch step {
            case .start(let number, let mount, let plan): start(number, mount, plan)
            case .stop(let number): state.onQueue { $0.stops[number] }?.withLock { $0 = true }
            case .forget(let number, _): status.put(number, nil)
            }
        }
        let importing = status.all.filter { $0.phase == "importing" }
        if let first = importing.first {
            subsystem.enter("importing from \(first.place)")
        } else {
            subsystem.idle()
        }
        subsystem.waiting(importing.count)
    }

    private func start(_ number: Int, _ mount: CardMount, _ plan: CardPlan) {
        let stop = Locked(false)
        let reported = Locked(0)
        state.onQueue { $0.stops[number] = stop }
        let work = CardImport(
            mount: mount, plan: plan, shouldStop: { stop.withLock { $0 } },
            found: { [status, log, subsystem] directories in
                status.put(
                    number,
                    DaemonState.Card(
                        place: mount.place.escaped, source: mount.source.escaped, fileSystem: mount.type,
                        inbox: plan.inbox.name, since: FileTime.now.rfc3339))
                subsystem.enter("importing from \(mount.place.escaped)")
                log.cardFound(mount, directories, inbox: plan.inbox.name)
            },
            progress: { [status] progress, counts in
                status.change(number) {
                    ($0.files, $0.totalFiles) = (progress.files, progress.totalFiles)
                    ($0.bytes, $0.totalBytes) = (
                        Int(clamping: progress.bytes), progress.totalBytes.map { Int(clamping: $0) }
                    )
                    ($0.copied, $0.known, $0.waiting) = (counts.copied, counts.known, counts.waiting)
                    ($0.decided, $0.leftOut, $0.failed) = (counts.decided, counts.leftOut, counts.failed)
                }
            },
            failed: { [log] finding, directory in
                let count = reported.withLock { count in
                    count += 1
                    return count
                }
                guard count <= Self.mostFailuresLogged else { return }
                let path = mount.place.appending(directory).appending(finding.path).escaped
                log.logger.warning("not imported: \(path): \(finding.reason), continuing")
            })
        do throws(SystemCallError) {
            try startThread(named: "card-import") { [self] in
                let finding = work.run()
                subsystem.queue.async { self.ended(number, mount, plan, finding) }
            }
        } catch {
            ended(number, mount, plan, .unreadable("\(error.call): \(error.code)"))
        }
    }

    private func ended(_ number: Int, _ mount: CardMount, _ plan: CardPlan, _ finding: CardFinding) {
        let card = state.onQueue { state in
            state.stops[number] = nil
            return state.table.cards[number]
        }
        var phase = CardTable.Phase.noCard
        switch finding {
        case .noCard: log.logger.debug("what is mounted at \(mount.place.escaped) is no card")
        case .unreadable(let reason):
            log.logger.notice(
                "what is mounted at \(mount.place.escaped) cannot be looked at: \(reason), so it is not imported, continuing"
            )
        case .imported(let outcome):
            phase = .ended(isComplete: outcome.end == .complete)
            report(number, mount, plan, outcome, isMounted: card?.isMounted ?? false)
        }
        perform(state.onQueue { $0.table.ended(number, phase) })
        if state.onQueue({ $0.table.isIdle }) { resumeWaiter() }
    }

    private func report(
        _ number: Int, _ mount: CardMount, _ plan: CardPlan, _ outcome: CardOutcome, isMounted: Bool
    ) {
        let (phase, result): (String, String)
        /// What is missing is on the card alone: a problem.
        var reason: String?
        switch outcome.end {
        case .complete: (phase, result) = ("imported", outcome.counts.words)
        case .incomplete(let why):
            (phase, result, reason) = ("incomplete", "\(why); \(outcome.counts.words)", why)
        case .stopped where !isMounted:
            (phase, result, reason) = (
                "incomplete", "taken out in the middle; \(outcome.counts.words)", "it was taken out in the middle"
            )
        case .stopped: (phase, result) = ("stopped", "stopped; \(outcome.counts.words)")
        case .busy: (phase, result) = ("stopped", "another import runs from there")
        }
        status.change(number) {
            $0.phase = phase
            $0.since = FileTime.now.rfc3339
            $0.mounted = isMounted ? true : nil
            $0.result = result
            $0.seconds = outcome.seconds
        }
        log.cardEnded(mount, outcome, result: result, inbox: plan.inbox.name)
        let subject = mount.place.escaped
        if let reason {
            state.onQueue { _ = $0.incomplete.insert(mount.place) }
            problems.set(.cardIncomplete, subject: subject, [.path: .path(mount.place), .reason: .text(reason)])
        } else if outcome.end == .complete {
            state.onQueue { _ = $0.incomplete.remove(mount.place) }
            problems.set(.cardIncomplete, subject: subject, nil)
        }
    }
}

extension DaemonLog {
    /// A card is there, and its import begins.
    func cardFound(_ mount: CardMount, _ directories: [BytePath], inbox: String) {
        let names = directories.map(\.escaped).joined(separator: ", ")
        logger.log(
            .notice, .cardFound,
            "card at \(mount.place.escaped) (\(mount.source.escaped), \(mount.type)): importing \(names) into \(inbox)",
            metadata: ["card": "\(mount.place.escaped)", "inbox": "\(inbox)"])
    }

    /// It has ended, for better or worse.
    func cardEnded(_ mount: CardMount, _ outcome: CardOutcome, result: String, inbox: String) {
        let counts = outcome.counts
        let fields: Logger.Metadata = [
            "card": "\(mount.place.escaped)", "inbox": "\(inbox)", "copied": "\(counts.copied)",
            "known": "\(counts.known)", "waiting": "\(counts.waiting)", "decided": "\(counts.decided)",
            "left_out": "\(counts.leftOut)", "failed": "\(counts.failed)", "bytes": "\(counts.copiedBytes)",
        ]
        let elapsed = HumanText.elapsed(nanoseconds: UInt64(max(0, outcome.seconds * 1e9)))
        if outcome.end == .complete {
            let names = outcome.directories.map(\.escaped).joined(separator: ", ")
            let place = names.isEmpty ? "" : ", as \(names)"
            logger.log(
                .notice, .cardImported,
                "card at \(mount.place.escaped) imported into \(inbox) in \(elapsed): \(result)\(place)",
                metadata: fields)
        } else {
            logger.log(
                .warning, .cardIncomplete,
                "card at \(mount.place.escaped) not imported entirely: \(result); what is missing comes when it is mounted again",
                metadata: fields)
        }
    }
}
