import Glibc

/// Nanoseconds of CLOCK_MONOTONIC: the clock of all times in a ``MonitorDescription``.
public func monotonicNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }

func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    // Fails only for a clock or an address that is not one.
    precondition(clock_gettime(clock, &time) == 0, "clock_gettime")
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

extension Duration {
    /// Whole nanoseconds, at least 0, at most what fits.
    var wholeNanoseconds: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, carry) = product.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
        return overflow || carry ? .max : sum
    }
}
