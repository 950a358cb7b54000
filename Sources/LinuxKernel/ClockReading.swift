import Glibc

/// The clocks at one moment, in nanoseconds; measures how long files have been in the trash.
package struct ClockReading: Hashable, Sendable {
    /// The boot; an unknown one never equals another.
    package let boot: String
    /// CLOCK_BOOTTIME.
    package let boottime: Int64
    /// CLOCK_REALTIME, which may be wrong and may jump.
    package let wall: Int64

    package init(boot: String, boottime: Int64, wall: Int64) {
        self.boot = boot
        self.boottime = boottime
        self.wall = wall
    }

    /// The most that a reboot adds, since only the wall clock shows how long the machine was off.
    package static let longestGap: Int64 = 86_400_000_000_000

    /// The time since `earlier`; across a reboot the wall clock's difference, at most ``longestGap``.
    package func elapsed(since earlier: ClockReading) -> Int64 {
        if boot == earlier.boot { return max(0, boottime - earlier.boottime) }
        return min(max(0, wall - earlier.wall), Self.longestGap)
    }
}

extension ClockReading {
    /// The current reading.
    package static var now: ClockReading {
        ClockReading(
            boot: thisBoot, boottime: Int64(nanoseconds(of: CLOCK_BOOTTIME)),
            wall: Int64(nanoseconds(of: CLOCK_REALTIME)))
    }

    /// Random if unreadable, so that a restart of the daemon then counts as a reboot.
    private static let thisBoot: String = {
        let identifier = readBootIdentifier()
        return identifier.isEmpty ? "\(UInt64.random(in: .min ... .max))" : String(decoding: identifier, as: UTF8.self)
    }()
}
