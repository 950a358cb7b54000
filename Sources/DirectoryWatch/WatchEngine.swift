import Dispatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

/// Runs the core on its queue: gives it events and results, carries its requests to the roots' workers, its notices to
/// the handler. Everything is on `queue` unless it says otherwise.
final class WatchEngine: Sendable {
    typealias Handler = @Sendable ([WatchNotice]) -> Void

    struct State {
        var core: TreeCore
        var handler: Handler?
        var tickets: [UInt64: Ticket] = [:]
        var lastTicket: UInt64 = 0
        var onWatching: (@Sendable () -> Void)?
        var reports: [ReconcileReport?]
        var started: [UInt64]
        /// As last read; nil while nothing was refused.
        var limits: InotifyLimits?
        var life = Life()
        var isAging = false
        var pacer = Pacer()
        var shouldGather = false
        /// Who takes the records of watches that are not of trees.
        var outsiders: [Int32: @Sendable (EventRecord) -> Void] = [:]
        /// For each root, requests whose last result was not taken yet.
        var underWay: [Int]
        /// Whether the handler is being called: what it asks for comes after it, so that it is never called inside itself.
        var isDelivering = false
        var hasEnded = false
    }

    /// Somebody who waits for reconciliations.
    struct Ticket {
        var missing: Int
        var reports: [ReconcileReport] = []
        let completion: @Sendable ([ReconcileReport]) -> Void
    }

    let label: String
    let queue: MonitorQueue
    let roots: [WatchRoot]
    private let workers: [RootWorker]
    /// Of the fanotify tier, where it is asked for and the kernel gives it a group.
    private let tier: FanotifyTier?
    private let tierRefusal: SystemCallError?
    private let isolatesRoots: Bool
    /// What it was given to begin with.
    let recalled: WatchMemory
    private let backend: any WatchBackend
    let cookie: LivenessCookie?
    let state: QueueBound<State>
    private let published: Locked<WatchSnapshot>
    private let step: Locked<WatchStep>

    init(
        label: String, queue: MonitorQueue, roots: [WatchRoot], memory: WatchMemory, backend: any WatchBackend,
        instance: InotifyInstance?,
        tier: FanotifyTier? = nil, refusal: SystemCallError? = nil, reportsChanges: Bool, identifiesFiles: Bool,
        isolatesRoots: Bool,
        policy: ComparePolicy, cookie: LivenessCookie?
    ) {
        recalled = memory
        self.label = label
        self.queue = queue
        self.roots = roots
        self.tier = tier
        tierRefusal = refusal
        self.isolatesRoots = isolatesRoots
        self.backend = backend
        self.cookie = cookie
        let share = max(8, Self.openDirectories / max(1, roots.count))
        workers = roots.map {
            RootWorker(
                $0, backend: tier ?? backend, instance: instance, openDirectories: share, keepsOpen: !isolatesRoots)
        }
        var core = TreeCore(
            roots: roots.map(\.id), reportsChanges: reportsChanges, identifiesFiles: identifiesFiles || tier != nil,
            policy: policy)
        for (place, root) in roots.enumerated() {
            core.roots[place].memories = memory.roots[root.id] ?? []
            core.roots[place].hasNoRule = root.exclude == nil
        }
        let idle = WatchStep(name: "idle", since: monotonicNanoseconds())
        published = Locked(
            WatchSnapshot(
                label: label,
                roots: roots.indices.map {
                    core.snapshot(of: $0, roots[$0], lastReconciliation: nil, limit: nil, step: idle)
                },
                events: 0, overflows: 0, strayEvents: 0, watches: 0, need: nil, liveness: nil, step: idle))
        step = Locked(idle)
        state = QueueBound(
            State(
                core: core, reports: Array(repeating: nil, count: roots.count),
                started: Array(repeating: 0, count: roots.count), underWay: Array(repeating: 0, count: roots.count)),
            queue: queue)
    }

    /// How many directories all roots together may keep open for the length of a burst.
    private static let openDirectories = 256

    /// The last published state, with the steps as they are now; any thread.
    func snapshot() -> WatchSnapshot {
        let last = published.withLock { $0 }
        return WatchSnapshot(
            label: last.label,
            roots: zip(last.roots, workers).map { root, worker in root.with(step: worker.step) },
            events: last.events, overflows: last.overflows, strayEvents: last.strayEvents, watches: last.watches,
            need: last.need, liveness: last.liveness, step: step.withLock { $0 }, tier: tierSnapshot)
    }

    private var tierSnapshot: TierSnapshot? { tier?.snapshot ?? tierRefusal.map { TierSnapshot(refusal: $0) } }

    func setHandler(_ handler: @escaping Handler) { state.onQueue { $0.handler = handler } }

    /// How long roots that do not answer may hold up whoever waits for the watch to begin.
    private static let patience = Duration.seconds(5)

