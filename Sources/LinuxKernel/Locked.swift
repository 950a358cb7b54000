import Glibc

/// A value behind a plain mutex, for state that has no natural queue and for snapshots that any thread may read.
///
/// One of the project's two audited unchecked types (the other is the queue-bound box): `value` is reachable only
/// inside ``withLock(_:)``. A pthread mutex, because Thread Sanitizer reports false races for
/// `Synchronization.Mutex` on Linux. Never call out, resume or log while holding it. Can be inlined in other modules:
/// unspecialised, each access would look up metadata.
///
/// A closure is held in a structure, never as the value itself: the compiler wraps it anew at each access, and each
/// wrapper calls the one before, so that a call needs more stack every time. A test over the sources finds those.
public final class Locked<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    // Whoever nests accesses has been waiting for himself before they could overlap.
    @exclusivity(unchecked) @usableFromInline var value: Value

    /// A box that holds `value`.
    public init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let result = pthread_mutex_init(mutex, nil)
        precondition(result == 0, "pthread_mutex_init: \(result)")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with exclusive access. Not to be nested on one box: a plain mutex would wait for itself.
    @inlinable
    public func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
        lock()
        defer { unlock() }
        return try body(&value)
    }

    /// The same, unless somebody else holds the lock for so long: then nil. For those who must not wait for what may
    /// never end.
    public func withLock<R>(waitingAtMost patience: Duration, _ body: (inout Value) -> sending R) -> sending R? {
        let nap: useconds_t = 1000
        var left = patience / .microseconds(Int64(nap))
        // Not pthread_mutex_timedlock(3), which goes by a clock that can be set.
        while pthread_mutex_trylock(mutex) != 0 {
            if left <= 0 { return nil }
            left -= 1
            usleep(nap)
        }
        defer { unlock() }
        return body(&value)
    }

    @usableFromInline func lock() { pthread_mutex_lock(mutex) }
    @usableFromInline func unlock() { pthread_mutex_unlock(mutex) }
}
