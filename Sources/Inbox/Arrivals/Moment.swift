package import FileValues
import Glibc
import LinuxKernel

/// One moment on both clocks: the monotonic one orders and measures, the wall clock is only shown.
package struct Moment: Hashable, Sendable {
    /// Nanoseconds of CLOCK_MONOTONIC.
    package let monotonic: Int64
    /// The time of day.
    package let wall: FileTime

    package init(monotonic: Int64, wall: FileTime) {
        self.monotonic = monotonic
        self.wall = wall
    }

    /// This moment; see clock_gettime(2).
    package static var now: Moment {
        var monotonic = timespec()
        clock_gettime(CLOCK_MONOTONIC, &monotonic)
        return Moment(
            monotonic: Int64(monotonic.tv_sec) * 1_000_000_000 + Int64(monotonic.tv_nsec),
            wall: .now)
    }

    /// The same moment, `seconds` later.
    package func later(by seconds: Double) -> Moment {
        let nanoseconds = Int64(seconds * 1e9)
        let total = Int64(wall.nanoseconds) + nanoseconds
        let carry = total >= 0 ? total / 1_000_000_000 : (total - 999_999_999) / 1_000_000_000
        return Moment(
            monotonic: monotonic + nanoseconds,
            wall: FileTime(seconds: wall.seconds + carry, nanoseconds: UInt32(total - carry * 1_000_000_000)))
    }

    /// Seconds from `earlier` to this moment, on the monotonic clock.
    package func seconds(since earlier: Moment) -> Double { Double(monotonic - earlier.monotonic) / 1e9 }
}
