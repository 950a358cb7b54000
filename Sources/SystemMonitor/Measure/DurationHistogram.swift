/// A histogram of durations: exact minimum and maximum, quantiles to within an eighth.
///
/// Log-linear: eight equal steps per doubling, so that nanoseconds to minutes fit in a few hundred counters. They are
/// allocated at the first value; most monitors never get one.
struct DurationHistogram: Sendable {
    private static let stepBits = 3
    private static let steps = 1 << stepBits
    /// 2⁴³ ns are two and a half hours; longer durations count as that in the quantiles.
    private static let largest: UInt64 = (1 << 43) - 1

    private var counters: [UInt32] = []
    private(set) var count: UInt64 = 0
    private(set) var minimum: UInt64 = 0
    private(set) var maximum: UInt64 = 0

    mutating func add(_ nanoseconds: UInt64) {
        if counters.isEmpty { counters = Array(repeating: 0, count: Self.index(of: Self.largest) + 1) }
        let index = Self.index(of: min(nanoseconds, Self.largest))
        if counters[index] < .max { counters[index] += 1 }
        minimum = count == 0 ? nanoseconds : min(minimum, nanoseconds)
        maximum = max(maximum, nanoseconds)
        count += 1
    }

    /// The value that `fraction` (0…1) of all values do not exceed, rounded up to its step; nil without values.
    func quantile(_ fraction: Double) -> UInt64? {
        guard count > 0 else { return nil }
        let total = counters.reduce(0) { $0 + UInt64($1) }
        let rank = max(1, UInt64((Double(total) * fraction).rounded(.up)))
        var seen: UInt64 = 0
        for (index, counter) in counters.enumerated() {
            seen += UInt64(counter)
            if seen >= rank { return min(max(Self.upperBound(of: index), minimum), maximum) }
        }
        return maximum
    }

    static func index(of value: UInt64) -> Int {
        guard value >= UInt64(steps) else { return Int(value) }
        let exponent = 63 - value.leadingZeroBitCount
        let shift = exponent - stepBits
        return (shift + 1) * steps + Int((value >> UInt64(shift)) & UInt64(steps - 1))
    }

    static func upperBound(of index: Int) -> UInt64 {
        guard index >= steps else { return UInt64(index) }
        let shift = index / steps - 1
        let lower = UInt64(steps + index % steps) << UInt64(shift)
        return lower + (1 << UInt64(shift)) - 1
    }
}
