import LinuxKernel

/// What is told as failing and may have healed: nobody knows until something is written there.
package struct StorageDoubt: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The library, and what lies beside it.
    package static let library = StorageDoubt(rawValue: 1)
    /// The catalogue.
    package static let catalogue = StorageDoubt(rawValue: 2)
}

/// When what is in doubt is tried: at once, then ever more seldom while it fails, and within half a minute of its healing.
struct StorageTrials {
    private var isTrying = false
    private var failures = 0
    private var next = Int64.min

    /// Whether to try now; one at a time.
    mutating func begin(now: Moment) -> Bool {
        guard !isTrying, now.monotonic >= next else { return false }
        isTrying = true
        return true
    }

    mutating func end(healed: Bool, now: Moment) {
        isTrying = false
        failures = healed ? 0 : min(failures + 1, 5)
        next = healed ? .min : now.later(by: min(30, Double(1 << failures))).monotonic
    }
}
