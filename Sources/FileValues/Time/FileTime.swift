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

    /// The time of such a text, which may have no milliseconds; nil for any other one.
    package init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        func number(_ place: Int, _ digits: Int) -> Int? {
            bytes[place..<place + digits].reduce(0) { sum, byte in
                sum.flatMap { (0x30...0x39).contains(byte) ? $0 * 10 + Int(byte - 0x30) : nil }
            }
        }
        guard bytes.count == 20 || (bytes.count == 24 && bytes[19] == UInt8(ascii: ".")),
            bytes.last == UInt8(ascii: "Z"),
            [4, 7, 10, 13, 16].map({ bytes[$0] }) == Array("--T::".utf8), let year = number(0, 4),
            let month = number(5, 2), let day = number(8, 2),
            let date = CivilDate(year: year, month: month, day: day), let hour = number(11, 2), hour < 24,
            let minute = number(14, 2), minute < 60, let second = number(17, 2), second < 60,
            let milliseconds = bytes.count == 24 ? number(20, 3) : 0
        else { return nil }
        self.init(
            seconds: Int64(((date.daysSince1970 * 24 + hour) * 60 + minute) * 60 + second),
            nanoseconds: UInt32(milliseconds) * 1_000_000)
    }
}
