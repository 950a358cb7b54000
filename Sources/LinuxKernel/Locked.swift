import Glibc

/// A value behind a plain mutex, for state without a natural queue and for snapshots that any thread may read.
///
/// One of the project's two audited unchecked types (the other is the queue-bound box): `value` is accessible only
/// inside ``withLock(_:)``. A pthread mutex, because Thread Sanitizer reports false races for
/// `Synchronization.Mutex` on Linux. Never call out, resume or log while holding it. Inlinable: unspecialised, each
/// access would look up metadata.
///
/// A closure must be held in a structure, never as the value itself: the compiler wraps it again at each access, and
/// each wrapper calls the one before, so that each call needs more stack. A test of the sources rejects those.
public final class Locked<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    // Exclusivity checking is redundant: a nested access deadlocks on the mutex before the accesses could overlap.
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

    /// Runs `body` with exclusive access. Not to be nested on one box: the plain mutex would deadlock.
    @inlinable
    public func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
        lock()
        defer { unlock() }
        return try body(&value)
    }

    /// The same, but nil if another thread holds the lock for `patience`: for callers that must not block.
    public func withLock<R>(waitingAtMost patience: Duration, _ body: (inout Value) -> sending R) -> sending R? {
        let nap: useconds_t = 1000
        var left = patience / .microseconds(Int64(nap))
        // Not pthread_mutex_timedlock(3), which uses a clock that can be set.
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
