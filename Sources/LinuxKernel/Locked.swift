import Glibc

/// A value behind a plain mutex, for state that has no natural queue and for snapshots that any thread may read.
///
/// One of the project's two audited unchecked types (the other is the queue-bound box): `value` is reachable only
/// inside ``withLock(_:)``. A pthread mutex, because Thread Sanitizer reports false races for
/// `Synchronization.Mutex` on Linux. Never call out, resume or log while holding it.
public final class Locked<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

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
    public func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> sending R) throws(E) -> sending R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
