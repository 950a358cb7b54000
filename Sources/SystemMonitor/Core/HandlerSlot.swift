/// Where a monitor's event handler is kept from set up until the invalidation has finished.
final class HandlerSlot<Event: Sendable>: Sendable {
    typealias Handler = @Sendable (Event) throws -> Void

    /// The closure in an object: a closure itself would be wrapped anew each time it passes through a generic box.
    final class Stored: Sendable {
        let call: Handler
        init(_ call: @escaping Handler) { self.call = call }
    }

    private let bound: QueueBound<Stored?>

    init(queue: MonitorQueue) {
        bound = QueueBound(nil, queue: queue)
    }

    var handler: Stored? { bound.confined { $0 } }

    func set(_ handler: @escaping Handler) { exchange(Stored(handler)) }
    func drop() { exchange(nil) }

    private func exchange(_ new: Stored?) {
        // The old one is released outside the box: it may hold what comes back to the box in its deinit.
        let old = bound.confined { contents in
            defer { contents = new }
            return contents
        }
        withExtendedLifetime(old) {}
    }
}
