import LinuxKernel

/// Whether recovery has something to do, and when it is tried again: at once, then ever more seldom while it fails. A
/// cause that goes away is noticed within half a minute, and one that stays costs little.
struct OwedRecovery {
    private(set) var isOwed = false
    private var failures = 0
    private var next = Int64.min

    /// Something is half done.
    mutating func owe() { isOwed = true }

    /// Whether it is to be tried now.
    func isDue(now: Moment) -> Bool { isOwed && now.monotonic >= next }

    mutating func begin() { isOwed = false }

    /// All was tried once; what failed was owed again.
    mutating func end(now: Moment) {
        failures = isOwed ? min(failures + 1, 5) : 0
        next = isOwed ? now.later(by: min(30, Double(1 << failures))).monotonic : .min
    }
}
