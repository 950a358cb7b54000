/// What a server says before it sends: the lines of one response's head. Hostile bytes; a value.
package struct ResponseHead: Hashable, Sendable {
    package private(set) var status = 0
    /// All lines have come.
    package private(set) var isWhole = false
    private var fields: [String: [UInt8]] = [:]
    private var bytes = 0

    /// Of all lines of a response.
    private static let longest = 64 << 10

    package init() {}

    /// Takes a line, its end included; a status line begins anew. False if there are too many.
    package mutating func take(_ line: some Collection<UInt8>) -> Bool {
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
            let name = line[..<colon].map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            // Of two the first counts.
            let key = String(decoding: name, as: UTF8.self)
            if fields[key] == nil { fields[key] = trimmedBlanks(Array(line[(colon + 1)...])) }
        }
        return bytes <= Self.longest
    }

    /// A field by its name in lower case.
    package func field(_ name: String) -> String? { fields[name].map { String(decoding: $0, as: UTF8.self) } }
    /// The same, as it came.
    package func bytes(_ name: String) -> [UInt8]? { fields[name] }

    /// How many bytes follow; nil where that is not said, or in a way that nobody can rely on.
    package var contentLength: UInt64? {
        field("transfer-encoding") == nil ? field("content-length").flatMap { UInt64($0) } : nil
    }

    /// `bytes FIRST-LAST/TOTAL`: where a part begins, and how large the whole is, if that is said.
    package var contentRange: (first: UInt64, total: UInt64?)? {
        guard let text = field("content-range"), text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = parts[0].split(separator: "-").first.flatMap({ UInt64($0) }) else {
            return nil
        }
        return (first, UInt64(parts[1]))
    }

    /// What tells whether a later response is of the same bytes: a strong entity tag, or the time of the last change.
    package var validator: String? {
        if let tag = field("etag"), tag.hasPrefix("\""), tag.utf8.count <= 200, !tag.utf8.contains(where: { $0 < 0x20 })
        {
            return tag
        }
        return field("last-modified").flatMap { $0.utf8.count <= 64 ? $0 : nil }
    }

    /// How long the server wants to be left alone, in milliseconds; dates are not read.
    package var retryAfter: Int64? {
        field("retry-after").flatMap { Int64($0) }.map { min(max(0, $0), 86_400) * 1_000 }
    }

    /// The content's type without its parameters, in lower case.
    package var contentType: String? {
        field("content-type")?.split(separator: ";").first.map {
            String(decoding: trimmedBlanks(Array($0.lowercased().utf8)), as: UTF8.self)
        }
    }

    /// Whether a refusal with this status may be another answer at another time.
    package var mayPass: Bool { [408, 425, 429].contains(status) || (500...599).contains(status) }
}
