/// Connects a monitor with its core; see ``Monitor/handle``. It has no public members: users call ``Monitor``, kinds
/// call ``MonitorCore``.
public struct MonitorHandle<Event: Sendable>: Sendable {
    let engine: MonitorEngine
    let slot: HandlerSlot<Event>

    /// Requires set up and the monitor's queue; traps otherwise.
    package func checkConfigurable(file: StaticString, line: UInt) { engine.configure(file: file, line: line) }

    /// Sets the handler and the consumer; ends the previous consumer.
    func setHandler(
        _ handler: @escaping @Sendable (Event) throws -> Void, consumer: (any EventConsumer)? = nil, file: StaticString,
        line: UInt
    ) {
        engine.setConsumer(consumer, file: file, line: line)
        slot.set(handler)
    }
}
