import CDispatch
public import Dispatch
import LinuxKernel

/// A serial queue for one subsystem and its monitors.
///
/// It has only the default target: queues that share a target wait for each other's handlers. Handlers retain the queue
/// while it has a monitor.
public final class MonitorQueue: Sendable {
    /// Its name in messages, core dumps and the state dump, in reverse-DNS style.
    public var label: String { place.label }
    /// The queue itself. Serial; do not change its target or its specific values.
    public var dispatchQueue: DispatchQueue { place.dispatchQueue }

    let place: QueuePlace
    /// Runs actors on the queue, while the queue is retained.
    public let executor: QueueExecutor
    /// The order of turns, if monitors of this queue have different priorities.
    let turns: QueueBound<Turns>

    /// Creates the queue; from any thread. `onDeath` is called, on any thread, when libdispatch has deallocated the
    /// queue: after the release of the last reference to it, of its monitors and of its pending blocks.
    public init(label: String, onDeath: (@Sendable () -> Void)? = nil) {
        place = QueuePlace(label: label, onDeath: onDeath)
        executor = QueueExecutor(place: place)
        turns = QueueBound(Turns(), place: place)
    }

    /// The number of queues of this type that are not deallocated yet. From any thread.
    public static var liveCount: Int { QueueContext.liveCount }

    /// Whether the caller runs on this queue. Inside another queue's ``sync(file:line:_:)`` only that queue is current.
    public var isCurrent: Bool { place.isCurrent }

    /// Traps off the queue, with a message that names it.
    public func check(file: StaticString = #fileID, line: UInt = #line) { place.check(file: file, line: line) }

    /// Runs `body` on the queue, later.
    public func async(_ body: @escaping @Sendable () -> Void) {
        dispatchQueue.async(execute: body)
    }

    /// Runs `body` on the queue and waits for it. Traps if that would deadlock: on the queue itself, also inside other
    /// queues' `sync`.
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

    /// Dispatch's generic `sync` looks up metadata at each call, a tenth of the cost of an event.
    @usableFromInline
    func perform(file: StaticString, line: UInt, _ body: () -> Void) {
        let outer = QueueContext.current
        if let outer, place.isHeld(by: outer) {
            LifecycleViolation.trap("queue \(label)", .noSyncOnOwnQueue, file: file, line: line)
        }
        // Also detects callers inside Dispatch's own sync, but without a message.
        dispatchPrecondition(condition: .notOnQueue(dispatchQueue))
        guard let outer else { return dispatchQueue.sync(execute: body) }
        dispatchQueue.sync {
            QueueContext.current?.setOuter(outer)
            body()
            QueueContext.current?.setOuter(nil)
        }
    }

    /// Runs `body` on the queue after `delay` on the monotonic clock. It cannot be cancelled, and retains the queue
    /// until then: if that matters, use a ``TimerMonitor``.
    public func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
        dispatchQueue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay.wholeNanoseconds)), execute: body)
    }
}

/// The part of a queue that a bound value needs.
@usableFromInline
struct QueuePlace: Sendable {
    let label: String
    let dispatchQueue: DispatchQueue
    /// The queue's specific value, valid while the queue exists, which this place retains. The raw pointer is compared,
    /// since every access to a bound value checks it.
    private let mark: UInt
    /// The queue's context, which only the queue retains.
    private let context: ObjectIdentifier

    init(label: String, onDeath: (@Sendable () -> Void)?) {
        let queue = DispatchQueue(label: label)
        let context = QueueContext(onDeath: onDeath)
        self.context = ObjectIdentifier(context)
        queue.setSpecific(key: QueueContext.key, value: context)
        self.label = label
        dispatchQueue = queue
        mark = queue.sync { QueueContext.markOfCurrentQueue }
        // With 0, every thread without a queue would count as this one.
        precondition(mark != 0, "libdispatch does not know the key of the queues' marks")
    }

    var isCurrent: Bool { QueueContext.markOfCurrentQueue == mark }

    /// Whether this is the queue of `current`, or a queue whose code waits in `sync` for that one.
    func isHeld(by current: QueueContext) -> Bool {
        sequence(first: current) { $0.outer }.contains { ObjectIdentifier($0) == context }
    }

    @usableFromInline
    func check(file: StaticString, line: UInt) {
        if !isCurrent { LifecycleViolation.trap("queue \(label)", .valueOnItsQueue, file: file, line: line) }
        dispatchPrecondition(condition: .onQueue(dispatchQueue))
    }
}

/// The queue's specific value. Only the queue retains it, so its deinit proves that of the queue.
final class QueueContext: Sendable {
    static let key = DispatchSpecificKey<QueueContext>()
    /// The key's address, as libdispatch uses it.
    private static let rawKey = UInt(bitPattern: Unmanaged.passUnretained(key).toOpaque())
    private static let live = Locked(0)
    static var liveCount: Int { live.withLock { $0 } }

    private let onDeath: (@Sendable () -> Void)?
    /// The context of the queue whose code waits in `sync` for this one.
    private let waiting = Locked<QueueContext?>(nil)

    /// The context of the current queue; nil on a thread without one.
    static var current: QueueContext? { markOfCurrentQueue == 0 ? nil : DispatchQueue.getSpecific(key: key) }

    var outer: QueueContext? { waiting.withLock { $0 } }
    func setOuter(_ outer: QueueContext?) { waiting.withLock { $0 = outer } }

    /// Identifies the current queue; 0 on queues and threads without such a value.
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
