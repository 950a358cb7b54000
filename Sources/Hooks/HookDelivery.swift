import Catalogue
import ControlProtocol
import DaemonSupport
import FileValues
import LinuxKernel
import Logging
import QueueActors
import Reporting
import Settings
import SystemMonitor

/// Delivers events to one hook, one run at a time, for as long as the hook is configured.
///
/// It reads the outcomes after the last delivered one from the catalogue, so nothing waits for it, nothing is dropped
/// however far it is behind, and it continues over restarts where it was. On the hooks' queue.
actor HookDelivery {
    /// What the deliveries of all hooks share.
    struct Dependencies: Sendable {
        let queue: MonitorQueue
        let catalogue: Catalogue
        let log: HookLog
        let problems: ProblemReporter
        let status: HookStatus
        let grace: Duration
    }

    /// What the configuration has for this hook.
    struct Configuration: Sendable {
        var hook: HookSettings
        var place: HookPlace
        var owners: Set<UInt32>
    }

    nonisolated let name: String
    private nonisolated let executor: QueueExecutor
    private let dependencies: Dependencies
    private var configuration: Configuration
    /// The last outcome that was delivered, or did not concern the hook; nil until the catalogue was read.
    private var delivered: Int64?
    private var retry = HookRetry()
    /// Outcomes that it failed on too often; and those of them that it is given again.
    private var skipped: (all: [Int64], again: [Int64]) = ([], [])
    /// Runs that failed in a row, for people.
    private var failedRuns = 0
    /// After a failure: not before this moment.
    private var earliest: Moment?
    /// There may be something to deliver.
    private var isWoken = true
    /// Who requested a run.
    private var requestedBy: String?
    private var isRunningRequest = false
    private var isStopped = false
    private var current: (any HookRun)?
    private let sleeper: Sleeper
    private var isBackingOff = false
    private var task: Task<Void, Never>?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ configuration: Configuration, _ dependencies: Dependencies) {
        name = configuration.hook.name
        self.configuration = configuration
        self.dependencies = dependencies
        executor = TaskQueue.executor(on: dependencies.queue)
        sleeper = Sleeper("hook \(name), pause", queue: dependencies.queue)
    }

    /// Reads its position; a new hook begins here and now.
    func begin() async {
        dependencies.status.change(name) { $0.on = configuration.hook.events.map(\.rawValue) }
        do { try await findPosition() } catch {
            dependencies.log.logger.warning("hook \(name): \(error), continuing")
        }
        task = TaskQueue.start { await self.deliverUntilStopped() }
    }

    /// The configuration has changed. A run that is under way ends as it began; after a failure it is tried at once.
    func adopt(_ configuration: Configuration) {
        self.configuration = configuration
        dependencies.status.change(name) { $0.on = configuration.hook.events.map(\.rawValue) }
        if configuration.hook.events.isEmpty {
            (delivered, skipped) = (nil, ([], []))
            dependencies.problems.set(.hookSkipped, subject: name, nil)
        }
        isWoken = true
        earliest = nil
        sleeper.wake()
    }

    /// Delivers new outcomes, unless it waits after a failure.
    func wake() {
        isWoken = true
        if !isBackingOff { sleeper.wake() }
    }

    /// An action requests a run, whether or not there is something to deliver.
    func run(requestedBy asker: String) {
        guard requestedBy == nil, !isRunningRequest else {
            dependencies.log.logger.warning("hook \(name) is still running, skipped, continuing")
            return
        }
        requestedBy = asker
        sleeper.wake()
    }

    /// Gives it once more what was skipped; returns how many outcomes that are.
    func giveAgain(isDryRun: Bool) -> Int {
        if !isDryRun, !skipped.all.isEmpty {
            skipped.again = skipped.all
            (isWoken, earliest) = (true, nil)
            sleeper.wake()
        }
        return skipped.all.count
    }

    /// Ends it, and what runs of it; returns when nothing of it is left.
    func stop(hurrying: Bool) async {
        isStopped = true
        current?.stop(hurrying: hurrying)
        sleeper.wake()
        await task?.value
    }

    private func deliverUntilStopped() async {
        while !isStopped {
            if let asker = requestedBy {
                requestedBy = nil
                isRunningRequest = true
                _ = await run(HookInput.requested(by: asker, at: Moment.now.wall), events: 1)
                isRunningRequest = false
            } else if isWoken, !configuration.hook.events.isEmpty {
                let pause = earliest.map { $0.seconds(since: .now) } ?? 0
                if pause > 0 { await rest(seconds: pause) } else { await deliver() }
            } else {
                dependencies.status.enter(name, "idle")
                await rest()
            }
        }
        dependencies.status.put(name, nil)
    }

    // MARK: - Delivering

    private func findPosition() async throws {
        guard delivered == nil, !configuration.hook.events.isEmpty else { return }
        let (delivered, skipped) = try await dependencies.catalogue.perform("reading the position of a hook") {
            [name] in (try $0.placeOfHook(name, at: Moment.now.wall), try $0.skippedOutcomes(by: name))
        }
        (self.delivered, self.skipped.all) = (delivered, skipped)
        await reportSkipped()
    }

    /// Delivers what comes next.
    private func deliver() async {
        isWoken = false
        let batch: HookBatch
        do {
            try await findPosition()
            guard let delivered else { return }
            if let outcome = skipped.again.first { return try await deliverAgain(outcome) }
            let (interest, limit) = (HookInterest(configuration.hook), retry.files)
            batch = try await dependencies.catalogue.perform("reading the events of a hook") {
                try $0.hookBatch(after: delivered, interest, limit: limit)
            }
        } catch {
            dependencies.log.logger.warning("hook \(name) has to wait: \(error), continuing")
            return retryLater(seconds: 30)
        }
        let (lines, count, through) = HookInput.fit(batch.events)
        let end = through ?? batch.through
        dependencies.status.change(name) { $0.waiting = batch.waiting }
        if through != nil || !batch.isLast { isWoken = true }
        // That nothing was delivered need not be recorded.
        guard let first = batch.events.first?.outcome.id else { return delivered = batch.through }
        let ending = await run(lines, events: count)
        if ending.kind == .stopped {
            isWoken = true
        } else if ending.isSuccess {
            retry.succeeded()
            earliest = nil
            await advance(to: end)
        } else {
            switch retry.failed(mayBeTheEvents: ending.mayBeTheEvents) {
            case .again(let seconds): retryLater(seconds: seconds)
            case .passOver(let seconds):
                let last = batch.events[count - 1].outcome.id
                dependencies.log.passedOver(
                    name, first...last, events: count, tries: HookRetry.mostTries, reason: ending.reason)
                dependencies.status.change(name) { $0.passedOver += count }
                let outcomes = Set(batch.events.prefix(count).map(\.outcome.id)).sorted()
                await advance(to: end, skipping: outcomes)
                // What comes next was not tried yet.
                dependencies.problems.set(.hookFailing, subject: name, nil)
                retryLater(seconds: seconds)
            }
        }
        dependencies.status.change(name) { [retry] in $0.failures = retry.failures }
    }

    /// Gives it an outcome once more that was skipped, on its own. If it fails on that again, it stays skipped.
    private func deliverAgain(_ outcome: Int64) async throws {
        // What is new comes after.
        isWoken = true
        let interest = HookInterest(configuration.hook)
        let events = try await dependencies.catalogue.perform("reading the events of a hook") {
            try $0.hookEvents(of: outcome, interest)
        }
        if !events.isEmpty {
            let ending = await run(HookInput.fit(events).lines, events: events.count)
            if ending.kind == .stopped { return }
            if !ending.isSuccess, !ending.mayBeTheEvents {
                if case .again(let seconds) = retry.failed(mayBeTheEvents: false) { retryLater(seconds: seconds) }
                return
            }
            if !ending.isSuccess {
                skipped.again.removeFirst()
                dependencies.log.passedOver(
                    name, outcome...outcome, events: events.count, tries: 1, reason: ending.reason)
                return dependencies.problems.set(.hookFailing, subject: name, nil)
            }
        }
        try await dependencies.catalogue.perform("recording what a hook was told") { [name] in
            try $0.clearSkipped(outcome, by: name)
        }
        skipped.again.removeFirst()
        skipped.all.removeAll { $0 == outcome }
        await reportSkipped()
    }

    /// Names the newest, or ends the problem.
    private func reportSkipped() async {
        guard let newest = skipped.all.last else {
            return dependencies.problems.set(.hookSkipped, subject: name, nil)
        }
        let interest = HookInterest(configuration.hook)
        let events = try? await dependencies.catalogue.perform("reading what a hook skipped") {
            try $0.hookEvents(of: newest, interest)
        }
        let place = events?.first?.place.map { ProblemValue.path($0) } ?? .text("operation \(newest)")
        dependencies.problems.set(
            .hookSkipped, subject: name, [.name: .text(name), .count: .count(skipped.all.count), .path: place])
    }

    private func advance(to outcome: Int64, skipping outcomes: [Int64] = []) async {
        delivered = outcome
        dependencies.status.change(name) {
            $0.told = outcome
            if !isWoken { $0.waiting = 0 }
        }
        // Where it cannot be recorded, the hook gets it once more after a restart: better twice than never.
        do { try await dependencies.catalogue.hook(name, toldThrough: outcome, skipped: outcomes) } catch {
            dependencies.log.logger.debug("hook \(name): \(error), continuing")
        }
        if outcomes.isEmpty { return }
        skipped.all += outcomes
        await reportSkipped()
    }

    private func retryLater(seconds: Double) {
        isWoken = true
        earliest = Moment.now.later(by: seconds)
        dependencies.status.enter(name, "waiting")
    }

    private func run(_ lines: [UInt8], events: Int) async -> HookResult {
        // Stopped while the catalogue was read.
        if isStopped { return HookResult(kind: .stopped, reason: "was not started any more") }
        dependencies.status.enter(name, "running")
        let order = HookChild.Order(
            hook: configuration.hook, input: lines, owners: configuration.owners, log: dependencies.log,
            grace: dependencies.grace)
        let ending = await withCheckedContinuation { end in
            current = configuration.place.start(order, queue: dependencies.queue) { end.resume(returning: $0) }
        }
        current = nil
        dependencies.log.ended(name, ending, events: events)
        dependencies.status.change(name) {
            $0.runs += 1
            ($0.lastEnded, $0.lastResult, $0.lastSeconds) = (FileTime.now.rfc3339, ending.reason, ending.seconds)
        }
        if ending.kind != .stopped {
            failedRuns = ending.isSuccess ? 0 : failedRuns + 1
            dependencies.problems.set(
                .hookFailing, subject: name,
                ending.isSuccess
                    ? nil : [.name: .text(name), .count: .count(failedRuns), .reason: .text(ending.reason)])
        }
        return ending
    }

    // MARK: - Waiting

    /// Returns when it is woken, or the time is over; with a time, only what cannot wait wakes it.
    private func rest(seconds: Double? = nil) async {
        if isStopped { return }
        isBackingOff = seconds != nil
        await sleeper.rest(seconds: seconds)
        isBackingOff = false
    }
}

extension HookInterest {
    /// As the configuration has it.
    init(_ hook: HookSettings) {
        self.init(kinds: Set(hook.events.compactMap { HookEventKind(rawValue: $0.rawValue) }), inboxes: hook.inboxes)
    }
}
