/// How often, how late and with how many files a hook is run again that failed. A value without I/O.
struct HookRetry: Hashable, Sendable {
    /// What happens to files that a hook failed on.
    enum Verdict: Hashable, Sendable {
        /// It gets them again, after this many seconds.
        case again(seconds: Double)
        /// It does not get them again, and those after them after this many seconds.
        case passOver(seconds: Double)
    }

    /// Files of one run at most.
    static let mostFiles = 256
    /// Runs that may fail before files are passed over. By then it is one file at a time: each try takes a quarter of the
    /// one before, so that a file that a hook cannot process costs the others nothing but time.
    static let mostTries = 5
    /// The longest time from one try to the next.
    static let longestPause = 300.0

    /// Runs that failed on the files that come next.
    private(set) var tries = 0
    /// Runs that failed since the last good one.
    private(set) var failures = 0

    /// How many files the next run gets at most.
    var files: Int { max(1, Self.mostFiles >> (2 * tries)) }

    mutating func succeeded() { self = HookRetry() }

    /// A run failed; `mayBeTheEvents` if it had begun.
    mutating func failed(mayBeTheEvents: Bool) -> Verdict {
        failures += 1
        let seconds = min(Double(1 << min(failures - 1, 10)), Self.longestPause)
        guard mayBeTheEvents else { return .again(seconds: seconds) }
        tries += 1
        guard tries >= Self.mostTries else { return .again(seconds: seconds) }
        tries = 0
        return .passOver(seconds: seconds)
    }
}