    func start(
        onWatching: (@Sendable () -> Void)?, onReconciled: (@Sendable ([ReconcileReport]) -> Void)?
    ) {
        state.onQueue { $0.onWatching = onWatching }
        for place in roots.indices { leaveOutOfMemory(place) }
        let ticket = onReconciled.map { addTicket(Array(roots.indices), $0) }
        turn("starting") { $0.start(ticket: ticket) }
        queue.after(Self.patience) { [weak self] in self?.beginWithoutTheRest() }
    }

    private func beginWithoutTheRest() {
        let watching = state.onQueue { state in
            defer { state.onWatching = nil }
            return state.onWatching
        }
        watching?()
    }

    func end() {
        let dropped = state.onQueue { state in
            state.hasEnded = true
            defer { (state.handler, state.onWatching, state.tickets, state.outsiders) = (nil, nil, [:], [:]) }
            return (state.handler, state.onWatching, state.tickets, state.outsiders)
        }
        withExtendedLifetime(dropped) {}
        cookie?.end()
    }

    func take(_ events: DirectoryEvents) {
        let readAt = wallTime()
        takeRecords { core in
            var records = 0
            core.beginRead(at: readAt, isAll: events.isAll)
            if let tier {
                tier.forEach(events) {
                    core.take($0)
                    records += 1
                }
            } else {
                events.forEach {
                    core.take(watch: $0.watch, mask: $0.mask, cookie: $0.cookie, name: $0.name)
                    records += 1
                }
            }
            return records
        }
    }

    func take(_ events: FanotifyEvents) {
        // Those of others count, too: what they cost is the wake-up.
        takeRecords { core in tier?.forEach(events) { core.take($0) } ?? 0 }
    }

    private func takeRecords(_ body: (inout TreeCore) -> Int) {
        var records = 0
        turn("events") { records = body(&$0) }
        let count = records
        state.onQueue { $0.shouldGather = $0.pacer.shouldGather(records: count, now: monotonicNanoseconds()) }
    }

    /// Whether the next events should gather for a moment (``Pacer``).
    var shouldGather: Bool { state.onQueue { !$0.hasEnded && $0.shouldGather } }

    var hasEnded: Bool { state.onQueue { $0.hasEnded } }

    /// Gives `body` the core, for what makes no notices.
    func withCore<R>(_ body: (inout TreeCore) -> R) -> R { state.onQueue { body(&$0.core) } }

    func tick(isPaced: Bool) {
        if hasEnded { return }
        state.onQueue { $0.limits = nil }
        let hasQueuedRecords = backend.hasQueuedRecords
        turn("tick") {
            $0.hasQueuedRecords = hasQueuedRecords
            $0.tick(isPaced: isPaced)
        }
        askForLife()
    }

    /// Gives the records of a watch that somebody else made on the same instance to `handler`, on the queue, until its
    /// last record, `ignored`, or ``stopListening(to:)``. What came before this call is lost.
    func listen(to watch: Int32, _ handler: @escaping @Sendable (EventRecord) -> Void) {
        state.onQueue { state in
            state.outsiders[watch] = handler
            state.core.outsiders.insert(watch)
        }
    }

    func stopListening(to watch: Int32) {
        let dropped = state.onQueue { state in
            state.core.outsiders.remove(watch)
            return state.outsiders.removeValue(forKey: watch)
        }
        withExtendedLifetime(dropped) {}
    }

    /// The mount table changed: any path may lead elsewhere.
    func take(_ changes: MountChanges) {
        var points = Set((changes.added + changes.removed).map(\.mountPoint))
        for pair in changes.changed { points.formUnion([pair.before.mountPoint, pair.after.mountPoint]) }
        turn("mounts") { $0.takeMounts(points) }
    }

    func forget(_ root: String, _ path: BytePath) {
        guard let place = roots.firstIndex(where: { $0.id == root }) else { return }
        if state.onQueue({ $0.isDelivering }) {
            queue.async { self.forget(root, path) }
            return
        }
        turn("forgetting") { $0.forget(place, path) }
    }

    func reconcile(_ root: String?, _ completion: @escaping @Sendable ([ReconcileReport]) -> Void) {
        if state.onQueue({ $0.isDelivering }) {
            queue.async { self.reconcile(root, completion) }
            return
        }
        let places = roots.indices.filter { root == nil || roots[$0].id == root }
        if places.isEmpty || hasEnded { return completion([]) }
        let ticket = addTicket(places, completion)
        turn("reconciling") { core in
            for place in places { core.reconcile(place, ticket: ticket) }
        }
    }

    private func addTicket(
        _ places: [Int], _ completion: @escaping @Sendable ([ReconcileReport]) -> Void
    ) -> UInt64 {
        state.onQueue { state in
            state.lastTicket += 1
            state.tickets[state.lastTicket] = Ticket(missing: places.count, completion: completion)
            return state.lastTicket
        }
    }

