/// What a `Range` field asks for; see RFC 9110 14.
package enum ByteRange: Hashable, Sendable {
    /// No range, one that is malformed, of another unit, or several, which a server may ignore.
    case whole
    /// These bytes: never empty, and within the size.
    case part(Range<UInt64>)
    case unsatisfiable

    package init(_ field: String?, size: UInt64) {
        guard let field, field.utf8.count < 64,
            let equals = field.firstIndex(of: "="), field[..<equals].lowercased() == "bytes"
        else {
            self = .whole
            return
        }
        let ends = field[field.index(after: equals)...].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]) else {
            self = .whole
            return
        }
        self = Self.range(first, last, size)
    }

    private static func range(_ first: UInt64?, _ last: UInt64?, _ size: UInt64) -> ByteRange {
        switch (first, last) {
        case (nil, nil): return .whole
        // The last bytes. All of an empty content is satisfiable, but has no Content-Range.
        case (nil, let count?):
            if count == 0 { return .unsatisfiable }
            return size == 0 ? .whole : .part(size - min(count, size)..<size)
        case (let first?, nil): return first < size ? .part(first..<size) : .unsatisfiable
        case (let first?, let last?):
            if first > last { return .whole }
            return first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
        }
    }

    /// Nil for something else than digits; nil within for no digits.
    private static func number(_ digits: Substring) -> UInt64?? {
        if digits.isEmpty { return .some(nil) }
        // A number of 19 digits fits; a larger one is past the end of everything.
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let significant = digits.drop { $0 == "0" }
        return .some(significant.utf8.count > 18 ? UInt64(Int64.max) : UInt64(significant) ?? 0)
    }
}
