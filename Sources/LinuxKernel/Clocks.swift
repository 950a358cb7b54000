public import FileValues
public import Glibc

/// Nanoseconds of a clock; see clock_gettime(2).
public func nanoseconds(of clock: clockid_t) -> UInt64 {
    var time = timespec()
    // Fails only for a clock or an address that is not one.
    precondition(clock_gettime(clock, &time) == 0, "clock_gettime")
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Nanoseconds of CLOCK_MONOTONIC, which nobody sets: to order and to measure.
public func monotonicNanoseconds() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) }

extension FileTime {
    /// This moment of the wall clock, to show and to compare with files' times. Never to order or to measure: the clock
    /// can be set. `isCoarse`, as file systems read it: a file that is changed after this moment has no earlier time.
    public static func now(isCoarse: Bool) -> FileTime {
        let (seconds, rest) = LinuxKernel.nanoseconds(of: isCoarse ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME)
            .quotientAndRemainder(dividingBy: 1_000_000_000)
        return FileTime(seconds: Int64(seconds), nanoseconds: UInt32(rest))
    }

    /// This moment of the wall clock, CLOCK_REALTIME.
    public static var now: FileTime { now(isCoarse: false) }
}

extension LocalClock {
    /// The clock of this machine's zone at an instant (seconds since 1970); see localtime_r(3).
    package init(at instant: Int64) {
        var time = time_t(instant)
        var parts = tm()
        self.init(offset: localtime_r(&time, &parts) == nil ? 0 : Int32(clamping: parts.tm_gmtoff))
    }
}

/// The identifier of this start of the machine; empty where it cannot be read, as with ProcSubset=pid. See proc(5).
package func readBootIdentifier() -> [UInt8] {
    let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(file, &bytes, bytes.count)
    return Array(bytes.prefix(max(0, count)))
}
