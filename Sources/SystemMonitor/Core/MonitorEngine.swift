import Dispatch
import FileValues
import LinuxKernel

/// The working part of a monitor, separate from the object that its user holds: sources and blocks retain the engine,
/// the user retains the core, so that the core's deinit shows that the user released it. After `invalidate` the
/// source's handlers retain the engine until the source is cancelled.
final class MonitorEngine: Sendable {
    let queue: MonitorQueue
    let record: MonitorRecord
    private let source: any KernelSource
    private let file: StaticString
    private let line: UInt
    private let bound: QueueBound<Contents>
    /// The most events that are kept until the handler may run.
    static let mostKept = 1024

    /// Work that is kept until the handler may run.
    private enum Kept {
        /// The source fired; its events are unread.
        case turn(@Sendable () -> Void)
        /// An event that was read already.
        case delivery(@Sendable () throws -> Void)
    }

    private struct Contents {
        var lifecycle = Lifecycle()
        var priority = 0
        var rateLimit: RateLimit?
        var backlog = Backlog<Kept>()
        /// Ends the rate limit's interval. A source and not a delayed block, which would keep the queue alive.
        var intervalEnd: DispatchSource?
        var onRegistered: (@Sendable () -> Void)?
        var completion: (@Sendable () -> Void)?
        /// The consumer that iterates over the events.
        var consumer: (any EventConsumer)?
        /// Releases the handlers and the kind's resources.
        var end: (@Sendable () -> Void)?

        mutating func verdict() -> Verdict {
            switch lifecycle.eventArrived() {
            case .deliver: isWithinRateLimit() ? .deliver : .limit
            case .keep: .keep
            case .drop: .drop
            }
        }

        mutating func isWithinRateLimit() -> Bool {
            rateLimit?.admits(at: monotonicNanoseconds()) ?? true
        }
    }

    private enum Verdict {
        case deliver, keep, limit, drop
    }

    init(
        kind: String, label: String, queue: MonitorQueue, source: any KernelSource, end: @escaping @Sendable () -> Void,
        file: StaticString, line: UInt
    ) {
        self.queue = queue
        self.source = source
        self.file = file
        self.line = line
        record = MonitorRegistry.shared.makeRecord(
            kind: kind, label: label, queue: queue.label, file: file, line: line)
        var contents = Contents()
        contents.end = end
        bound = QueueBound(contents, queue: queue)
    }

    var isOpen: Bool { bound.confined { $0.lifecycle.isOpen } }

    /// The source's descriptor, until invalidation.
    func descriptor(file: StaticString, line: UInt) -> Int32? {
        checkQueue(file: file, line: line)
        switch bound.confined({ $0.lifecycle.summary }) {
        case .invalidating, .invalidated: return nil
        case .setUp, .active, .suspended, .rateLimited, .disabled: return source.descriptor
        }
    }
}

// MARK: - Calls by the user

extension MonitorEngine {
    func checkQueue(file: StaticString, line: UInt) {
        if !queue.isCurrent { violate(.onItsQueue, file: file, line: line) }
        dispatchPrecondition(condition: .onQueue(queue.dispatchQueue))
    }

    /// Requires that the monitor is being set up.
    func configure(file: StaticString, line: UInt) {
        obeying(file: file, line: line) { contents throws(LifecycleRule) in try contents.lifecycle.configure() }
    }

    /// Requires that the monitor is not being invalidated.
    func use(file: StaticString, line: UInt) {
        obeying(file: file, line: line) { contents throws(LifecycleRule) in try contents.lifecycle.use() }
    }

    func setConsumer(_ consumer: (any EventConsumer)?, file: StaticString, line: UInt) {
        configure(file: file, line: line)
        let old = bound.confined { contents in
            defer { contents.consumer = consumer }
            return contents.consumer
        }
        _ = old?.end()
    }

    func setPriority(_ priority: Int, file: StaticString, line: UInt) {
        configure(file: file, line: line)
        bound.confined { $0.priority = priority }
        record.setPriority(priority)
    }

    func setRateLimit(_ limit: RateLimit, file: StaticString, line: UInt) {
        configure(file: file, line: line)
        bound.confined { $0.rateLimit = limit }
    }

    func activate(onRegistered: (@Sendable () -> Void)?, file: StaticString, line: UInt) {
        let priority = obeying(file: file, line: line) { contents throws(LifecycleRule) in
            try contents.lifecycle.activate()
            contents.onRegistered = onRegistered
            return contents.priority
        }
        queue.turns.confined { $0.activated(priority: priority) }
        record.enter(.active)
        source.start(for: self)
    }

