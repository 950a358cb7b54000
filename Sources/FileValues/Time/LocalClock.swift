/// Formats instants for one offset from UTC.
///
/// Pure: the caller asks the system for the offset, which changes with the season. Instants are seconds since 1970. A
/// file may have any time, so those outside the years 0 to 9999 have no text.
package struct LocalClock: Hashable, Sendable {
    /// Seconds east of UTC.
    package let offset: Int32

    package static let universal = LocalClock(offset: 0)

    /// Offsets of a day or more count as zero.
    package init(offset: Int32) { self.offset = abs(Int64(offset)) < 86_400 ? offset : 0 }

    private func reading(_ seconds: Int64) -> CivilDateTime? {
        CivilDateTime(FileTime(seconds: seconds, nanoseconds: 0), offset: offset)
    }

    /// `14:02`, or `--:--`.
    package func timeOfDay(_ seconds: Int64) -> String {
        reading(seconds).map { "\(padded($0.hour, 2)):\(padded($0.minute, 2))" } ?? "--:--"
    }

    /// `2026-11-21`, or hyphens.
    package func date(_ seconds: Int64) -> String { reading(seconds)?.date.description ?? "----------" }

    /// `14:07:31.123`, or nil.
    package func clock(_ time: FileTime) -> String? {
        reading(time.seconds).map { "\($0.clock).\(padded(Int(time.nanoseconds / 1_000_000), 3))" }
    }

    /// RFC 3339: `2026-11-21T14:07:31Z`, or with milliseconds and offset; nil outside the years 0 to 9999.
    package func rfc3339(_ seconds: Int64, milliseconds: Int? = nil) -> String? {
        guard let reading = reading(seconds) else { return nil }
        let fraction = milliseconds.map { "." + padded($0, 3) } ?? ""
        return "\(reading.date)T\(reading.clock)\(fraction)\(offset == 0 ? "Z" : offsetText(offset))"
    }
}
