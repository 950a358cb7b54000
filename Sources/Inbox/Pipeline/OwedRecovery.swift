import LinuxKernel

/// Whether recovery has something to do, and when it is tried again: at once, then ever more seldom while it fails. A
/// cause that goes away is noticed within half a minute, and one that stays costs little.
struct OwedRecovery {
    private var isLeft = false
    private var refusals: StorageDoubt = []
    /// What had refused before the try that is being made.
    private var before: StorageDoubt = []
    /// Why it could not be done the last time, for people; kept while it is tried again.
    private(set) var reason: String?
    private var isTrying = false
    private var failures = 0
    private var next = Int64.min

    /// Whether something is half done, or being finished just now: what that is must not be taken up meanwhile.
    var isOwed: Bool { isLeft || isTrying }

    /// What refused what is still to be done: the next try, or this one, shows whether it still does.
    var refusedBy: StorageDoubt { refusals.union(before) }

    /// Something is half done, which storage refused or which something else kept from being done.
    mutating func owe(refusedBy storage: StorageDoubt = [], because reason: String? = nil) {
        isLeft = true
        refusals.formUnion(storage)
        self.reason = reason ?? self.reason
    }

    /// Whether it is to be tried now.
    func isDue(now: Moment) -> Bool { isLeft && !isTrying && now.monotonic >= next }

    mutating func begin() {
        isLeft = false
        (before, refusals) = (refusals, [])
        isTrying = true
    }

    /// All was tried once; what failed was owed again.
    mutating func end(now: Moment) {
        isTrying = false
        before = []
        if !isLeft { reason = nil }
        failures = isLeft ? min(failures + 1, 5) : 0
        next = isLeft ? now.later(by: min(30, Double(1 << failures))).monotonic : .min
    }
}
