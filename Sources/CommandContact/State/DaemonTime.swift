package import FileValues
import Foundation

/// A time of the daemon's state, RFC 3339 in UTC; nil if it is invalid.
package func parseRFC3339(_ text: String) -> FileTime? {
    // One of both: with and without a fraction of a second.
    let formats: [Date.ISO8601FormatStyle] = [.init(includingFractionalSeconds: true), .init()]
    for format in formats {
        guard let date = try? Date(text, strategy: format) else { continue }
        let seconds = date.timeIntervalSince1970.rounded(.down)
        return FileTime(
            seconds: Int64(seconds), nanoseconds: UInt32((date.timeIntervalSince1970 - seconds) * 1_000_000_000))
    }
    return nil
}
