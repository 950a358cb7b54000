import Dispatch
import FileValues
import Glibc
import LinuxKernel
import SystemMonitor

/// Runs the core on its queue: passes events and results to it, its requests to the roots' workers, and its notices to the
/// handler. Everything is on `queue` unless documented otherwise.
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
        /// As last read; nil while no watch was refused.
        var limits: InotifyLimits?
        var cookie = CookieState()
        var isAging = false
        var pacer = Pacer()
        var shouldGather = false
        /// The handlers of watches that are not of trees.
        var foreignHandlers: [Int32: @Sendable (EventRecord) -> Void] = [:]
        /// The results of the roots' workers that wait for the events before them to be applied.
        var results = HeldResults<(root: Int, epoch: UInt32, result: WorkResult)>()
        /// Whether the handler is being called: its requests are carried out afterwards, so that it is never called inside itself.
        var isDelivering = false
        /// Whether results of this turn are being applied: the lookups that follow from them wait for the next one.
        var isApplyingResults = false
        var hasEnded = false
    }

    /// A request for reconciliations of some roots.
    struct Ticket {
        var missing: Int
        var reports: [ReconcileReport] = []
        let completion: @Sendable ([ReconcileReport]) -> Void
    }

    let label: String
    let queue: MonitorQueue
    let roots: [WatchRoot]
    private let workers: [RootWorker]
    /// The memory that it was given.
    let recalled: WatchMemory
    private let backend: any WatchBackend
    let cookie: LivenessCookie?
    let state: EngineState
    /// Returned when no other can be made.
    private let lastSnapshot: Locked<WatchSnapshot>
    private let step: Locked<WatchStep>

    init(
        label: String, queue: MonitorQueue, roots: [WatchRoot], memory: WatchMemory, backend: any WatchBackend,
        instance: InotifyInstance?, reportsChanges: Bool, policy: ComparePolicy,
        cookie: LivenessCookie?
    ) {
        recalled = memory
        self.label = label
        self.queue = queue
        self.roots = roots
        self.backend = backend
        self.cookie = cookie
        let share = max(8, Self.openDirectories / max(1, roots.count))
        workers = roots.map {
            RootWorker($0, backend: backend, instance: instance, openDirectories: share)
        }
        let core = TreeCore(
            roots: roots.map(\.id), memories: memory.roots, reportsChanges: reportsChanges, policy: policy)
        step = Locked(WatchStep(name: "idle", since: monotonicNanoseconds()))
        let state = State(
            core: core, reports: Array(repeating: nil, count: roots.count),
            started: Array(repeating: 0, count: roots.count))
        lastSnapshot = Locked(state.snapshot(label: label, roots, isAskedForLife: cookie != nil))
        self.state = EngineState(state, queue: queue)
    }

    /// A comparison of so many entries leaves enough free memory in the heap to give it back to the kernel.
    private static let large = 8192
    /// The delay until all of it is free.
    private static let untilFree = Duration.milliseconds(250)

    /// How many directories all roots together may keep open for the length of a burst.
    private static let openDirectories = 256

    /// The state after the last turn of the core, with the steps as they are now; any thread. Made when it is asked for:
    /// a turn that is short is not to pay for it.
    func snapshot() -> WatchSnapshot {
        // Read again while one is too low: it may have been raised meanwhile.
        let isLacking = state.anywhere { $0.limits == nil && $0.core.shortage != nil } ?? false
        let read = isLacking ? InotifyLimits.current() : nil
        let (roots, label, cookie) = (self.roots, self.label, self.cookie)
        let made: WatchSnapshot? = state.anywhere { state in
            if let read { state.limits = read }
            return state.snapshot(label: label, roots, isAskedForLife: cookie != nil)
        }
        let snapshot = lastSnapshot.withLock { last in
            if let made { last = made }
            return last
        }
        return WatchSnapshot(
            label: label, roots: zip(snapshot.roots, workers).map { root, worker in root.with(step: worker.step) },
            events: snapshot.events, overflows: snapshot.overflows, strayEvents: snapshot.strayEvents,
            watches: snapshot.watches, need: snapshot.need, liveness: snapshot.liveness, step: step.withLock { $0 })
    }

    /// The present step of a root's file work; any thread. Nil if there is no such root.
    func step(ofRoot id: String) -> WatchStep? { roots.firstIndex { $0.id == id }.map { workers[$0].step } }

    func setHandler(_ handler: @escaping Handler) { state.onQueue { $0.handler = handler } }

    /// How long the beginning of the watch waits for roots that do not answer.
    private static let patience = Duration.seconds(5)

    func start(
        onWatching: (@Sendable () -> Void)?, onReconciled: (@Sendable ([ReconcileReport]) -> Void)?
    ) {
        state.onQueue { $0.onWatching = onWatching }
        for place in roots.indices { removeExcluded(place) }
        let ticket = onReconciled.map { addTicket(Array(roots.indices), $0) }
        turnCore("starting") { $0.start(ticket: ticket) }
        queue.after(Self.patience) { [weak self] in self?.beginWithoutTheRest() }
    }

    private func beginWithoutTheRest() {
        let watching = state.onQueue { $0.onWatching.take() }
        watching?()
    }

    func end() {
        let dropped = state.onQueue { state in
            state.hasEnded = true
            defer { (state.handler, state.onWatching, state.tickets, state.foreignHandlers) = (nil, nil, [:], [:]) }
            return (state.handler, state.onWatching, state.tickets, state.foreignHandlers)
        }
        withExtendedLifetime(dropped) {}
        cookie?.end()
    }

    func apply(_ events: DirectoryEvents) {
        turn("events") { state in
            var records = 0
            events.forEach {
                state.core.apply(watch: $0.watch, mask: $0.mask, cookie: $0.cookie, name: $0.name)
                records += 1
            }
            for (root, epoch, result) in state.results.advance(by: events.bytes.count) {
                state.core.apply(result, root: root, epoch: epoch)
            }
            state.shouldGather = state.pacer.shouldGather(records: records, now: state.core.state.now)
        }
    }

    /// Whether the next events should gather for a moment (``Pacer``).
    var shouldGather: Bool { state.onQueue { !$0.hasEnded && $0.shouldGather } }

    var hasEnded: Bool { state.onQueue { $0.hasEnded } }

    /// Gives `body` the core, for operations without notices.
    func withCore<R>(_ body: (inout TreeCore) -> R) -> R { state.onQueue { body(&$0.core) } }

    func tick(isPaced: Bool) {
        if hasEnded { return }
        state.onQueue { $0.limits = nil }
        let hasQueuedRecords = backend.queuedBytes > 0
        turnCore("tick") { $0.tick(isPaced: isPaced, hasQueuedRecords: hasQueuedRecords) }
        touchCookie()
    }

    /// Gives the records of a watch that is not of a tree to `handler`, on the queue, until its last record, `ignored`, or
    /// ``stopListening(to:)``. Records before this call are lost.
    func listen(to watch: Int32, _ handler: @escaping @Sendable (EventRecord) -> Void) {
        state.onQueue { state in
            state.foreignHandlers[watch] = handler
            state.core.setForeign(watch, true)
        }
    }

    func stopListening(to watch: Int32) {
        let dropped = state.onQueue { state in
            state.core.setForeign(watch, false)
            return state.foreignHandlers.removeValue(forKey: watch)
        }
        withExtendedLifetime(dropped) {}
    }

    /// The mount table changed: any path may lead elsewhere.
    func apply(_ changes: MountChanges) {
        var points = Set((changes.added + changes.removed).map(\.mountPoint))
        for pair in changes.changed { points.formUnion([pair.before.mountPoint, pair.after.mountPoint]) }
        turnCore("mounts") { $0.applyMounts(points) }
    }

    func forget(_ root: String, _ path: BytePath) {
        guard let place = roots.firstIndex(where: { $0.id == root }) else { return }
        if state.onQueue({ $0.isDelivering }) {
            queue.async { self.forget(root, path) }
            return
        }
        turnCore("forgetting") { $0.forget(place, path) }
    }

    func reconcile(_ root: String?, _ completion: @escaping @Sendable ([ReconcileReport]) -> Void) {
        if state.onQueue({ $0.isDelivering }) {
            queue.async { self.reconcile(root, completion) }
            return
        }
        let places = roots.indices.filter { root == nil || roots[$0].id == root }
        if places.isEmpty || hasEnded { return completion([]) }
        let ticket = addTicket(places, completion)
        turnCore("reconciling") { core in
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

    /// The same for turns that need nothing but the core.
    private func turnCore(_ name: String, _ body: (inout TreeCore) -> Void) { turn(name) { body(&$0.core) } }

    /// One turn of the core, with its reports and requests. No handler is called while the state is locked, so handlers may
    /// call the watch.
    ///
    /// Between an event and its notice nothing is done that can be done later, or on request: after a pause nothing of this
    /// is in the processor's caches, and each access costs time.
    private func turn(_ name: String, _ body: (inout State) -> Void) {
        let began = monotonicNanoseconds()
        step.withLock { $0 = WatchStep(name: name, since: began) }
        let begun: Begun? = state.onQueue { state in
            if state.hasEnded { return nil }
            state.core.beginTurn(at: began)
            body(&state)
            return state.begin()
        }
        if let begun {
            var results: [(root: Int, epoch: UInt32, result: WorkResult)] = []
            for (root, epoch, request) in begun.output.work {
                if let result = lookUpNow(root, epoch, request) {
                    results.append((root, epoch, result))
                } else {
                    submit(root, epoch, request)
                }
            }
            finish(begun)
            if !results.isEmpty {
                state.onQueue { $0.isApplyingResults = true }
                for (root, epoch, result) in results { receive(root, epoch, result) }
                state.onQueue { $0.isApplyingResults = false }
            }
        }
        step.withLock { $0 = WatchStep(name: "idle", since: monotonicNanoseconds()) }
    }

    /// Delivers the notices of a turn, and completes the requests that it has ended.
    private func finish(_ begun: Begun) {
        begun.handler?(begun.output.notices)
        for record in begun.output.foreign {
            let listener = state.onQueue { $0.foreignHandlers[record.watch] }
            if record.mask.contains(.ignored) { stopListening(to: record.watch) }
            listener?(record)
        }
        let ended = state.onQueue { state in state.end(begun.output, roots) }
        guard let ended else { return }
        ended.watching?()
        for answer in ended.answers { answer.completion(answer.reports) }
        for (root, outcome) in begun.output.reconciled where outcome.directories + outcome.files >= Self.large {
            // On the root's queue, so that this one does not wait for it.
            roots[root].queue.after(Self.untilFree) { HeapMemory.giveBackWhatIsFree() }
        }
        if ended.isAging { ageLater() }
    }

    private func submit(_ root: Int, _ epoch: UInt32, _ request: WorkRequest) {
        workers[root].submit(request, epoch: epoch) { [weak self] result in
            guard let self, let result else { return }
            self.queue.async { self.receive(root, epoch, result) }
        }
    }

    /// Makes a lookup without a change of queue. Nil if the root has a queue of its own, or findings of a survey are on their
    /// way, which must be applied first.
    private func lookUpNow(_ root: Int, _ epoch: UInt32, _ request: WorkRequest) -> WorkResult? {
        guard roots[root].queue === queue, case .lookUp(let lookup) = request,
            state.onQueue({ !$0.isApplyingResults && $0.core.state.roots[root].surveys == 0 })
        else { return nil }
        return workers[root].lookUpNow(lookup, epoch: epoch)
    }

    private func receive(_ root: Int, _ epoch: UInt32, _ result: WorkResult) {
        let queued = backend.queuedBytes
        let due = state.onQueue { $0.results.add((root, epoch, result), queued: queued) }
        if due != nil { turnCore("results") { $0.apply(result, root: root, epoch: epoch) } }
    }

    /// How long a rename waits for its second half, at least; at most twice that.
    private static let pairing = Duration.milliseconds(25)

    private func ageLater() {
        queue.after(Self.pairing) { [weak self] in
            guard let self else { return }
            self.state.onQueue { $0.isAging = false }
            self.turnCore("pairing") { $0.age() }
        }
    }
}
