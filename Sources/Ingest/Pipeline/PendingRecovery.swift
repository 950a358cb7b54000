import LinuxKernel

/// Whether recovery has something to do, and when it is tried again: at once, then ever more seldom while it fails. A
/// cause that goes away is noticed within half a minute, and one that stays costs little.
struct PendingRecovery {
    private var isLeft = false
    private var isTrying = false
    /// What refused what is left, and what refused it before the try that is being made.
    private var refusals: (now: Storage, before: Storage) = ([], [])
    /// Why the last try failed, for people; kept while it is tried again.
    private(set) var reason: String?
    private var failures = 0
    private var next = Int64.min

    /// Whether something is half done, or being finished just now: nothing else may work on it meanwhile.
    var isPending: Bool { isLeft || isTrying }

    /// The storage that refused what is still to be done: the next try, or this one, shows whether it still does.
    var refusedBy: Storage { refusals.now.union(refusals.before) }

    /// Something is half done; `storage` refused it, or something else kept it from being done.
    mutating func require(refusedBy storage: Storage = [], because reason: String) {
        isLeft = true
        refusals.now.formUnion(storage)
        self.reason = reason
    }

    /// What is left is to be tried now: its cause may be gone.
    mutating func hasten() { next = .min }

    /// Whether it is to be tried now.
    func isDue(now: Moment) -> Bool { isLeft && !isTrying && now.monotonic >= next }

    mutating func begin() {
        isLeft = false
        refusals = ([], refusals.now)
        isTrying = true
    }

    /// All was tried once; what failed was required again.
    mutating func end(now: Moment) {
        isTrying = false
        refusals.before = []
        if !isLeft { reason = nil }
        failures = isLeft ? min(failures + 1, 5) : 0
        next = isLeft ? now.later(by: min(30, Double(1 << failures))).monotonic : .min
    }
}
