import Glibc

/// Limits the rate at which a run reads.
struct Throttle {
    private let bytesPerSecond: UInt64
    private let began: timespec

    init(bytesPerSecond: UInt64) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        began = now
    }

    /// Waits until the rate allows `bytes` since the beginning. A signal ends the wait.
    func wait(after bytes: UInt64) {
        let due = Double(bytes) / Double(bytesPerSecond)
        var end = began
        let nanoseconds = Int(due.truncatingRemainder(dividingBy: 1) * 1e9) + end.tv_nsec
        end.tv_sec += Int(due) + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &end, nil)
    }
}