    func suspend(file: StaticString, line: UInt) {
        perform(
            obeying(file: file, line: line) { contents throws(LifecycleRule) in try contents.lifecycle.suspend() })
    }

    func resume(file: StaticString, line: UInt) {
        perform(obeying(file: file, line: line) { contents throws(LifecycleRule) in try contents.lifecycle.resume() })
    }

    func reenable(file: StaticString, line: UInt) {
        perform(
            obeying(file: file, line: line) { contents throws(LifecycleRule) in try contents.lifecycle.reenable() })
    }

    func invalidate(completion: (@Sendable () -> Void)?, file: StaticString, line: UInt) {
        end(
            obeying(file: file, line: line) { contents throws(LifecycleRule) in
                let action = try contents.lifecycle.invalidate()
                contents.completion = completion
                return action
            })
    }

    private func end(_ action: Lifecycle.InvalidateAction) {
        record.enter(.invalidating)
        // Released outside the box: a deinit of the closures' captures may access it.
        let dropped = bound.confined { contents in
            defer {
                (contents.backlog, contents.onRegistered) = (Backlog(), nil)
                (contents.intervalEnd, contents.consumer) = (nil, nil)
            }
            return contents
        }
        switch action {
        case .abandon: break
        case .cancel, .cancelAndRelease: queue.turns.confined { $0.deactivated(priority: dropped.priority) }
        }
        let kept = dropped.backlog.all.count { kept in
            switch kept {
            case .delivery: true
            case .turn: !source.countsUnreadEvents
            }
        }
        let late = kept + (dropped.consumer?.end() ?? 0)
        if late > 0 { record.addDropped(UInt64(late)) }
        dropped.intervalEnd?.cancel()
        switch action {
        case .abandon: source.abandon(for: self)
        case .cancel: source.cancel(for: self)
        case .cancelAndRelease:
            source.cancel(for: self)
            source.release()
        }
    }

    /// The user's last reference was released; on any thread.
    func released() {
        switch record.state {
        // Its resources are released on its queue, as at every other end.
        case .setUp: queue.async { self.endReleased() }
        // Here, so that the backtrace shows the release.
        case .active, .suspended, .rateLimited, .disabled: trapReleased()
        case .invalidating, .invalidated: break
        }
    }

    private func endReleased() {
        do throws(LifecycleRule) {
            if let action = try bound.confined({ (contents) throws(LifecycleRule) in try contents.lifecycle.released() }
            ) {
                end(action)
            }
        } catch {
            trapReleased()
        }
    }

    private func trapReleased() -> Never {
        LifecycleViolation.trap(
            subject(record.state), .invalidatedBeforeRelease, site: "set up",
            advice: "; keep a reference to it, and call invalidate() on its queue before you release that", file: file,
            line: line)
    }

    private func obeying<R>(
        file: StaticString, line: UInt, _ body: (inout Contents) throws(LifecycleRule) -> R
    ) -> R {
        checkQueue(file: file, line: line)
        do {
            return try bound.confined(body)
        } catch {
            violate(error, file: file, line: line)
        }
    }

    private func violate(_ rule: LifecycleRule, file: StaticString, line: UInt) -> Never {
        LifecycleViolation.trap(subject(record.state), rule, file: file, line: line)
    }

    private func subject(_ state: MonitorState) -> String {
        "monitor \(record.kind) \"\(escapeForDisplay(record.label.utf8))\" (queue \(queue.label)) is \(state.rawValue)"
    }
}

// MARK: - Calls by the source

extension MonitorEngine {
    /// The source is registered with the kernel.
    func registered() {
        let action = bound.confined { $0.onRegistered.take() }
        action?()
    }

    /// The source fired; `turn` reads and delivers its events. On the queue.
    func fired(_ turn: @escaping @Sendable () -> Void) {
        let isMixed = queue.turns.confined { $0.isMixed }
        switch bound.confined({ $0.lifecycle.eventArrived() }) {
        case .deliver where !isMixed: turn()
        case .deliver, .keep: keep(.turn(turn))
        case .drop: if !source.countsUnreadEvents { record.addDropped(1) }
        }
    }

    /// The consumer's buffer is full. On the queue.
    func consumerFellBehind() { perform(bound.confined { $0.lifecycle.consumerFellBehind() }) }

    /// The consumer's buffer is empty again. On the queue.
    func consumerCaughtUp() { perform(bound.confined { $0.lifecycle.consumerCaughtUp() }) }

