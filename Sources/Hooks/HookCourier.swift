import Catalogue
import ControlProtocol
import DaemonSupport
import FileValues
import LinuxKernel
import Logging
import QueueActors
import Settings
import SystemMonitor

/// Tells one hook what happened, one run at a time, for as long as the hook is configured.
///
/// What it has to tell lies in the catalogue: it reads what comes after the last outcome that the hook has taken, so
/// nothing waits for it, nothing is dropped however far it is behind, and it goes on over restarts where it was. On the
/// hooks' queue.
actor HookCourier {
    /// What every courier uses.
    struct Surroundings: Sendable {
        let queue: MonitorQueue
        let catalogue: Catalogue
        let reporter: HookReporter
        let problems: ProblemDesk
        let board: HookBoard
        let grace: Duration
    }

    /// What the configuration says.
    struct Terms: Sendable {
        var hook: HookSettings
        var place: HookPlace
        var owners: Set<UInt32>
    }

    nonisolated let name: String
    private nonisolated let executor: QueueExecutor
    private let surroundings: Surroundings
    private var terms: Terms
    /// The last outcome that it was told of, or that is none of its business; nil until the catalogue has said so.
    private var told: Int64?
    private var retry = HookRetry()
    /// After a failure: not before this moment.
    private var earliest: Moment?
    /// There may be something to tell.
    private var isWoken = true
    /// Who asked for a run.
    private var asked: String?
    private var isAnswering = false
    private var isStopped = false
    private var current: (any HookRun)?
    private let sleeper: Sleeper
    private var isPausing = false
    private var life: Task<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ terms: Terms, _ surroundings: Surroundings) {
        name = terms.hook.name
        self.terms = terms
        self.surroundings = surroundings
        executor = TaskQueue.executor(on: surroundings.queue)
        sleeper = Sleeper("hook \(name), pause", queue: surroundings.queue)
    }

    /// Finds out where it stands; a new hook begins here and now.
    func begin() async {
        surroundings.board.change(name) { $0.on = terms.hook.events.map(\.rawValue) }
        do { try await findPlace() } catch {
            surroundings.reporter.log.warning("hook \(name): \(error), continuing")
        }
        life = TaskQueue.start { await self.live() }
    }

    /// The configuration has changed. A run that is under way ends as it began; after a failure it is tried at once.
    func adopt(_ terms: Terms) {
        self.terms = terms
        surroundings.board.change(name) { $0.on = terms.hook.events.map(\.rawValue) }
        if terms.hook.events.isEmpty { told = nil }
        isWoken = true
        earliest = nil
        sleeper.wake()
    }

    /// Something has happened.
    func wake() {
        isWoken = true
        if !isPausing { sleeper.wake() }
    }

    /// An action asks for a run, whether or not there is something to tell.
    func run(asked asker: String) {
        guard asked == nil, !isAnswering else {
            surroundings.reporter.log.warning("hook \(name) is still running, skipped, continuing")
            return
        }
        asked = asker
        sleeper.wake()
    }

    /// Ends it, and what runs of it; returns when nothing of it is left.
    func stop(hurrying: Bool) async {
        isStopped = true
        current?.stop(hurrying: hurrying)
        sleeper.wake()
        await life?.value
    }

    private func live() async {
        while !isStopped {
            if let asker = asked {
                asked = nil
                isAnswering = true
                _ = await run(HookLines.asked(by: asker, at: Moment.now.wall), events: 1)
                isAnswering = false
            } else if isWoken, !terms.hook.events.isEmpty {
                let pause = earliest.map { $0.seconds(since: .now) } ?? 0
                if pause > 0 { await rest(seconds: pause) } else { await deliver() }
            } else {
                surroundings.board.enter(name, "idle")
                await rest()
            }
        }
        surroundings.board.remove(name)
    }

    // MARK: - Telling

    private func findPlace() async throws {
        guard told == nil, !terms.hook.events.isEmpty else { return }
        told = try await surroundings.catalogue.perform("looking up what a hook was told") { [name] in
            try $0.placeOfHook(name, at: Moment.now.wall)
        }
    }

    /// Tells what comes next.
    private func deliver() async {
        isWoken = false
        let batch: HookBatch
        do {
            try await findPlace()
            guard let told else { return }
            let (interest, limit) = (HookInterest(terms.hook), retry.files)
            batch = try await surroundings.catalogue.perform("reading what a hook is to be told") {
                try $0.hookBatch(after: told, interest, limit: limit)
            }
        } catch {
            surroundings.reporter.log.warning("hook \(name) has to wait: \(error), continuing")
            return later(seconds: 30)
        }
        let (lines, count, through) = HookLines.fit(batch.events)
        let end = through ?? batch.through
        surroundings.board.change(name) { $0.waiting = batch.waiting }
        if through != nil || !batch.isLast { isWoken = true }
        // Nobody has to write down that nothing was told.
        guard let first = batch.events.first?.outcome.id else { return told = batch.through }
        let ending = await run(lines, events: count)
        if ending.kind == .stopped {
            isWoken = true
        } else if ending.isSuccess {
            retry.succeeded()
            earliest = nil
            await moved(to: end)
        } else {
            switch retry.failed(mayBeTheEvents: ending.mayBeTheEvents) {
            case .again(let seconds): later(seconds: seconds)
            case .passOver(let seconds):
                let last = batch.events[count - 1].outcome.id
                surroundings.reporter.passedOver(
                    name, first...last, events: count, tries: HookRetry.mostTries, reason: ending.reason)
                surroundings.board.change(name) { $0.passedOver += count }
                await moved(to: end)
                later(seconds: seconds)
            }
        }
        surroundings.board.change(name) { [retry] in $0.failures = retry.failures }
    }

    private func moved(to outcome: Int64) async {
        told = outcome
        surroundings.board.change(name) {
            $0.told = outcome
            if !isWoken { $0.waiting = 0 }
        }
        // Where it cannot be written down, the hook is told once more after a restart: better twice than never.
        do { try await surroundings.catalogue.hook(name, toldThrough: outcome) } catch {
            surroundings.reporter.log.debug("hook \(name): \(error), continuing")
        }
    }

    private func later(seconds: Double) {
        isWoken = true
        earliest = Moment.now.later(by: seconds)
        surroundings.board.enter(name, "waiting")
    }

    private func run(_ lines: [UInt8], events: Int) async -> HookEnding {
        // Told to stop while the catalogue was asked.
        if isStopped { return HookEnding(kind: .stopped, reason: "was not started any more") }
        surroundings.board.enter(name, "running")
        let order = HookChild.Order(
            hook: terms.hook, input: lines, owners: terms.owners, reporter: surroundings.reporter,
            grace: surroundings.grace)
        let ending = await withCheckedContinuation { end in
            current = terms.place.start(order, queue: surroundings.queue) { end.resume(returning: $0) }
        }
        current = nil
        surroundings.reporter.ended(name, ending, told: events)
        surroundings.board.change(name) {
            $0.runs += 1
            ($0.lastEnded, $0.lastResult, $0.lastSeconds) = (FileTime.now.rfc3339, ending.reason, ending.seconds)
        }
        if ending.kind != .stopped {
            surroundings.problems.hookFailed(name, reason: ending.isSuccess ? nil : ending.reason)
        }
        return ending
    }

    // MARK: - Resting

    /// Returns when somebody wakes it, or the time is over; with a time, only what cannot wait wakes it.
    private func rest(seconds: Double? = nil) async {
        if isStopped { return }
        isPausing = seconds != nil
        await sleeper.rest(seconds: seconds)
        isPausing = false
    }
}

extension HookInterest {
    /// What the configuration says.
    init(_ hook: HookSettings) {
        self.init(kinds: Set(hook.events.compactMap { HookEventKind(rawValue: $0.rawValue) }), inboxes: hook.inboxes)
    }
}
