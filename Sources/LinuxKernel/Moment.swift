package import FileValues

/// One moment on both clocks: the monotonic one for ordering and measuring, the wall clock for display.
package struct Moment: Hashable, Sendable {
    /// Nanoseconds of CLOCK_MONOTONIC.
    package let monotonic: Int64
    /// The wall clock.
    package let wall: FileTime

    package init(monotonic: Int64, wall: FileTime) {
        self.monotonic = monotonic
        self.wall = wall
    }

    /// The current moment; see clock_gettime(2).
    package static var now: Moment { Moment(monotonic: Int64(monotonicNanoseconds()), wall: .now) }

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