    /// One turn of the core, and what follows from it. Nothing is called while the box is open, so handlers may come
    /// back.
    private func turn(_ name: String, _ body: (inout TreeCore) -> Void) {
        let began = monotonicNanoseconds()
        step.withLock { $0 = WatchStep(name: name, since: began) }
        let output: TreeCore.Output? = state.onQueue { state in
            if state.hasEnded { return nil }
            state.core.now = began
            body(&state.core)
            return state.takeOutput()
        }
        if var output {
            if !isolatesRoots { lookNow(&output) }
            perform(output)
        }
        step.withLock { $0 = WatchStep(name: "idle", since: monotonicNanoseconds()) }
    }

    /// Carries out looks at once, as long as nothing else is going on at their roots.
    private func lookNow(_ output: inout TreeCore.Output) {
        while let place = output.work.firstIndex(where: { root, _, request in
            if case .look = request { state.onQueue { $0.underWay[root] == 0 } } else { false }
        }) {
            let (root, epoch, request) = output.work[place]
            // What was asked for before goes first.
            guard !output.work[..<place].contains(where: { $0.root == root }), case .look(let looks) = request
            else { return }
            output.work.remove(at: place)
            guard let result = workers[root].lookNow(looks, epoch: epoch) else { continue }
            output.append(
                state.onQueue { state in
                    state.core.take(result, root: root, epoch: epoch)
                    return state.takeOutput()
                })
        }
    }

    private func perform(_ output: TreeCore.Output) {
        for (root, epoch, request) in output.work { submit(root, epoch, request) }
        if !output.notices.isEmpty, let handler = state.onQueue({ $0.handler }) {
            state.onQueue { $0.isDelivering = true }
            handler(output.notices)
            state.onQueue { $0.isDelivering = false }
        }
        for record in output.outside {
            let listener = state.onQueue { $0.outsiders[record.watch] }
            if record.mask.contains(.ignored) { stopListening(to: record.watch) }
            listener?(record)
        }
        let (watching, answers) = state.onQueue { state in
            let answers = output.reconciled.flatMap { state.answer($0.root, $0.outcome, roots[$0.root].id) }
            let isWatching = state.core.roots.allSatisfy { $0.hasBegun || $0.isLost }
            defer { if isWatching { state.onWatching = nil } }
            return (isWatching ? state.onWatching : nil, answers)
        }
        publish()
        watching?()
        for answer in answers { answer.completion(answer.reports) }
        ageLater()
    }

    private func submit(_ root: Int, _ epoch: UInt32, _ request: WorkRequest) {
        state.onQueue { $0.underWay[root] += 1 }
        workers[root].submit(request, epoch: epoch) { [weak self] result, isLast in
            guard let self else { return }
            self.queue.async {
                if isLast { self.state.onQueue { $0.underWay[root] -= 1 } }
                if let result { self.turn("results") { $0.take(result, root: root, epoch: epoch) } }
            }
        }
    }

    /// How long the second half of a rename is waited for, at least; at most twice that.
    private static let pairing = Duration.milliseconds(25)

    private func ageLater() {
        let isDue = state.onQueue { state in
            guard state.core.isHolding, !state.isAging, !state.hasEnded else { return false }
            state.isAging = true
            return true
        }
        guard isDue else { return }
        queue.after(Self.pairing) { [weak self] in
            guard let self else { return }
            self.state.onQueue { $0.isAging = false }
            self.turn("pairing") { $0.age() }
        }
    }

    func publish() {
        let snapshot = state.onQueue { state in
            // Read while something is lacking: it may have been raised meanwhile.
            var need = state.core.need(state.limits ?? InotifyLimits())
            if need != nil, state.limits == nil {
                let limits = InotifyLimits.current()
                state.limits = limits
                need = state.core.need(limits)
            }
            return WatchSnapshot(
                label: label,
                roots: roots.indices.map {
                    state.core.snapshot(
                        of: $0, roots[$0], lastReconciliation: state.reports[$0],
                        limit: need.flatMap { $0.resource == .watches ? $0.limit?.value : nil },
                        step: WatchStep(name: "idle", since: 0))
                },
                events: state.core.counters.events, overflows: state.core.counters.overflows,
                strayEvents: state.core.counters.strayEvents, watches: state.core.watches.count, need: need,
                liveness: state.liveness(isAsked: cookie != nil), step: WatchStep(name: "idle", since: 0))
        }
        published.withLock { $0 = snapshot }
    }
}

/// Not CLOCK_REALTIME_COARSE: since Linux 6.13 a file's times may be ahead of that one by up to a tick, because no file
/// is given an earlier time than another that was given a fine one.
private func wallTime() -> FileTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return FileTime(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
}
