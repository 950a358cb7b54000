import Glibc

/// The clocks at one moment, in nanoseconds: what the time that files lie in the trash is counted by.
package struct ClockReading: Hashable, Sendable {
    /// Which start of the machine it was; what is unknown is never twice the same.
    package let boot: String
    /// CLOCK_BOOTTIME.
    package let boottime: Int64
    /// CLOCK_REALTIME, which may be wrong, and jump.
    package let wall: Int64

    package init(boot: String, boottime: Int64, wall: Int64) {
        self.boot = boot
        self.boottime = boottime
        self.wall = wall
    }

    /// How much a restart of the machine counts at most: only the wall clock tells how long it was off.
    package static let longestGap: Int64 = 86_400_000_000_000

    /// The time that has certainly passed since `earlier`; over a restart of the machine, what the wall clock says, within
    /// ``longestGap``.
    package func elapsed(since earlier: ClockReading) -> Int64 {
        if boot == earlier.boot { return max(0, boottime - earlier.boottime) }
        return min(max(0, wall - earlier.wall), Self.longestGap)
    }
}

extension ClockReading {
    /// Of this moment.
    package static var now: ClockReading {
        ClockReading(
            boot: thisBoot, boottime: Int64(nanoseconds(of: CLOCK_BOOTTIME)),
            wall: Int64(nanoseconds(of: CLOCK_REALTIME)))
    }

    /// Where it cannot be read, a restart of the daemon counts as one of the machine.
    private static let thisBoot: String = {
        let identifier = readBootIdentifier()
        return identifier.isEmpty ? "\(UInt64.random(in: .min ... .max))" : String(decoding: identifier, as: UTF8.self)
    }()
}
