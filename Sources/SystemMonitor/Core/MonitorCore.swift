public import LinuxKernel

/// The part that all kinds of monitors have in common: lifecycle, handler, source, statistics.
///
/// A kind is a final class that makes a core in its initialiser, keeps it as a private property, and conforms to ``Monitor``
/// through the core's ``handle``. With the core it delivers its events; its users, who have the monitor but not the core,
/// cannot. The release of the core is the release of the monitor, so nothing but the monitor may hold the core: neither
/// `drain` nor `onEnd`. A core is made and released on any thread; all else is for the monitor's queue.
public final class MonitorCore<Event: Sendable>: Sendable {
    /// For ``Monitor/handle``.
    public let handle: MonitorHandle<Event>

    private var engine: MonitorEngine { handle.engine }

    /// A core without a kernel source, whose owner calls ``deliver(_:file:line:)``. `onEnd` runs once on the queue when
    /// the invalidation has finished, before the handler is dropped and the completion called.
    public convenience init(
        kind: String, label: String, queue: MonitorQueue, onEnd: (@Sendable () -> Void)? = nil,
        file: StaticString = #fileID, line: UInt = #line
    ) {
        self.init(kind: kind, label: label, queue: queue, source: OwnerSource(), onEnd: onEnd, file: file, line: line)
    }

    /// A core over a descriptor, which it owns from now on and closes when the kernel has let go of it.
    ///
    /// - Parameters:
    ///   - descriptor: Non-blocking. Without `watcher` it must be one that becomes readable and never hangs up, such as
    ///     a timerfd, a signalfd or an inotify instance.
    ///   - watcher: For all others (pipes, sockets, terminals, process descriptors, urgent readiness, writing): what
    ///     `epollWatcher(of:_:)` made of `descriptor`; owned and closed likewise.
    ///   - prepare: Called on the queue at activation, right before the source exists.
    ///   - drain: Called on the queue with `descriptor` when it is ready. Reads all that is there, while the outlet is
    ///     open, and delivers it; finding nothing to read (EAGAIN) is normal. Must not hold the monitor.
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

    /// Hands one event to the handler, as ``EventOutlet/deliver(_:)`` does. On the queue.
    public func deliver(_ event: Event, file: StaticString = #fileID, line: UInt = #line) {
        engine.checkQueue(file: file, line: line)
        engine.deliver(event, to: handle.slot)
    }

    /// Counts events that came from elsewhere too late to be delivered; from any thread.
    public func countDropped(_ count: UInt64 = 1) { engine.record.addDropped(count) }

    /// Gives `body` the descriptor, for calls on it other than reading; nil after invalidation, or without one. On the
    /// queue. `body` must neither keep nor close it.
    public func withDescriptor<R, E: Error>(
        file: StaticString = #fileID, line: UInt = #line, _ body: (Int32) throws(E) -> R
    ) throws(E) -> R? {
        guard let raw = engine.descriptor(file: file, line: line) else { return nil }
        return try body(raw)
    }

    /// Checks, for a kind's own property, that the monitor is being set up and is touched on its queue; traps if not.
    public func checkConfigurable(file: StaticString, line: UInt) { handle.checkConfigurable(file: file, line: line) }

    /// Checks, for a kind's own method, that the monitor is set up or active and is touched on its queue; traps if not.
    public func checkUsable(file: StaticString, line: UInt) { engine.use(file: file, line: line) }
}

/// Where a kind puts the events that it read. Used on the monitor's queue, in the drain that was given it.
public struct EventOutlet<Event: Sendable>: Sendable {
    let engine: MonitorEngine
    let slot: HandlerSlot<Event>

    /// Whether the handler may run now. Where one drain reads several events it asks before each, so that what is not to
    /// be delivered stays in the kernel.
    public var isOpen: Bool { engine.isOpen }

    /// Hands one event to the handler. While the monitor is suspended, disabled or rate limited the event is kept, unless
    /// 1,024 are kept already; then, and after invalidation, it is dropped and counted.
    public func deliver(_ event: Event) { engine.deliver(event, to: slot) }

    /// Counts events that were reported as part of another one.
    public func countCoalesced(_ count: UInt64) { engine.record.addCoalesced(count) }

    /// Counts events that were thrown away.
    public func countDropped(_ count: UInt64 = 1) { engine.record.addDropped(count) }

    /// Asks the source for nothing during `time`, as a rate limit does. Only while ``isOpen``.
    func pause(for time: Duration) { engine.hold(for: time.wholeNanoseconds) }

    /// Disables the monitor, as an error of its handler does, since its source failed: counted and reported.
    public func fail(_ error: any Error) { engine.fail(error) }
}
