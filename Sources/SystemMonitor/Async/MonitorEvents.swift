/// A monitor's events as a sequence; see ``Monitor/events(buffering:file:line:)``.
///
/// Iterating needs no particular queue, but one task at a time: a second one traps. The sequence does not hold the
/// monitor.
///
/// It ends when the monitor is invalidated, or given a handler; events that were not taken by then are dropped and
/// counted. What makes the source fail, and so disables the monitor, is thrown once.
///
/// Cancelling the task that iterates ends its loop, and nothing else: the monitor stays active and its owner's, who has to
/// invalidate it. No event is lost by that: another loop goes on with the first one that was not taken.
public struct MonitorEvents<Event: Sendable>: AsyncSequence, Sendable {
    let buffer: EventBuffer<Event>

    /// For `for try await`.
    public func makeAsyncIterator() -> Iterator { Iterator(buffer: buffer) }

    /// For `for try await`.
    public struct Iterator: AsyncIteratorProtocol {
        let buffer: EventBuffer<Event>
        private var isOver = false

        init(buffer: EventBuffer<Event>) { self.buffer = buffer }

        /// The next event; nil at the end.
        public mutating func next() async throws -> Event? { try await next(isolation: nil) }

        /// The next event; nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Event? {
            if isOver { return nil }
            isOver = true
            let event = try await buffer.next(isolation: actor)
            isOver = event == nil
            return event
        }
    }
}

extension Monitor {
    /// The events as a sequence, in place of a handler; in set up only, on the queue.
    ///
    /// At most `limit` events wait for the task that iterates. When so many wait, the monitor is held, as by
    /// ``suspend(file:line:)``, so that what follows waits in the kernel; when all were taken, it goes on. Its description
    /// calls it suspended meanwhile.
    public func events(
        buffering limit: Int = 64, file: StaticString = #fileID, line: UInt = #line
    ) -> MonitorEvents<Event> {
        precondition(limit > 0, "a buffer for \(limit) events", file: file, line: line)
        let engine = handle.engine
        let buffer = EventBuffer<Event>(limit: limit) { engine.queue.async { engine.consumerCaughtUp() } }
        handle.setHandler(
            { if buffer.put($0) { engine.consumerFellBehind() } }, consumer: buffer, file: file, line: line)
        return MonitorEvents(buffer: buffer)
    }
}
