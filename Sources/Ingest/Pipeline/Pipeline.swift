import Catalogue
package import DirectoryWatch
package import FileValues
package import LinuxKernel
import PhotoModel
package import QueueActors
import Settings
import SystemMonitor

/// Which arrival is in which stage and what comes next. It touches no file: that is the work of the inboxes' workers.
///
/// Runs on its own queue. Any thread may copy the table of arrivals, so that the state dump waits for no queue.
package actor Pipeline {
    /// What the pipeline reports; called on its queue.
    package struct Listener: Sendable {
        package var ended: @Sendable (EndedArrival) -> Void
        package var deferred: @Sendable (ArrivalKey, _ reason: String, _ attempt: Int, _ seconds: Double) -> Void
        package var symptom: @Sendable (Symptom) -> Void
        package var activity: @Sendable (BusyMonitor.Activity) -> Void

        package init(
            ended: @escaping @Sendable (EndedArrival) -> Void,
            deferred: @escaping @Sendable (ArrivalKey, _ reason: String, _ attempt: Int, _ seconds: Double) -> Void,
            symptom: @escaping @Sendable (Symptom) -> Void,
            activity: @escaping @Sendable (BusyMonitor.Activity) -> Void
        ) {
            self.ended = ended
            self.deferred = deferred
            self.symptom = symptom
            self.activity = activity
        }
    }

    /// Arrivals of one inbox, or sets, that are in work at once: while some wait for the catalogue, and share its wait for
    /// the disk, another's bytes are read. Half of it costs a sixth of the throughput, twice as much gains nothing.
    private static let width = 8
    /// How long inboxes whose disk does not answer may hold up the others at the start.
    private static let patience = Duration.seconds(5)

    /// What is in work.
    private struct Load {
        /// By inbox.
        var arrivals: [String: Int] = [:]
        /// Requests of people that workers carry out, and trials of storage.
        var requests = 0
        var isTryingStorage = false
        /// Resumed when nothing is in work.
        var waiters: [CheckedContinuation<Void, Never>] = []

        var isEmpty: Bool { requests == 0 && !arrivals.values.contains { $0 > 0 } }
    }

    /// Whether arrivals may be begun.
    private enum Admission { case pending, open, stopped }

    /// The recovery of what an earlier life left under way.
    private struct Startup {
        /// Inboxes of which nothing is begun yet, since they are being recovered.
        var recovering: Set<String> = []
        /// Whether the start waits for recovery no longer: it is done, or patience is over.
        var isRecovered = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    package nonisolated let arrivals: Locked<ArrivalTable>
    package nonisolated let subsystem: Subsystem
    /// Busy while anything is in work; idle a second after the last.
    package nonisolated let busy: BusyMonitor
    private nonisolated let executor: QueueExecutor
    private nonisolated let wakeTimer: TimerMonitor
    nonisolated let workers: [String: InboxWorker]
    nonisolated let listener: Listener
    /// Whether nothing more of an inbox is begun.
    let isPaused: @Sendable (String) -> Bool
    private var load = Load()
    /// What lately came together, by inbox.
    private var histories: [String: PairHistory] = [:]
    private var admission = Admission.pending
    private var startup = Startup()
    /// What the timer is set to.
    private var wakeSet: Moment?
    private var whenKept: (@Sendable (ArrivalKey, FileIdentity?, _ isLeftAlone: Bool) -> Void)?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Sets the pipeline up, with the arrivals of an earlier one after a reload. Its monitors are activated by ``start()``.
    package init(
        workers: [InboxWorker], subsystem: Subsystem, arrivals: ArrivalTable, listener: Listener,
        isPaused: @escaping @Sendable (String) -> Bool = { _ in false }
    ) throws {
        self.workers = Dictionary(uniqueKeysWithValues: workers.map { ($0.spec.name, $0) })
        self.subsystem = subsystem
        self.listener = listener
        self.isPaused = isPaused
        self.arrivals = Locked(arrivals)
        executor = TaskQueue.executor(on: subsystem.queue)
        wakeTimer = try TimerMonitor(.never, label: "deferred arrivals", queue: subsystem.queue)
        busy = BusyMonitor(label: "pipeline", queue: subsystem.queue)
    }

    /// Finishes or undoes what an earlier life left under way, then admits arrivals. `kept` is called, on the queue,
    /// with files that stay in their inbox and need nothing more, in the state in which they had their outcome; nil for
    /// what is no regular file. Left alone are those of no format that is filed.
    ///
    /// With `prepare`, arrivals are admitted when that has returned, which this does not wait for: it may take hours. Nor does
    /// it wait for an inbox whose disk does not answer for five seconds: that one's are admitted when it does.
    package func start(
        after prepare: (@Sendable () async -> Void)? = nil,
        kept: @escaping @Sendable (ArrivalKey, FileIdentity?, _ isLeftAlone: Bool) -> Void
    ) async {
        whenKept = kept
        wakeTimer.setEventHandler { [weak self] _ in self?.assumeIsolated { $0.wake() } }
        wakeTimer.activate()
        busy.setEventHandler { [listener] in listener.activity($0) }
        busy.activate()
        busy.expectIdle()
        startup.recovering = Set(workers.keys)
        startup.isRecovered = startup.recovering.isEmpty
        for worker in workers.values { TaskQueue.start { await self.recover(worker) } }
        subsystem.queue.after(Self.patience) { [weak self] in self?.assumeIsolated { $0.resumeRecovered() } }
        // Asked again where the answer is waited for, here and below: between question and wait nothing may come.
        await withCheckedContinuation { if startup.isRecovered { $0.resume() } else { startup.waiter = $0 } }
        guard let prepare else { return open() }
        TaskQueue.start {
            await prepare()
            await self.open()
        }
    }

    private func recover(_ worker: InboxWorker) async {
        let name = worker.spec.name
        if name == workers.keys.min() {
            // What fails is tried at the next start; meanwhile the photo is known to be under way.
            try? await worker.catalogue.perform("assigning requests of inboxes that are gone") {
                [names = Array(workers.keys)] in try $0.assignRequests(to: name, unlessOf: names)
            }
        }
        await recoverAgain(worker)
        // Without it nothing is expected, until something came again.
        histories[name] = try? await worker.catalogue.perform("looking for sets") {
            PairHistory(try $0.recentRoles(inbox: name, limit: 4 * PairHistory.length))
        }
        startup.recovering.remove(name)
        if startup.recovering.isEmpty { resumeRecovered() }
        pump()
    }

    private func resumeRecovered() {
        startup.isRecovered = true
        startup.waiter?.resume()
        startup.waiter = nil
    }

    private func open() {
        if admission == .stopped { return }
        admission = .open
        pump()
    }

    /// Notices of the watch. From any thread; they are processed in their order.
    package nonisolated func receive(_ notices: [WatchNotice]) {
        subsystem.queue.async { [weak self] in self?.assumeIsolated { $0.note(notices) } }
    }

    /// Tries everything that waits for a time now, recovery too: its cause may be gone.
    package func retryAll() {
        for worker in workers.values { worker.recovery.withLock { $0.hasten() } }
        tick(failing: [])
        arrivals.withLock { _ = $0.wake(now: .now, all: true) }
        pump()
    }

    /// Tries recovery again where it is due, and then storage that was `failing`; from any thread, on each tick.
    package nonisolated func tick(failing: Storage) {
        let due = workers.values.filter { $0.recovery.withLock { $0.isDue(now: .now) } }
        if due.isEmpty, failing.isEmpty { return }
        TaskQueue.start {
            for worker in due { await self.recoverAgain(worker) }
            if !failing.isEmpty { await self.tryStorage(failing) }
        }
    }

    private func recoverAgain(_ worker: InboxWorker) async {
        for symptom in await worker.recover() { listener.symptom(symptom) }
        examineAgain(worker)
    }

    /// Runs `body` with the worker of an inbox, or, with nil, of any; ``stop(hurrying:)`` waits for it. Nil where there
    /// is no such inbox, or nothing is begun now: before the start is over, and when stopping.
    package func perform<R: Sendable>(
        _ inbox: String?, _ body: @Sendable (InboxWorker) async -> R
    ) async -> R? {
        let ready = workers.filter { !startup.recovering.contains($0.key) }
        guard admission == .open, let worker = inbox.map({ ready[$0] }) ?? ready.values.first else { return nil }
        load.requests += 1
        busy.begin()
        let result = await body(worker)
        load.requests -= 1
        busy.end()
        resumeWhenDrained()
        return result
    }

    /// Tries now what waits for a time, as far as it is meant. Gives back how many that are.
    package func retry(where isMeant: @Sendable (ArrivalKey) -> Bool) -> Int {
        let count = arrivals.withLock { $0.retry(now: .now, where: isMeant) }
        pump()
        return count
    }

    /// Examines a file as if the watch had just reported it.
    package func examine(_ key: ArrivalKey, as identity: FileIdentity?) {
        arrivals.withLock { _ = $0.noticed(key, as: identity, now: .now) }
        pump()
    }

    /// An inbox was paused or resumed.
    package func admissionChanged() { pump() }

    /// Takes nothing more into work and returns when what is in work has ended; if `hurrying`, long steps end early.
    /// Then the monitors are invalidated, and the arrivals are returned.
    package func stop(hurrying: Bool) async -> ArrivalTable {
        admission = .stopped
        if hurrying { hurry() }
        await withCheckedContinuation { if load.isEmpty { $0.resume() } else { load.waiters.append($0) } }
        await withCheckedContinuation { done in wakeTimer.invalidate { done.resume() } }
        await withCheckedContinuation { done in busy.invalidate { done.resume() } }
        return arrivals.withLock { table in
            table.leaveWaiting()
            return table
        }
    }

    /// Long steps end at their next block. From any thread.
    package nonisolated func hurry() { for worker in workers.values { worker.hurry() } }

    // MARK: - On the queue

    private func note(_ notices: [WatchNotice]) {
        let now = Moment.now
        var ended: [EndedArrival] = []
        arrivals.withLock { table in
            for notice in notices where workers[notice.root] != nil {
                let key = ArrivalKey(inbox: notice.root, path: notice.path)
                switch notice.kind {
                case .finished, .attributesChanged, .notRegular:
                    table.noticed(key, as: notice.identity, now: now)
                case .renamed(let old):
                    let before = ArrivalKey(inbox: notice.root, path: old)
                    let reason = "renamed to \(notice.path.escaped)"
                    if let end = table.withdraw(before, reason, now: now) { ended.append(end) }
                    table.noticed(key, as: notice.identity, now: now)
                case .vanished:
                    if let filed = table.arrivals[key].flatMap({ workers[notice.root]?.takeFinished(of: $0) }) {
                        table.finish(key)
                        ended.append(filed)
                    } else if let end = table.withdraw(key, "gone before it was filed", now: now) {
                        ended.append(end)
                    }
                case .created, .changed, .directoryAppeared, .directoryVanished, .unreadable, .rootGone, .rootBack,
                    .treeGone, .treeBack, .overflow, .healed:
                    break
                }
            }
        }
        for record in ended { listener.ended(record) }
        pump()
    }

    /// Begins as many arrivals as are admitted.
    private func pump() {
        guard admission == .open else { return }
        for (name, worker) in workers where !isPaused(name) && !startup.recovering.contains(name) {
            while load.arrivals[name, default: 0] < Self.width {
                guard let assignment = nextAssignment(for: worker) else { break }
                load.arrivals[name, default: 0] += 1
                busy.begin()
                TaskQueue.start { await self.work(on: assignment, with: worker) }
            }
        }
        setWakeTimer()
        subsystem.waiting(arrivals.withLock { $0.queuedCount })
    }

    /// A set that is ready goes before what waits for its turn.
    private func nextAssignment(for worker: InboxWorker) -> Assignment? {
        let (name, sets) = (worker.spec.name, worker.spec.sets)
        let now = Moment.now
        return arrivals.withLock { table in
            if let set = table.beginReadySet(inbox: name, step: "opening", now: now) { return Assignment(set: set) }
            guard let next = table.beginNext(inbox: name, step: "opening", now: now) else { return nil }
            guard sets.isEnabled else { return Assignment(next, hasCompany: false, expected: []) }
            return Assignment(
                next, hasCompany: table.hasCompany(next), expected: sets.expected(with: next, histories[name]))
        }
    }

    /// Takes what recovery has left in its inbox into work again.
    private func examineAgain(_ worker: InboxWorker) {
        let paths = worker.takeToExamine()
        guard !paths.isEmpty else { return }
        arrivals.withLock { table in
            for path in paths { table.noticed(ArrivalKey(inbox: worker.spec.name, path: path), as: nil, now: .now) }
        }
        pump()
    }

    private func work(on assignment: Assignment, with worker: InboxWorker) async {
        let inbox = worker.spec.name
        let keys = assignment.arrivals.map(\.key)
        let conclusions = await worker.process(assignment) { [arrivals] step in
            arrivals.withLock { table in for key in keys { table.reached(key, step: step, now: .now) } }
        }
        defer { examineAgain(worker) }
        for (arrival, conclusion) in zip(assignment.arrivals, conclusions) { conclude(arrival, conclusion) }
        load.arrivals[inbox, default: 0] -= 1
        busy.end()
        pump()
        resumeWhenDrained()
    }

    private func resumeWhenDrained() {
        guard admission != .open, load.isEmpty else { return }
        for waiter in load.waiters { waiter.resume() }
        load.waiters = []
    }

    /// `arrival` is as it was when its work began.
    private func conclude(_ arrival: Arrival, _ conclusion: Conclusion) {
        let key = arrival.key
        let now = Moment.now
        let (hasEnded, after) = arrivals.withLock { table in
            if let quiet = conclusion.quiet { table.observed(key, quiet) }
            table.refused(key, by: conclusion.refusedBy)
            let hasEnded = table.concluded(key, conclusion.verdict, now: now)
            for path in conclusion.summoned {
                table.summoned(ArrivalKey(inbox: key.inbox, path: path), now: now)
            }
            return (hasEnded, table.arrivals[key]?.stage)
        }
        // What was reported again meanwhile is in line again, and will be concluded then.
        if let kept = conclusion.kept, after == nil {
            switch kept {
            case .asNoticed: whenKept?(key, arrival.noticed, false)
            case .opened(let identity): whenKept?(key, identity, false)
            case .leftAlone(let identity): whenKept?(key, identity, true)
            }
        }
        if let pairing = conclusion.pairing {
            histories[key.inbox, default: PairHistory()].filed(pairing.roles, beside: pairing.beside)
        }
        if hasEnded, let record = conclusion.record { listener.ended(record) }
        for symptom in conclusion.symptoms { listener.symptom(symptom) }
        if case .deferred(let reason, let attempt, let until) = after {
            listener.deferred(key, reason, attempt, until.seconds(since: now))
        }
    }

    // MARK: - Storage that fails

    /// Tries storage that fails. What it refused last may have been finished by recovery, set aside, or removed by its
    /// owner, so that nothing else would show that it is well again.
    ///
    /// What is tried again within a minute shows it itself, and is waited for: one photo may find room where a larger one,
    /// or a trial, does not. So no photo that is filed shows that storage works. A server that was away refused all alike: it is
    /// tried, and what it refused is tried again at once.
    func tryStorage(_ failing: Storage) async {
        let storage = failing.subtracting(refusing)
        guard admission == .open, !load.isTryingStorage, !storage.isEmpty,
            let worker = answering.first
        else {
            return
        }
        load.isTryingStorage = true
        load.requests += 1
        let symptoms = await worker.tryStorage(storage)
        load.requests -= 1
        load.isTryingStorage = false
        // What was refused meanwhile was later than the trial.
        let refusing = refusing
        let shown = symptoms.filter { $0.recovery.isDisjoint(with: refusing) }
        for symptom in shown { listener.symptom(symptom) }
        if shown.contains(where: { $0.recovery.contains(.catalogue) }) { await serverIsBack() }
        resumeWhenDrained()
    }

    private func serverIsBack() async {
        for worker in workers.values
        where worker.recovery.withLock({ recovery in
            if !recovery.refusedBy.isDisjoint(with: .server) { recovery.hasten() }
            return recovery.isDue(now: .now)
        }) {
            await recoverAgain(worker)
        }
        arrivals.withLock { $0.retry(now: .now, refusedBy: .server) }
        pump()
    }

    /// The storage that has refused what is tried again within a minute.
    private var refusing: Storage {
        answering.reduce(into: []) { storage, worker in
            storage.formUnion(worker.recovery.withLock(\.refusedBy))
            let name = worker.spec.name
            if !isPaused(name) { storage.formUnion(arrivals.withLock { $0.refusing(inbox: name) }) }
        }
    }

    /// The workers whose queues answer: one whose disk hangs shows nothing.
    private var answering: [InboxWorker] {
        workers.values.filter { worker in
            (worker.subsystem.snapshot().silence(now: .now) ?? 0) < Subsystem.patience
                && !startup.recovering.contains(worker.spec.name)
        }
    }

    // MARK: - Time

    private func wake() {
        wakeSet = nil
        arrivals.withLock { _ = $0.wake(now: .now) }
        pump()
    }

    private func setWakeTimer() {
        guard let next = arrivals.withLock({ $0.nextWake }), next != wakeSet else { return }
        wakeSet = next
        // Deferred arrivals of one moment share a wake-up.
        wakeTimer.reschedule(.once(after: .nanoseconds(max(0, next.monotonic - Moment.now.monotonic))))
    }
}
