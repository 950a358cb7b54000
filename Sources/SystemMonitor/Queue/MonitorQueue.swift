import CDispatch
public import Dispatch
import LinuxKernel

/// A serial queue for one subsystem and its monitors.
///
/// It has no target but the default one: queues that share a target wait for each other's handlers. Handlers hold the
/// queue as long as a monitor of it lives.
public final class MonitorQueue: Sendable {
    /// Its name in messages, core dumps and the state dump; like a reverse domain name.
    public var label: String { place.label }
    /// The queue itself. Serial; do not change its target or its specific values.
    public var dispatchQueue: DispatchQueue { place.dispatchQueue }

    let place: QueuePlace
    /// Runs actors on the queue, for as long as the queue is held.
    public let executor: QueueExecutor
    /// Whose turn it is, where monitors of this queue have different priorities.
    let turns: QueueBound<Turns>

    /// Makes the queue; from any thread. `onDeath` is called, on any thread, when libdispatch has let go of the queue
    /// for good: after the last reference to it, its monitors and its pending blocks.
    public init(label: String, onDeath: (@Sendable () -> Void)? = nil) {
        place = QueuePlace(label: label, onDeath: onDeath)
        executor = QueueExecutor(place: place)
        turns = QueueBound(Turns(), place: place)
    }

    /// How many queues of this kind libdispatch still holds. From any thread.
    public static var liveCount: Int { QueueContext.liveCount }

    /// Whether the caller runs on this queue. Inside another queue's ``sync(file:line:_:)`` only that one is current.
    public var isCurrent: Bool { place.isCurrent }

    /// Traps off the queue, with a message that names it.
    public func check(file: StaticString = #fileID, line: UInt = #line) { place.check(file: file, line: line) }

    /// Runs `body` on the queue, later.
    public func async(_ body: @escaping @Sendable () -> Void) {
        dispatchQueue.async(execute: body)
    }

    /// Runs `body` on the queue and waits for it. Traps where that would be for ever: on the queue itself, also inside
    /// other queues' `sync`.
    @inlinable
    public func sync<R, E: Error>(
        file: StaticString = #fileID, line: UInt = #line, _ body: () throws(E) -> R
    ) throws(E) -> R {
        var result: Result<R, E>?
        perform(file: file, line: line) {
            do throws(E) {
                result = .success(try body())
            } catch {
                result = .failure(error)
            }
        }
        guard let result else { fatalError("libdispatch did not run a block that it was to wait for") }
        return try result.get()
    }

    /// Dispatch's own generic `sync` looks up metadata at each call, which is a tenth of what a single event costs.
    @usableFromInline
    func perform(file: StaticString, line: UInt, _ body: () -> Void) {
        let outer = QueueContext.current
        if let outer, place.isHeld(by: outer) {
            LifecycleViolation.trap("queue \(label)", .noSyncOnOwnQueue, file: file, line: line)
        }
        // Sees also what began with Dispatch's own sync, but has no message.
        dispatchPrecondition(condition: .notOnQueue(dispatchQueue))
        guard let outer else { return dispatchQueue.sync(execute: body) }
        dispatchQueue.sync {
            QueueContext.current?.runs(inside: outer)
            body()
            QueueContext.current?.runs(inside: nil)
        }
    }

    /// Runs `body` on the queue once `delay` has passed on the monotonic clock. It cannot be taken back, and keeps the
    /// queue alive until then: where that matters, use a ``TimerMonitor``.
    public func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
        dispatchQueue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay.wholeNanoseconds)), execute: body)
    }
}

/// Where code is confined to: what a bound value needs of its queue.
@usableFromInline
struct QueuePlace: Sendable {
    let label: String
    let dispatchQueue: DispatchQueue
    /// What libdispatch answers to the question for the queue's specific value, as long as the queue lives: this place
    /// holds it. The answer itself is compared, not what it holds, since every access to a bound value asks.
    private let mark: UInt
    /// The queue's context, which only the queue holds.
    private let context: ObjectIdentifier

    init(label: String, onDeath: (@Sendable () -> Void)?) {
        let queue = DispatchQueue(label: label)
        let context = QueueContext(onDeath: onDeath)
        self.context = ObjectIdentifier(context)
        queue.setSpecific(key: QueueContext.key, value: context)
        self.label = label
        dispatchQueue = queue
        mark = queue.sync { QueueContext.markOfCurrentQueue }
        // Else every thread without a queue would pass for this one.
        precondition(mark != 0, "libdispatch does not know the key of the queues' marks")
    }

    var isCurrent: Bool { QueueContext.markOfCurrentQueue == mark }

    /// Whether this is the queue of `current`, or one of those whose code waits in `sync` for that queue.
    func isHeld(by current: QueueContext) -> Bool {
        sequence(first: current) { $0.outer }.contains { ObjectIdentifier($0) == context }
    }

    @usableFromInline
    func check(file: StaticString, line: UInt) {
        if !isCurrent { LifecycleViolation.trap("queue \(label)", .valueOnItsQueue, file: file, line: line) }
        dispatchPrecondition(condition: .onQueue(dispatchQueue))
    }
}

/// The queue's specific value. Only the queue holds it, so its end proves the queue's.
final class QueueContext: Sendable {
    static let key = DispatchSpecificKey<QueueContext>()
    /// The key as libdispatch knows it.
    private static let rawKey = UInt(bitPattern: Unmanaged.passUnretained(key).toOpaque())
    private static let live = Locked(0)
    static var liveCount: Int { live.withLock { $0 } }

    private let onDeath: (@Sendable () -> Void)?
    /// Of the queue whose code waits in `sync` for what runs on this one.
    private let waiting = Locked<QueueContext?>(nil)

    /// The one of the current queue; nil on a thread without one.
    static var current: QueueContext? { markOfCurrentQueue == 0 ? nil : DispatchQueue.getSpecific(key: key) }

    var outer: QueueContext? { waiting.withLock { $0 } }
    func runs(inside outer: QueueContext?) { waiting.withLock { $0 = outer } }

    /// Tells the queues with such a value apart; 0 on all others.
    static var markOfCurrentQueue: UInt {
        guard let key = UnsafeRawPointer(bitPattern: rawKey) else { return 0 }
        return UInt(bitPattern: dispatch_get_specific(key))
    }

    init(onDeath: (@Sendable () -> Void)?) {
        Self.live.withLock { $0 += 1 }
        self.onDeath = onDeath
    }

    deinit {
        Self.live.withLock { $0 -= 1 }
        onDeath?()
    }
}
