public import FileValues
public import Glibc

/// Nanoseconds of a clock; see clock_gettime(2).
public func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    // Fails only for an invalid clock or address.
    precondition(clock_gettime(clock, &time) == 0, "clock_gettime")
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Nanoseconds of CLOCK_MONOTONIC, which cannot be set: for ordering and measuring.
public func monotonicNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }

extension FileTime {
    /// The wall clock, for display and for comparison with file times; never for ordering or measuring, since it can be
    /// set. With `isCoarse`, the clock that file systems read: a file changed later has no earlier time.
    public static func now(isCoarse: Bool) -> FileTime {
        let (seconds, rest) = LinuxKernel.nanoseconds(of: isCoarse ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME)
            .quotientAndRemainder(dividingBy: 1_000_000_000)
        return FileTime(seconds: Int64(seconds), nanoseconds: UInt32(rest))
    }

    /// The wall clock, CLOCK_REALTIME.
    public static var now: FileTime { now(isCoarse: false) }
}

extension LocalClock {
    /// The local time zone's offset at an instant (seconds since 1970); see localtime_r(3).
    package init(at instant: Int64) {
        var time = time_t(instant)
        var parts = tm()
        self.init(offset: localtime_r(&time, &parts) == nil ? 0 : Int32(clamping: parts.tm_gmtoff))
    }

    /// The local date: `2026-11-22`.
    package static func today() -> String {
        let now = FileTime.now.seconds
        return LocalClock(at: now).date(now)
    }
}

/// The boot identifier; empty if unreadable, as with ProcSubset=pid. See proc(5).
package func readBootIdentifier() -> [UInt8] { (try? contents(of: "/proc/sys/kernel/random/boot_id")) ?? [] }
