package import FileValues
import Reporting

extension FileTime {
    /// RFC 3339 in UTC, with milliseconds; the seconds alone for a year that it cannot write.
    package var rfc3339: String {
        LocalClock.universal.rfc3339(seconds, milliseconds: Int(nanoseconds / 1_000_000)) ?? "\(seconds) s"
    }
}
