/// Receives a monitor's events in place of a handler, and its end.
protocol EventConsumer: Sendable {
    /// No event comes any more; returns how many were not consumed, and never will be.
    func end() -> Int
    /// The source failed.
    func fail(_ error: any Error)
}
