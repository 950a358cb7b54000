/// A monitor's events as a sequence; see ``Monitor/events(buffering:file:line:)``.
///
/// Iteration is possible on any queue, by one task at a time: a second one traps. The sequence does not retain the
/// monitor.
///
/// It ends when the monitor is invalidated or gets a handler; unconsumed events are then dropped and counted. An error
/// of the source, which disables the monitor, is thrown once.
///
/// Cancelling the iterating task ends only its loop: the monitor stays active, and its owner must invalidate it. No
/// event is lost: another loop continues with the first unconsumed one.
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
    /// The events as a sequence, in place of a handler; during set up only, on the queue.
    ///
    /// Buffers at most `limit` events for the iterating task. When the buffer is full, the monitor is held, as by
    /// ``suspend(file:line:)``, so that further events wait in the kernel, until all are consumed. Its description
    /// reports it as suspended meanwhile.
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
