import Dispatch

/// The source of a monitor's events. All methods are called on the monitor's queue, in the order of the lifecycle:
/// `start` at most once, `hold` and `release` alternately between `start` and the end, then `cancel` or `abandon`.
protocol KernelSource: Sendable {
    /// Starts the calls of `engine.fired`, after `engine.registered`.
    func start(for engine: MonitorEngine)
    func hold()
    func release()
    /// Ends the source after `start`: closes what it owns, then calls `engine.sourceCancelled`, on the queue, later.
    func cancel(for engine: MonitorEngine)
    /// The same without `start`.
    func abandon(for engine: MonitorEngine)
    /// The descriptor, while it is open.
    var descriptor: Int32? { get }
    /// Whether it counts unread events itself when it ends; otherwise each unhandled firing counts as one dropped
    /// event.
    var countsUnreadEvents: Bool { get }
}

/// No kernel source: the owner delivers the events.
struct OwnerSource: KernelSource {
    func start(for engine: MonitorEngine) { engine.queue.async { engine.registered() } }
    func hold() {}
    func release() {}
    func cancel(for engine: MonitorEngine) { engine.queue.async { engine.sourceCancelled() } }
    func abandon(for engine: MonitorEngine) { cancel(for: engine) }
    var descriptor: Int32? { nil }
    var countsUnreadEvents: Bool { false }
}

/// Sets a source's handlers and activates it.
///
/// Neither this nor cancel needs a lock: libdispatch updates its records of descriptors on its manager thread only,
/// except for those that hang up, which it is never given (``DescriptorSource``).
func startSource(
    _ made: any DispatchSourceProtocol, fired: @escaping @Sendable () -> Void,
    registered: @escaping @Sendable () -> Void, cancelled: @escaping @Sendable () -> Void
) -> DispatchSource {
    // The existential is not Sendable, but the class is, and on Linux every source has that class.
    guard let source = made as? DispatchSource else { fatalError("a dispatch source of another class") }
    source.setEventHandler(handler: fired)
    source.setRegistrationHandler(handler: registered)
    source.setCancelHandler(handler: cancelled)
    source.activate()
    return source
}
