/// Placeholders in SQL as `$1`, `$2`, …: `?` in order, or `?1`, `?2` … by number. What is in strings, quoted names,
/// comments and dollar quotes is none.
struct Placeholders {
    private(set) var sql: String

    init(_ source: String) throws(PostgresError) {
        let bytes = Array(source.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16)
        var count = 0
        var isNumbered: Bool?
        var at = 0
        while at < bytes.count {
            let end = Self.endOfQuoted(bytes, at)
            if end > at {
                result += bytes[at..<end]
                at = end
                continue
            }
            guard bytes[at] == UInt8(ascii: "?") else {
                result.append(bytes[at])
                at += 1
                continue
            }
            let digits = bytes[(at + 1)...].prefix { Self.digits.contains($0) }
            guard isNumbered == nil || isNumbered == !digits.isEmpty else {
                throw PostgresError(.other, "a statement has placeholders with numbers and without: use one kind")
            }
            isNumbered = !digits.isEmpty
            count += 1
            let number = digits.isEmpty ? count : Int(String(decoding: digits, as: UTF8.self)) ?? 0
            // The protocol counts arguments in 16 bits.
            guard (1...65_535).contains(number) else {
                throw PostgresError(.other, "the number of a placeholder is not within 1…65535")
            }
            result += "$\(number)".utf8
            at += 1 + digits.count
        }
        sql = String(decoding: result, as: UTF8.self)
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// Where what is quoted from `start` on ends; `start` if nothing is.
    private static func endOfQuoted(_ bytes: [UInt8], _ start: Int) -> Int {
        func byte(_ index: Int) -> UInt8 { bytes.indices.contains(index) ? bytes[index] : 0 }
        switch byte(start) {
        case UInt8(ascii: "'"):
            // Backslashes escape only in E'…'.
            let escapes = byte(start - 1) | 0x20 == UInt8(ascii: "e") && !isName(byte(start - 2))
            return end(of: byte(start), bytes, start + 1, escapes: escapes)
        case UInt8(ascii: "\""):
            return end(of: byte(start), bytes, start + 1, escapes: false)
        case UInt8(ascii: "-") where byte(start + 1) == UInt8(ascii: "-"):
            return bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        case UInt8(ascii: "/") where byte(start + 1) == UInt8(ascii: "*"):
            return endOfComment(bytes, start)
        case UInt8(ascii: "$") where !isName(byte(start - 1)):
            return endOfDollarQuote(bytes, start)
        default:
            return start
        }
    }

    private static func isName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    /// A doubled quote ends and begins again, which is the same here.
    private static func end(of quote: UInt8, _ bytes: [UInt8], _ start: Int, escapes: Bool) -> Int {
        var at = start
        while at < bytes.count {
            if escapes, bytes[at] == UInt8(ascii: "\\") {
                at += 1
            } else if bytes[at] == quote {
                // In E'…' a doubled quote goes on, with the same escapes.
                guard escapes, at + 1 < bytes.count, bytes[at + 1] == quote else { return at + 1 }
                at += 1
            }
            at += 1
        }
        return bytes.count
    }

    private static func endOfComment(_ bytes: [UInt8], _ start: Int) -> Int {
        var depth = 0
        var at = start
        while at + 1 < bytes.count {
            switch (bytes[at], bytes[at + 1]) {
            case (UInt8(ascii: "/"), UInt8(ascii: "*")):
                depth += 1
                at += 2
            case (UInt8(ascii: "*"), UInt8(ascii: "/")):
                depth -= 1
                at += 2
                if depth == 0 { return at }
            default:
                at += 1
            }
        }
        return bytes.count
    }

    private static func endOfDollarQuote(_ bytes: [UInt8], _ start: Int) -> Int {
        guard let mark = bytes[(start + 1)...].firstIndex(where: { !isName($0) || $0 == UInt8(ascii: "$") }),
            bytes[mark] == UInt8(ascii: "$"), !digits.contains(bytes[start + 1])
        else { return start }
        let tag = bytes[start...mark]
        var at = mark + 1
        while at + tag.count <= bytes.count {
            if bytes[at..<at + tag.count] == tag { return at + tag.count }
            at += 1
        }
        return bytes.count
    }
}
