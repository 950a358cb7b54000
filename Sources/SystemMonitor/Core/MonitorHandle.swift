/// What connects a monitor with its core; see ``Monitor/handle``. It offers nothing to other modules: what a monitor's
/// users may do is in ``Monitor``, and what its kind may do is in ``MonitorCore``.
public struct MonitorHandle<Event: Sendable>: Sendable {
    let engine: MonitorEngine
    let slot: HandlerSlot<Event>

    /// Checks that the monitor is being set up and is used on its queue; traps if not.
    package func checkConfigurable(file: StaticString, line: UInt) { engine.configure(file: file, line: line) }

    /// Sets what is called with each event, and who else is told of the end; ends who was told before.
    func setHandler(
        _ handler: @escaping @Sendable (Event) throws -> Void, consumer: (any EventConsumer)? = nil, file: StaticString,
        line: UInt
    ) {
        engine.setConsumer(consumer, file: file, line: line)
        slot.set(handler)
    }
}
