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
    /// Whose turn it is, where monitors of this queue have different priorities.
    let turns: QueueBound<Turns>

    /// Makes the queue; from any thread. `onDeath` is called, on any thread, when libdispatch has let go of the queue
    /// for good: after the last reference to it, its monitors and its pending blocks.
    public init(label: String, onDeath: (@Sendable () -> Void)? = nil) {
        place = QueuePlace(label: label, onDeath: onDeath)
        turns = QueueBound(Turns(), place: place)
    }

    /// How many queues of this kind libdispatch still holds. From any thread.
    public static var liveCount: Int { QueueContext.liveCount }

    /// Whether the caller runs on this queue. Inside another queue's ``sync(file:line:_:)`` only that one is current.
    public var isCurrent: Bool { place.isCurrent }

    /// Runs `body` on the queue, later.
    public func async(_ body: @escaping @Sendable () -> Void) {
        dispatchQueue.async(execute: body)
    }

    /// Runs `body` on the queue and waits for it. Traps on the queue itself, where it would wait for ever.
    public func sync<R>(
        file: StaticString = #fileID, line: UInt = #line, _ body: () throws -> R
    ) rethrows -> R {
        if isCurrent { LifecycleViolation.trap("queue \(label)", .noSyncOnOwnQueue, file: file, line: line) }
        return try dispatchQueue.sync(execute: body)
    }

    /// Runs `body` on the queue once `delay` has passed on the monotonic clock. It cannot be taken back, and keeps the
    /// queue alive until then: where that matters, use a ``TimerMonitor``.
    public func after(_ delay: Duration, _ body: @escaping @Sendable () -> Void) {
        dispatchQueue.asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: delay.wholeNanoseconds)), execute: body)
    }
}

/// Where code is confined to: what a bound value needs of its queue.
struct QueuePlace: Sendable {
    let label: String
    let dispatchQueue: DispatchQueue
    private let id: UInt64

    init(label: String, onDeath: (@Sendable () -> Void)?) {
        let context = QueueContext(onDeath: onDeath)
        self.label = label
        id = context.id
        dispatchQueue = DispatchQueue(label: label)
        dispatchQueue.setSpecific(key: QueueContext.key, value: context)
    }

    var isCurrent: Bool { DispatchQueue.getSpecific(key: QueueContext.key)?.id == id }
}

/// The queue's specific value. Only the queue holds it, so its end proves the queue's.
private final class QueueContext: Sendable {
    static let key = DispatchSpecificKey<QueueContext>()
    private static let counts = Locked((last: UInt64(0), live: 0))
    static var liveCount: Int { counts.withLock { $0.live } }

    let id: UInt64
    private let onDeath: (@Sendable () -> Void)?

    init(onDeath: (@Sendable () -> Void)?) {
        id = Self.counts.withLock {
            $0.last += 1
            $0.live += 1
            return $0.last
        }
        self.onDeath = onDeath
    }

    deinit {
        Self.counts.withLock { $0.live -= 1 }
        onDeath?()
    }
}
