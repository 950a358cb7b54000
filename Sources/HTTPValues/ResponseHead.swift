import FileValues

/// The head of a response: status and fields, from untrusted bytes. A value.
package struct ResponseHead: Hashable, Sendable {
    package private(set) var status = 0
    /// Whether all lines have arrived.
    package private(set) var isWhole = false
    private var fields: [String: [UInt8]] = [:]
    private var bytes = 0

    /// The most bytes of all lines.
    private static let longest = 64 << 10

    package init() {}

    /// Adds a line with its end; a status line begins a new head. False if there are too many bytes.
    package mutating func add(_ line: some Collection<UInt8>) -> Bool {
        let line = trimmedBlanks(Array(line.prefix(Self.longest)))
        if line.starts(with: Array("HTTP/".utf8)) {
            let parts = line.split(separator: 0x20, maxSplits: 2)
            self = ResponseHead()
            status = parts.count > 1 ? Int(String(decoding: parts[1], as: UTF8.self)) ?? 0 : 0
            return true
        }
        bytes += line.count
        if line.isEmpty {
            isWhole = true
        } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            let name = line[..<colon].map(\.asciiLowercased)
            // The first of two fields counts.
            let key = String(decoding: name, as: UTF8.self)
            if fields[key] == nil { fields[key] = trimmedBlanks(Array(line[(colon + 1)...])) }
        }
        return bytes <= Self.longest
    }

    /// A field by its name in lower case.
    package func field(_ name: String) -> String? { fields[name].map { String(decoding: $0, as: UTF8.self) } }
    /// The bytes of a field by its name in lower case.
    package func bytes(_ name: String) -> [UInt8]? { fields[name] }

    /// The length of the body; nil if it is not given, or not reliable.
    package var contentLength: UInt64? {
        field("transfer-encoding") == nil ? field("content-length").flatMap { UInt64($0) } : nil
    }

    /// `bytes FIRST-LAST/TOTAL`: the start of a part, and the size of the whole, if given.
    package var contentRange: (first: UInt64, total: UInt64?)? {
        guard let text = field("content-range"), text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].split(separator: "-").first.flatMap({ UInt64($0) }) else {
            return nil
        }
        return (first, UInt64(parts[1]))
    }

    /// Identifies the content for a later request: a strong entity tag, or the time of the last change.
    package var validator: String? {
        if let tag = field("etag"), tag.hasPrefix("\""), tag.utf8.count <= 200, !tag.utf8.contains(where: { $0 < 0x20 })
        {
            return tag
        }
        return field("last-modified").flatMap { $0.utf8.count <= 64 ? $0 : nil }
    }

    /// The pause that the server asks for, in milliseconds; dates are ignored.
    package var retryAfter: Int64? {
        field("retry-after").flatMap { Int64($0) }.map { min(max(0, $0), 86_400) * 1_000 }
    }

    /// The content's type without its parameters, in lower case.
    package var contentType: String? {
        field("content-type")?.split(separator: ";").first.map {
            String(decoding: trimmedBlanks(Array($0.lowercased().utf8)), as: UTF8.self)
        }
    }

    /// Whether a request with this status may succeed later.
    package var isTemporary: Bool { [408, 425, 429].contains(status) || (500...599).contains(status) }
}
