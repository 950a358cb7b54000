/// Holds a monitor's event handler from set up until the invalidation has finished.
final class HandlerSlot<Event: Sendable>: Sendable {
    typealias Handler = @Sendable (Event) throws -> Void

    /// The closure in an object: a bare closure would be wrapped again at each pass through a generic box.
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
        // The old one is released outside the box: a deinit of its captures may access the box.
        let old = bound.confined { contents in
            defer { contents = new }
            return contents
        }
        withExtendedLifetime(old) {}
    }
}
