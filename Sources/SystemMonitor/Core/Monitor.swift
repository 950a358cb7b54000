/// An object that owns one event source and its lifecycle: set up → active → invalidating → invalidated → deallocated.
///
/// Set up gives it its properties; ``activate(onRegistered:file:line:)`` starts the events;
/// ``invalidate(completion:file:line:)`` ends them; it may be released once the invalidation has finished. Every call is
/// made on the monitor's own queue, unless it says otherwise. A broken rule traps in every build, after telling on
/// standard error which monitor, which state, which rule and which call site; see ``LifecycleRule``.
public protocol Monitor<Event>: AnyObject, Sendable {
    /// What its handler is given.
    associatedtype Event: Sendable
    /// What it is made of.
    var core: MonitorCore<Event> { get }
}

extension Monitor {
    /// Its own name in messages. Any thread.
    public var label: String { core.label }
    /// Its kind's name. Any thread.
    public var kind: String { core.kind }
    /// The queue that its handlers run on. Any thread.
    public var queue: MonitorQueue { core.queue }

    /// Sets what is called with each event, on the monitor's queue. In set up only. The handler is kept until the
    /// invalidation has finished, so it may hold the monitor itself. If it throws, the monitor is disabled, and the error
    /// counted and reported to the registry's sink.
    public func setEventHandler(
        file: StaticString = #fileID, line: UInt = #line, _ handler: @escaping @Sendable (Event) throws -> Void
    ) {
        core.setHandler(handler, file: file, line: line)
    }

    /// Sets how urgent this monitor is among those of its queue that have something to do at the same time: the smallest
    /// priority is served first, as in sd_event_source_set_priority(3); the default is 0. Where all are equal, they are
    /// served in the order in which they became ready. In set up only.
    public func setPriority(_ priority: Int, file: StaticString = #fileID, line: UInt = #line) {
        core.engine.setPriority(priority, file: file, line: line)
    }

    /// Allows at most `burst` events in an `interval`. With the next one the monitor is held back until the interval
    /// ends, then goes on; events wait in the kernel meanwhile. As sd_event_source_set_ratelimit(3). In set up only.
    public func setRateLimit(
        interval: Duration, burst: Int, file: StaticString = #fileID, line: UInt = #line
    ) {
        precondition(interval > .zero && burst > 0, "a rate limit of \(burst) in \(interval)", file: file, line: line)
        core.engine.setRateLimit(
            RateLimit(interval: interval.wholeNanoseconds, burst: burst), file: file, line: line)
    }

    /// Starts the events; once. `onRegistered` runs on the queue when the kernel knows the source: what happens after
    /// that is seen. It is dropped where the monitor is invalidated before.
    public func activate(
        file: StaticString = #fileID, line: UInt = #line, onRegistered: (@Sendable () -> Void)? = nil
    ) {
        core.engine.activate(onRegistered: onRegistered, file: file, line: line)
    }

    /// Holds events back until as many calls of ``resume(file:line:)``. Active ones only.
    public func suspend(file: StaticString = #fileID, line: UInt = #line) {
        core.engine.suspend(file: file, line: line)
    }

    /// Balances one ``suspend(file:line:)``.
    public func resume(file: StaticString = #fileID, line: UInt = #line) {
        core.engine.resume(file: file, line: line)
    }

    /// Lets a monitor go on that an error of its handler disabled.
    public func reenable(file: StaticString = #fileID, line: UInt = #line) {
        core.engine.reenable(file: file, line: line)
    }

    /// Ends the events for good: once, in set up, active, suspended or inside the own handler. No event is delivered
    /// after this call. `completion` runs on the queue, later, when the kernel has let go and descriptors are closed; from
    /// then on the monitor may be released.
    public func invalidate(
        file: StaticString = #fileID, line: UInt = #line, completion: (@Sendable () -> Void)? = nil
    ) {
        core.engine.invalidate(completion: completion, file: file, line: line)
    }

    /// What is known of it. Any thread, in any state.
    public func describe() -> MonitorDescription { core.engine.record.describe() }
}