    /// Delivers, keeps or drops one event, depending on the lifecycle and the rate limit. On the queue.
    func deliver<Event: Sendable>(_ event: Event, to slot: HandlerSlot<Event>) {
        guard let handler = slot.handler else { return record.addDropped(1) }
        switch bound.confined({ $0.verdict() }) {
        case .deliver: run { try handler.call(event) }
        case .keep: keep(.delivery { try handler.call(event) })
        case .limit:
            keep(.delivery { try handler.call(event) })
            holdForRateLimit()
        case .drop: record.addDropped(1)
        }
    }

    /// The source is cancelled and its descriptors are closed. On the queue.
    func sourceCancelled() {
        let (end, completion) = bound.confined { contents in
            contents.lifecycle.sourceCancelled()
            defer { (contents.end, contents.completion) = (nil, nil) }
            return (contents.end, contents.completion)
        }
        // Before the handlers are released and the completion runs: either may hold the last reference.
        record.enter(.invalidated)
        MonitorRegistry.shared.remove(record)
        end?()
        completion?()
    }
}

// MARK: - Turns

extension MonitorEngine: TurnTaker {
    /// Runs this monitor's first kept work.
    func takeTurn() {
        enum Step {
            case nothing, limit
            case run(Kept, Lifecycle.SourceAction)
        }
        let step: Step = bound.confined { contents in
            guard contents.lifecycle.isOpen, let first = contents.backlog.first else { return .nothing }
            if case .delivery = first, !contents.isWithinRateLimit() { return .limit }
            _ = contents.backlog.popFirst()
            return .run(first, contents.backlog.isEmpty ? contents.lifecycle.backlogEmptied() : .none)
        }
        switch step {
        case .nothing: return
        case .limit: holdForRateLimit()
        case .run(let kept, let action):
            switch kept {
            case .turn(let turn): turn()
            case .delivery(let delivery): run(delivery)
            }
            // After the turn, since the source would fire again for events that the turn reads. libdispatch counts
            // suspensions, so those by the handler remain balanced.
            perform(action)
            noteBacklog()
        }
    }

    private func keep(_ kept: Kept) {
        let action: Lifecycle.SourceAction? = bound.confined { contents in
            // A turn is never dropped, since the source would not fire again; it fires once and is then held.
            if case .delivery = kept, contents.backlog.count >= Self.mostKept { return nil }
            contents.backlog.append(kept)
            return contents.lifecycle.backlogGrew()
        }
        if let action { perform(action) } else { record.addDropped(1) }
    }

    private func holdForRateLimit() {
        hold(for: bound.confined { $0.rateLimit?.remaining(at: monotonicNanoseconds()) ?? 0 })
    }

    /// Holds the source, which is open, for `delay` nanoseconds.
    func hold(for delay: UInt64) {
        let action = bound.confined { $0.lifecycle.rateLimitReached() }
        record.addRateLimitHit()
        perform(action)
        guard
            let timer = DispatchSource.makeTimerSource(queue: queue.dispatchQueue) as? DispatchSource
        else { fatalError("a dispatch source of another class") }
        (timer as any DispatchSourceTimer).schedule(deadline: .now() + .nanoseconds(Int(clamping: delay)))
        timer.setEventHandler { [weak self] in self?.rateLimitEnded() }
        timer.activate()
        bound.confined { $0.intervalEnd = timer }
    }

    private func rateLimitEnded() {
        let (action, timer) = bound.confined { contents in
            defer { contents.intervalEnd = nil }
            return (contents.lifecycle.rateLimitEnded(), contents.intervalEnd)
        }
        timer?.cancel()
        perform(action)
    }

    /// Applies the lifecycle's action to the source, and the new state to the record and the turns.
    private func perform(_ action: Lifecycle.SourceAction) {
        switch action {
        case .none: break
        case .hold: source.hold()
        case .release: source.release()
        }
        record.enter(bound.confined { $0.lifecycle.summary })
        noteBacklog()
    }

    private func noteBacklog() {
        let priority = bound.confined { contents in
            contents.lifecycle.isOpen && !contents.backlog.isEmpty ? contents.priority : nil
        }
        if let priority { queue.note(self, priority: priority) }
    }

    private func run(_ handler: () throws -> Void) {
        let began = monotonicNanoseconds()
        record.handlerBegan(at: began)
        do {
            try handler()
            record.handlerEnded(after: monotonicNanoseconds() - began)
        } catch {
            record.handlerEnded(after: monotonicNanoseconds() - began)
            fail(error)
        }
    }

    /// Disables the monitor after an error of its handler or source.
    func fail(_ error: any Error) {
        record.addError("\(error)")
        perform(bound.confined { $0.lifecycle.handlerFailed() })
        MonitorRegistry.shared.report(error, of: record)
        bound.confined { $0.consumer }?.fail(error)
    }
}
