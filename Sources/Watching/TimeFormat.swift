package import FileValues
import Glibc

/// The local time in a format of strftime(3), for `%T`. The text of a second is kept for the events that share it.
package struct TimeFormat: Hashable, Sendable {
    private let format: BytePath
    private var second: Int64?
    private var text: [UInt8] = []

    package init(_ format: BytePath) { self.format = format }

    mutating func append(_ time: FileTime, to bytes: inout [UInt8]) {
        if second != time.seconds {
            second = time.seconds
            text = Self.text(time.seconds, format)
        }
        bytes.append(contentsOf: text)
    }

    private static func text(_ seconds: Int64, _ format: BytePath) -> [UInt8] {
        var time = time_t(seconds)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return [] }
        // As long as inotifywait's; strftime(3) does not report that a text does not fit.
        return [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) { room in
                format.withCString { strftime(room.baseAddress, room.count, $0, &parts) }
            }
        }
    }
}
