import Dispatch

/// A value that only one queue may access, checked at each access in every build.
///
/// Except its destruction, which happens where the last reference to the box is released: move a value out on the queue
/// if it must be destroyed there.
///
/// One of the project's two audited unchecked types (the other is the lock-protected box). Both are inlinable, since an
/// unspecialised access to a generic value looks up metadata each time.
public final class QueueBound<State: ~Copyable>: @unchecked Sendable {
    // Safe because `state` is accessible only through `onQueue` and `confined`, which check the queue; the queue is
    // serial. It is destroyed on the thread that releases the last reference, when no other access is possible.
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

    /// Calls `body` with the value. Traps off the queue. Calls on one box must not nest, and `body` must not return
    /// references into the value.
    @inlinable
    public func onQueue<R, E: Error>(
        file: StaticString = #fileID, line: UInt = #line, _ body: (inout State) throws(E) -> R
    ) throws(E) -> R {
        place.check(file: file, line: line)
        return try body(&state)
    }

    /// The same for this module, whose entry points have checked the queue with a message already: this trap has none,
    /// and is cheaper.
    func confined<R, E: Error>(_ body: (inout State) throws(E) -> R) throws(E) -> R {
        dispatchPrecondition(condition: .onQueue(place.dispatchQueue))
        return try body(&state)
    }
}
