/// An object that owns one event source and its lifecycle: set up → active → invalidating → invalidated → deallocated.
///
/// Set up gives it its properties; ``activate(file:line:onRegistered:)`` starts the events;
/// ``invalidate(file:line:completion:)`` ends them. Every call is made on the monitor's own queue, unless it says
/// otherwise. A broken rule traps in every build, after a message on standard error that names the monitor, its state, the
/// rule and the call site; see ``LifecycleRule``.
///
/// The last reference may be released on any thread, in every state but active:
/// - In set up: the monitor ends by itself. What it holds (descriptors, its handler) is released on its queue, soon after.
/// - Active (or suspended, rate limited, disabled): traps, since events would stop without anybody having asked for that.
/// - From `invalidate` on: the monitor finishes by itself. Its completion runs, and what it holds is released, once.
///
/// Under `async`: ``events(buffering:file:line:)``, `withMonitor`, and actors on ``MonitorQueue/executor``.
///
/// A handler that holds its own monitor keeps it until the invalidation has finished, so such a monitor has to be
/// invalidated even if it was never activated.
public protocol Monitor<Event>: AnyObject, Sendable {
    /// What its handler is given.
    associatedtype Event: Sendable
    /// ``MonitorCore/handle`` of the core that it is made of.
    var handle: MonitorHandle<Event> { get }
}

extension Monitor {
    /// Its own name in messages. Any thread.
    public var label: String { handle.engine.record.label }
    /// Its kind's name. Any thread.
    public var kind: String { handle.engine.record.kind }
    /// The queue that its handlers run on. Any thread.
    public var queue: MonitorQueue { handle.engine.queue }

    /// Sets what is called with each event, on the monitor's queue. In set up only. The handler is kept until the
    /// invalidation has finished, so it may hold the monitor itself. If it throws, the monitor is disabled, and the error
    /// counted and reported to the registry's sink.
    public func setEventHandler(
        file: StaticString = #fileID, line: UInt = #line, _ handler: @escaping @Sendable (Event) throws -> Void
    ) {
        handle.setHandler(handler, file: file, line: line)
    }

    /// Sets how urgent this monitor is among those of its queue that have something to do at the same time: the smallest
    /// priority is served first, as in sd_event_source_set_priority(3); the default is 0. Where all are equal, they are
    /// served in the order in which they became ready. In set up only.
    public func setPriority(_ priority: Int, file: StaticString = #fileID, line: UInt = #line) {
        handle.engine.setPriority(priority, file: file, line: line)
    }

    /// Allows at most `burst` events in an `interval`. With the next one the monitor is held back until the interval
    /// ends, then goes on; events wait in the kernel meanwhile. As sd_event_source_set_ratelimit(3). In set up only.
    public func setRateLimit(
        interval: Duration, burst: Int, file: StaticString = #fileID, line: UInt = #line
    ) {
        precondition(interval > .zero && burst > 0, "a rate limit of \(burst) in \(interval)", file: file, line: line)
        handle.engine.setRateLimit(
            RateLimit(interval: interval.wholeNanoseconds, burst: burst), file: file, line: line)
    }

    /// Starts the events; once. `onRegistered` runs on the queue when the kernel knows the source: what happens after
    /// that is seen. It is dropped where the monitor is invalidated before.
    public func activate(
        file: StaticString = #fileID, line: UInt = #line, onRegistered: (@Sendable () -> Void)? = nil
    ) {
        handle.engine.activate(onRegistered: onRegistered, file: file, line: line)
    }

    /// Holds events back until as many calls of ``resume(file:line:)``. Active ones only. Events wait in the kernel; of those
    /// that were read already, or that the kind has from elsewhere, at most 1,024 wait here, and more are dropped and counted
    /// in ``MonitorDescription/dropped``. The same goes for a monitor that is disabled.
    public func suspend(file: StaticString = #fileID, line: UInt = #line) {
        handle.engine.suspend(file: file, line: line)
    }

    /// Balances one ``suspend(file:line:)``.
    public func resume(file: StaticString = #fileID, line: UInt = #line) {
        handle.engine.resume(file: file, line: line)
    }

    /// Lets a monitor go on that an error of its handler disabled.
    public func reenable(file: StaticString = #fileID, line: UInt = #line) {
        handle.engine.reenable(file: file, line: line)
    }

    /// Ends the events for good: once, in set up, active, suspended or inside the own handler. No event is delivered
    /// after this call, and the monitor may be released. `completion` runs on the queue, later, when the kernel has let go
    /// and descriptors are closed, whether the monitor is still held or not.
    public func invalidate(
        file: StaticString = #fileID, line: UInt = #line, completion: (@Sendable () -> Void)? = nil
    ) {
        handle.engine.invalidate(completion: completion, file: file, line: line)
    }

    /// What is known of it. Any thread, in any state.
    public func describe() -> MonitorDescription { handle.engine.record.describe() }
}
