package import FileValues
import Reporting

/// Builds text from bytes, for bulk output without a String for each field.
extension [UInt8] {
    /// A path as one line for a terminal; see `BytePath.escaped`.
    package mutating func appendEscaped(_ path: some Collection<UInt8>) {
        if path.allSatisfy({ (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\\") }) {
            append(contentsOf: path)
        } else {
            append(contentsOf: escapeForDisplay(path).utf8)
        }
    }

    package mutating func append(_ text: StaticString) { text.withUTF8Buffer { append(contentsOf: $0) } }

    package mutating func appendDecimal(_ number: UInt64) { append(contentsOf: String(number).utf8) }

    /// A field of a row as inotifywait(1) writes it: if necessary in quotes, with those in it doubled.
    package mutating func appendCommaSeparated(_ field: some BidirectionalCollection<UInt8>) {
        let mustQuote: (UInt8) -> Bool = { byte in
            byte == UInt8(ascii: "\"") || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n")
        }
        let space = UInt8(ascii: " ")
        guard field.first == space || field.last == space || field.contains(where: mustQuote) else {
            return append(contentsOf: field)
        }
        append(UInt8(ascii: "\""))
        for byte in field {
            if byte == UInt8(ascii: "\"") { append(byte) }
            append(byte)
        }
        append(UInt8(ascii: "\""))
    }

    /// A comma and a field of a JSON object whose value is a path; the same bytes as `JSONField.path`.
    package mutating func appendJSONPath(_ name: StaticString, _ path: [UInt8]) {
        append(",\"")
        append(name)
        append("\":")
        if path.allSatisfy({ (0x20..<0x7F).contains($0) && $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "\"") }) {
            append(UInt8(ascii: "\""))
            append(contentsOf: path)
            append(UInt8(ascii: "\""))
        } else if let text = String(validating: path, as: UTF8.self) {
            append(contentsOf: JSONValue.string(text).compact.utf8)
        } else {
            append(contentsOf: JSONValue.string(String(decoding: path, as: UTF8.self)).compact.utf8)
            append(",\"")
            append(name)
            append("_base64\":\"")
            append(contentsOf: base64Encoded(path).utf8)
            append(UInt8(ascii: "\""))
        }
    }
}

/// Times as RFC 3339 text. Files that arrive together carry times of the same second, so its text is kept.
package struct TimeBytes {
    private var second: Int64?
    private var text: [UInt8] = []

    package init() {}

    /// Appends `2026-11-21T13:07:31.123Z`; `null` without quotes for a time outside the years 0 to 9999, which files
    /// may claim.
    package mutating func append(_ time: FileTime, to bytes: inout [UInt8]) {
        if second != time.seconds {
            second = time.seconds
            text = LocalClock.universal.rfc3339(time.seconds).map { Array($0.utf8.dropLast()) } ?? []
        }
        guard !text.isEmpty else { return bytes.append("null") }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "."))
        let milliseconds = time.nanoseconds / 1_000_000
        for divisor: UInt32 in [100, 10, 1] {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: milliseconds / divisor % 10))
        }
        bytes.append("Z\"")
    }
}
