import LinuxKernel

/// Whether recovery has something to do, and when it is tried again: at once, then ever more seldom while it fails. A
/// cause that goes away is noticed within half a minute, and one that stays costs little.
struct OwedRecovery {
    private var isLeft = false
    private var wasRefused = false
    private var isTrying = false
    private var failures = 0
    private var next = Int64.min

    /// Whether something is half done, or being finished just now: what that is must not be taken up meanwhile.
    var isOwed: Bool { isLeft || isTrying }

    /// Whether the library or the catalogue refused what is still to be done: the next try shows whether they do.
    var isRefused: Bool { isLeft && wasRefused }

    /// Something is half done, which storage refused or which something else kept from being done.
    mutating func owe(refused: Bool = true) {
        isLeft = true
        wasRefused = wasRefused || refused
    }

    /// Whether it is to be tried now.
    func isDue(now: Moment) -> Bool { isLeft && !isTrying && now.monotonic >= next }

    mutating func begin() {
        isLeft = false
        wasRefused = false
        isTrying = true
    }

    /// All was tried once; what failed was owed again.
    mutating func end(now: Moment) {
        isTrying = false
        failures = isLeft ? min(failures + 1, 5) : 0
        next = isLeft ? now.later(by: min(30, Double(1 << failures))).monotonic : .min
    }
}
