import Glibc

/// Keeps a run from reading faster than it was told to, so that others get their share of the disk.
struct Throttle {
    private let bytesPerSecond: UInt64
    private let began: timespec

    init(bytesPerSecond: UInt64) {
        self.bytesPerSecond = max(1, bytesPerSecond)
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        began = now
    }

    /// Waits until `bytes` since the beginning are no more than the rate allows. Ends early when a signal comes.
    func wait(after bytes: UInt64) {
        let due = Double(bytes) / Double(bytesPerSecond)
        var end = began
        let nanoseconds = Int(due.truncatingRemainder(dividingBy: 1) * 1e9) + end.tv_nsec
        end.tv_sec += Int(due) + nanoseconds / 1_000_000_000
        end.tv_nsec = nanoseconds % 1_000_000_000
        clock_nanosleep(CLOCK_MONOTONIC, Int32(TIMER_ABSTIME), &end, nil)
    }
}
