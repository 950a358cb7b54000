/// An object that owns one event source and its lifecycle: set up → active → invalidating → invalidated → deallocated.
///
/// Properties are set during set up; ``activate(file:line:onRegistered:)`` starts the events;
/// ``invalidate(file:line:completion:)`` ends them. Unless documented otherwise, every call must be made on the
/// monitor's own queue. A broken rule traps in every build, after a message on standard error that names the monitor,
/// its state, the rule and the call site; see ``LifecycleRule``.
///
/// The last reference may be released on any thread, in every state but active:
/// - During set up: the monitor ends by itself. Its descriptors and handler are released on its queue soon after.
/// - Active (or suspended, rate limited, disabled): traps, since events would stop unintentionally.
/// - After `invalidate`: the monitor finishes by itself. Its completion runs, and its resources are released, once.
///
/// Under `async`: ``events(buffering:file:line:)``, `withMonitor`, and actors on ``MonitorQueue/executor``.
///
/// A handler that captures its own monitor retains it until the invalidation has finished, so such a monitor must be
/// invalidated even if it was never activated.
public protocol Monitor<Event>: AnyObject, Sendable {
    /// The argument of its handler.
    associatedtype Event: Sendable
    /// Its core's ``MonitorCore/handle``.
    var handle: MonitorHandle<Event> { get }
}

extension Monitor {
    /// Its name in messages. Any thread.
    public var label: String { handle.engine.record.label }
    /// Its kind's name. Any thread.
    public var kind: String { handle.engine.record.kind }
    /// The queue that its handlers run on. Any thread.
    public var queue: MonitorQueue { handle.engine.queue }

    /// Sets the handler, which is called with each event on the monitor's queue. During set up only. It is retained
    /// until the invalidation has finished, so it may capture the monitor. If it throws, the monitor is disabled, and
    /// the error is counted and reported to the registry's sink.
    public func setEventHandler(
        file: StaticString = #fileID, line: UInt = #line, _ handler: @escaping @Sendable (Event) throws -> Void
    ) {
        handle.setHandler(handler, file: file, line: line)
    }

    /// Sets the priority among the monitors of its queue that are ready at the same time: the smallest is served first,
    /// as in sd_event_source_set_priority(3); the default is 0. Equal ones are served in the order in which they became
    /// ready. During set up only.
    public func setPriority(_ priority: Int, file: StaticString = #fileID, line: UInt = #line) {
        handle.engine.setPriority(priority, file: file, line: line)
    }

    /// Allows at most `burst` events per `interval`. At the next one the monitor is held until the interval ends;
    /// events wait in the kernel meanwhile. As sd_event_source_set_ratelimit(3). During set up only.
    public func setRateLimit(
        interval: Duration, burst: Int, file: StaticString = #fileID, line: UInt = #line
    ) {
        precondition(interval > .zero && burst > 0, "a rate limit of \(burst) in \(interval)", file: file, line: line)
        handle.engine.setRateLimit(
            RateLimit(interval: interval.wholeNanoseconds, burst: burst), file: file, line: line)
    }

    /// Starts the events; once. `onRegistered` runs on the queue when the source is registered with the kernel: later
    /// events are not missed. It is dropped if the monitor is invalidated before.
    public func activate(
        file: StaticString = #fileID, line: UInt = #line, onRegistered: (@Sendable () -> Void)? = nil
    ) {
        handle.engine.activate(onRegistered: onRegistered, file: file, line: line)
    }

    /// Holds events until as many calls of ``resume(file:line:)``. Active monitors only. Events wait in the kernel; of
    /// those that were already read, or that do not come from the kernel, at most 1,024 are kept, and more are dropped
    /// and counted in ``MonitorDescription/dropped``. The same applies to a disabled monitor.
    public func suspend(file: StaticString = #fileID, line: UInt = #line) {
        handle.engine.suspend(file: file, line: line)
    }

    /// Balances one ``suspend(file:line:)``.
    public func resume(file: StaticString = #fileID, line: UInt = #line) {
        handle.engine.resume(file: file, line: line)
    }

    /// Enables a monitor that its handler's error disabled.
    public func reenable(file: StaticString = #fileID, line: UInt = #line) {
        handle.engine.reenable(file: file, line: line)
    }

    /// Ends the events permanently: once, during set up, while active or suspended, or inside its own handler. No event
    /// is delivered after this call, and the monitor may be released. `completion` runs on the queue, later, when the
    /// source is cancelled and descriptors are closed, whether or not the monitor is still retained.
    public func invalidate(
        file: StaticString = #fileID, line: UInt = #line, completion: (@Sendable () -> Void)? = nil
    ) {
        handle.engine.invalidate(completion: completion, file: file, line: line)
    }

    /// Its current state and statistics. Any thread, in any state.
    public func describe() -> MonitorDescription { handle.engine.record.describe() }
}
