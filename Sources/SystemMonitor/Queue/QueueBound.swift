import Dispatch

/// A value that one queue alone may touch, checked at each access in every build. Its destruction is the exception: that
/// happens where the last reference to the box is released. What must be destroyed on the queue is taken out there before.
///
/// One of the project's two audited unchecked types (the other is the lock-protected box). Both can be inlined in other
/// modules: what they hold is generic, and an access that is not specialised looks up metadata each time.
public final class QueueBound<State: ~Copyable>: @unchecked Sendable {
    // Safe because `state` is reachable only through `onQueue`, which checks the queue; the queue is serial. It is
    // destroyed on whichever thread releases the box last, when nobody else can reach it.
    @usableFromInline let place: QueuePlace
    @usableFromInline var state: State

    /// Binds `initial` to `queue`; from any thread.
    public convenience init(_ initial: consuming sending State, queue: MonitorQueue) {
        self.init(initial, place: queue.place)
    }

    init(_ initial: consuming sending State, place: QueuePlace) {
        self.place = place
        self.state = initial
    }

    /// Gives `body` the value. Traps off the queue. Calls on one box do not nest, and no reference out of the value may
    /// be returned.
    @inlinable
    public func onQueue<R, E: Error>(
        file: StaticString = #fileID, line: UInt = #line, _ body: (inout State) throws(E) -> R
    ) throws(E) -> R {
        place.check(file: file, line: line)
        return try body(&state)
    }

    /// The same for this module's own paths, whose entries have checked the queue already and told of a wrong one: the
    /// trap that is left has no message, and costs less.
    func confined<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        dispatchPrecondition(condition: .onQueue(place.dispatchQueue))
        return try body(&state)
    }
}
