import CLinux
import Glibc
import LinuxKernel

/// Prepares a process, in `main`, for ``SignalMonitor``s.
public enum ProcessSignals {
    private static let blocked = Locked<Set<Signal>>([])

    /// Blocks `signals` in the calling thread, and so in all threads that it creates later. To be called in `main`
    /// before any other thread exists: the kernel delivers a signal to any thread that does not block it, and its
    /// default action mostly ends the process. Traps if there is such a thread already. An asynchronous `main` has no
    /// other thread before its first suspension, so it must call this before its first `await`.
    ///
    /// Afterwards the main thread keeps the signals blocked, even in `dispatchMain()`, in which an asynchronous `main`
    /// ends too: that would leave it in sigsuspend(2) with an empty mask, where a signal for a signalfd ends the
    /// process. See docs/decisions/0039.
    ///
    /// Programs started afterwards inherit the mask unless they are given another; see posix_spawnattr_setsigmask(3).
    public static func block(_ signals: [Signal], file: StaticString = #fileID, line: UInt = #line) {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals {
            precondition(
                signal.isCatchable && sigaddset(&set, signal.rawValue) == 0, "\(signal) cannot be blocked", file: file,
                line: line)
        }
        let result = pthread_sigmask(SIG_BLOCK, &set, nil)
        precondition(result == 0, "pthread_sigmask: \(result)", file: file, line: line)
        blocked.withLock { $0.formUnion(signals) }
        if isMainThread { keepMainThread }
        requireBlockedEverywhere(signals, file: file, line: line)
    }

    /// Waits in the main thread for ever, with its signals blocked. To be called at the end of a `main` that is not
    /// asynchronous; the program ends by exit(3) on another thread. Unlike `dispatchMain()` it does not serve the main
    /// queue.
    public static func parkMainThread(file: StaticString = #fileID, line: UInt = #line) -> Never {
        precondition(isMainThread, "parkMainThread is for the main thread", file: file, line: line)
        requireBlockedEverywhere(Array(blocked.withLock { $0 }), file: file, line: line)
        wait()
    }

    private static var isMainThread: Bool { clinux_gettid() == getpid() }

    /// Stops the main thread from exiting: `dispatchMain()` makes it exit and continues in the destructor of a
    /// thread-specific value. Destructors run in the order in which their keys were created, so that of this key is
    /// first.
    private static let keepMainThread: Void = {
        var key = pthread_key_t()
        let isKept =
            pthread_key_create(&key, { _ in wait() }) == 0
            && pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1)) == 0
        precondition(isKept, "the main thread has no room for a thread-specific value")
    }()

    private static func wait() -> Never {
        // Returns after each handler of another signal.
        while true { pause() }
    }

    /// The first of `signals` that a thread does not block, and that thread's id.
    static func firstUnblocked(_ signals: [Signal]) -> (signal: Signal, thread: Int32)? {
        var set = sigset_t()
        guard pthread_sigmask(SIG_BLOCK, nil, &set) == 0 else { return signals.first.map { ($0, clinux_gettid()) } }
        // Without /proc, at least the calling thread is checked.
        if let signal = signals.first(where: { sigismember(&set, $0.rawValue) == 0 }) {
            return (signal, clinux_gettid())
        }
        return threadsNotBlocking(signals.map(\.rawValue)).first.flatMap { open in
            open.signals.first.map { (Signal(rawValue: $0), open.thread) }
        }
    }

    private static func requireBlockedEverywhere(_ signals: [Signal], file: StaticString, line: UInt) {
        if let open = firstUnblocked(signals) {
            fatalError(
                "thread \(open.thread) does not block \(open.signal); signals are blocked in main before any other "
                    + "thread exists", file: file, line: line)
        }
    }
}
