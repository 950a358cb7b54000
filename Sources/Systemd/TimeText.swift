import FileValues
import Glibc

/// Times as text. No locale is asked: digits only.
enum TimeText {
    /// `2026-11-21T13:07:31.123Z`, as RFC 3339 has it.
    static func utc(_ time: FileTime) -> String {
        var parts = tm()
        var seconds = time_t(time.seconds)
        gmtime_r(&seconds, &parts)
        return date(parts) + "T" + clock(parts, time) + "Z"
    }

    /// `2026-11-21T14:07:31.123+01:00`, in the zone of this machine.
    static func local(_ time: FileTime) -> String {
        let parts = localParts(time)
        let minutes = parts.tm_gmtoff / 60
        let offset = (minutes < 0 ? "-" : "+") + two(abs(minutes) / 60) + ":" + two(abs(minutes) % 60)
        return date(parts) + "T" + clock(parts, time) + offset
    }

    /// `14:07:31.123`, for a terminal, where the date is known.
    static func clockOnly(_ time: FileTime) -> String { clock(localParts(time), time) }

    private static func localParts(_ time: FileTime) -> tm {
        var parts = tm()
        var seconds = time_t(time.seconds)
        localtime_r(&seconds, &parts)
        return parts
    }

    private static func date(_ parts: tm) -> String {
        "\(Int(parts.tm_year) + 1900)-\(two(Int(parts.tm_mon) + 1))-\(two(Int(parts.tm_mday)))"
    }

    private static func clock(_ parts: tm, _ time: FileTime) -> String {
        let milliseconds = String(time.nanoseconds / 1_000_000)
        return two(Int(parts.tm_hour)) + ":" + two(Int(parts.tm_min)) + ":" + two(Int(parts.tm_sec)) + "."
            + String(repeating: "0", count: max(0, 3 - milliseconds.count)) + milliseconds
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
