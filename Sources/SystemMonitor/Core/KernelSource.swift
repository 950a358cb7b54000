import Dispatch

/// What a monitor's events come from. All methods are called on the monitor's queue, in an order that the lifecycle
/// gives: `start` at most once, `hold` and `release` by turns between `start` and the end, then `cancel` or `abandon`.
protocol KernelSource: Sendable {
    /// Begins to call `engine.fired`, after `engine.registered`.
    func start(for engine: MonitorEngine)
    func hold()
    func release()
    /// Ends after `start`: closes what it owns, then calls `engine.sourceCancelled`, on the queue, later.
    func cancel(for engine: MonitorEngine)
    /// The same without `start`.
    func abandon(for engine: MonitorEngine)
    /// The descriptor, while it is open.
    var descriptor: Int32? { get }
    /// Whether it counts itself, when it ends, the events that it fired for and that were not read; else each firing
    /// that came to nothing counts as one dropped event.
    var countsWhatWaits: Bool { get }
}

/// No kernel source: the owner delivers the events.
struct OwnerSource: KernelSource {
    func start(for engine: MonitorEngine) { engine.queue.async { engine.registered() } }
    func hold() {}
    func release() {}
    func cancel(for engine: MonitorEngine) { engine.queue.async { engine.sourceCancelled() } }
    func abandon(for engine: MonitorEngine) { cancel(for: engine) }
    var descriptor: Int32? { nil }
    var countsWhatWaits: Bool { false }
}

/// Makes a source, gives it its handlers, and activates it.
///
/// No lock around this or around cancel: libdispatch keeps its book of descriptors on its manager thread alone, but for
/// those that hang up, which it is never shown (``DescriptorSource``).
func startSource(
    _ made: any DispatchSourceProtocol, fired: @escaping @Sendable () -> Void,
    registered: @escaping @Sendable () -> Void, cancelled: @escaping @Sendable () -> Void
) -> DispatchSource {
    // The existential is not Sendable, the class is, and on Linux every source is of that class.
    guard let source = made as? DispatchSource else { fatalError("a dispatch source of another class") }
    source.setEventHandler(handler: fired)
    source.setRegistrationHandler(handler: registered)
    source.setCancelHandler(handler: cancelled)
    source.activate()
    return source
}
