public import LinuxKernel

/// The common part of all kinds of monitors: lifecycle, handler, source, statistics.
///
/// A kind is a final class that creates a core in its initialiser, stores it in a private property, and conforms to
/// ``Monitor`` through the core's ``handle``. It delivers its events through the core; users of the monitor have no
/// access to the core and cannot. The release of the core counts as the release of the monitor, so nothing but the
/// monitor may retain the core: neither `drain` nor `onEnd`. A core is created and released on any thread; all other
/// calls are made on the monitor's queue.
public final class MonitorCore<Event: Sendable>: Sendable {
    /// For ``Monitor/handle``.
    public let handle: MonitorHandle<Event>

    private var engine: MonitorEngine { handle.engine }

    /// A core without a kernel source, whose owner calls ``deliver(_:file:line:)``. `onEnd` runs once on the queue when
    /// the invalidation has finished, before the handler is released and the completion called.
    public convenience init(
        kind: String, label: String, queue: MonitorQueue, onEnd: (@Sendable () -> Void)? = nil,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(kind: kind, label: label, queue: queue, source: OwnerSource(), onEnd: onEnd, file: file, line: line)
    }

    /// A core over a descriptor, which it owns and closes when the source is cancelled.
    ///
    /// - Parameters:
    ///   - descriptor: Non-blocking. Without `watcher` it must be one that becomes readable and never hangs up, such as
    ///     a timerfd, a signalfd or an inotify instance.
    ///   - watcher: For all others (pipes, sockets, terminals, process descriptors, urgent readiness, writing): the
    ///     result of `epollWatcher(of:_:)` for `descriptor`; owned and closed likewise.
    ///   - prepare: Called on the queue at activation, right before the source exists.
    ///   - drain: Called on the queue with `descriptor` when it is ready. Reads and delivers all available events while
    ///     the outlet is open; finding none (EAGAIN) is normal. Must not retain the monitor.
    ///   - onEnd: Called once on the queue when the descriptor is closed.
    public convenience init(
        kind: String, label: String, queue: MonitorQueue,
        descriptor: consuming OwnedDescriptor, watcher: consuming OwnedDescriptor? = nil,
        prepare: (@Sendable (Int32) -> Void)? = nil,
        drain: @escaping @Sendable (Int32, EventOutlet<Event>) -> Void,
        onEnd: (@Sendable () -> Void)? = nil,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        let slot = HandlerSlot<Event>(queue: queue)
        let source = DescriptorSource(descriptor, watcher: watcher, queue: queue, prepare: prepare) { raw, engine in
            drain(raw, EventOutlet(engine: engine, slot: slot))
        }
        self.init(
            kind: kind, label: label, queue: queue, source: source, slot: slot, onEnd: onEnd, file: file, line: line)
    }

    init(
        kind: String, label: String, queue: MonitorQueue, source: any KernelSource, slot: HandlerSlot<Event>? = nil,
        onEnd: (@Sendable () -> Void)?, file: StaticString, line: UInt
    ) {
        let slot = slot ?? HandlerSlot(queue: queue)
        let engine = MonitorEngine(
            kind: kind, label: label, queue: queue, source: source,
            end: {
                onEnd?()
                slot.drop()
            }, file: file, line: line)
        handle = MonitorHandle(engine: engine, slot: slot)
    }

    deinit { engine.released() }

    /// Whether the handler may run now: active, and neither suspended, disabled nor rate limited. On the queue.
    public var isOpen: Bool { engine.isOpen }

    /// Delivers one event to the handler, as ``EventOutlet/deliver(_:)`` does. On the queue.
    public func deliver(_ event: Event, file: StaticString = #fileID, line: UInt = #line) {
        engine.checkQueue(file: file, line: line)
        engine.deliver(event, to: handle.slot)
    }

    /// Counts events that arrived too late to be delivered; from any thread.
    public func countDropped(_ count: UInt64 = 1) { engine.record.addDropped(count) }

    /// Calls `body` with the descriptor, for calls other than reading; nil after invalidation, or without one. On the
    /// queue. `body` must neither store nor close it.
    public func withDescriptor<R, E: Error>(
        file: StaticString = #fileID, line: UInt = #line, _ body: (Int32) throws(E) -> R
    ) throws(E) -> R? {
        guard let raw = engine.descriptor(file: file, line: line) else { return nil }
        return try body(raw)
    }

    /// Requires, for a kind's own property, set up and the monitor's queue; traps otherwise.
    public func checkConfigurable(file: StaticString, line: UInt) { handle.checkConfigurable(file: file, line: line) }

    /// Requires, for a kind's own method, a monitor that is set up or active, and its queue; traps otherwise.
    public func checkUsable(file: StaticString, line: UInt) { engine.use(file: file, line: line) }
}

/// Delivers the events that a kind reads. For use on the monitor's queue, inside its drain.
public struct EventOutlet<Event: Sendable>: Sendable {
    let engine: MonitorEngine
    let slot: HandlerSlot<Event>

    /// Whether the handler may run now. A drain that reads several events checks it before each, so that events that
    /// cannot be delivered stay in the kernel.
    public var isOpen: Bool { engine.isOpen }

    /// Delivers one event to the handler. While the monitor is suspended, disabled or rate limited the event is kept,
    /// unless 1,024 are kept already; then, and after invalidation, it is dropped and counted.
    public func deliver(_ event: Event) { engine.deliver(event, to: slot) }

    /// Counts events that were reported as part of another one.
    public func countCoalesced(_ count: UInt64) { engine.record.addCoalesced(count) }

    /// Counts events that were dropped.
    public func countDropped(_ count: UInt64 = 1) { engine.record.addDropped(count) }

    /// Holds the source for `time`, as a rate limit does. Only while ``isOpen``.
    func pause(for time: Duration) { engine.hold(for: time.wholeNanoseconds) }

    /// Disables the monitor because its source failed; counted and reported as an error of its handler.
    public func fail(_ error: any Error) { engine.fail(error) }
}
