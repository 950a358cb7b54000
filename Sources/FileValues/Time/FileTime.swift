/// A file timestamp: seconds and nanoseconds since 1970-01-01 00:00:00 UTC. See inode(7).
public struct FileTime: Hashable, Comparable, Sendable {
    /// Whole seconds; negative before 1970.
    public let seconds: Int64
    /// 0 to 999,999,999.
    public let nanoseconds: UInt32

    /// A time from its two parts.
    public init(seconds: Int64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// Earlier comes first.
    public static func < (left: FileTime, right: FileTime) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }
}

extension FileTime {
    /// RFC 3339 in UTC with milliseconds, `2026-11-21T13:07:31.123Z`; the bare seconds outside the years 0 to 9999.
    package var rfc3339: String {
        LocalClock.universal.rfc3339(seconds, milliseconds: Int(nanoseconds / 1_000_000)) ?? "\(seconds) s"
    }
}
