/// A value of JSON. RFC 8259.
indirect enum JSONNode: Equatable {
    case object([String: JSONNode])
    case array([JSONNode])
    case text(String)
    case number(Double)
    case truth(Bool)
    case null

    subscript(_ key: String) -> JSONNode? { if case .object(let fields) = self { fields[key] } else { nil } }

    var text: String? { if case .text(let text) = self { text } else { nil } }
    var number: Double? { if case .number(let number) = self { number } else { nil } }
    var items: [JSONNode] { if case .array(let items) = self { items } else { [] } }

    /// Reads one value; nil if `bytes` are not JSON, or are nested deeper than 32 levels. The module has no Foundation.
    init?(_ bytes: [UInt8]) {
        var reader = JSONReader(bytes: bytes[...].starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...])
        guard let value = reader.value(depth: 0) else { return nil }
        self = value
    }
}

private struct JSONReader {
    var bytes: ArraySlice<UInt8>

    mutating func value(depth: Int) -> JSONNode? {
        skipSpaces()
        guard depth < 32, let first = bytes.first else { return nil }
        switch first {
        case UInt8(ascii: "{"):
            var fields: [String: JSONNode] = [:]
            let isWhole = list(until: UInt8(ascii: "}")) { reader in
                reader.skipSpaces()
                guard let key = reader.string() else { return false }
                reader.skipSpaces()
                guard reader.bytes.popFirst() == UInt8(ascii: ":"), let value = reader.value(depth: depth + 1) else {
                    return false
                }
                fields[key] = value
                return true
            }
            return isWhole ? .object(fields) : nil
        case UInt8(ascii: "["):
            var items: [JSONNode] = []
            let isWhole = list(until: UInt8(ascii: "]")) { reader in
                guard let value = reader.value(depth: depth + 1) else { return false }
                items.append(value)
                return true
            }
            return isWhole ? .array(items) : nil
        case UInt8(ascii: "\""): return string().map { .text($0) }
        default:
            let word = bytes.prefix { $0 > 0x20 && !",]}".utf8.contains($0) }
            bytes = bytes[word.endIndex...]
            switch String(decoding: word, as: UTF8.self) {
            case "true": return .truth(true)
            case "false": return .truth(false)
            case "null": return .null
            case let text: return Double(text).flatMap { $0.isFinite ? .number($0) : nil }
            }
        }
    }

    /// Reads elements with commas between them, and the brackets around them.
    private mutating func list(until end: UInt8, element: (inout JSONReader) -> Bool) -> Bool {
        bytes = bytes.dropFirst()
        skipSpaces()
        if bytes.first == end { return bytes.popFirst() != nil }
        while element(&self) {
            skipSpaces()
            guard let next = bytes.popFirst() else { return false }
            if next == end { return true }
            guard next == UInt8(ascii: ",") else { return false }
        }
        return false
    }

    private mutating func string() -> String? {
        guard bytes.popFirst() == UInt8(ascii: "\"") else { return nil }
        var text: [UInt8] = []
        var units: [UInt16] = []
        while let byte = bytes.popFirst() {
            if !units.isEmpty, byte != UInt8(ascii: "\\") || bytes.first != UInt8(ascii: "u") {
                text += String(decoding: units, as: UTF16.self).utf8
                units = []
            }
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = bytes.popFirst() else { return nil }
                switch escaped {
                case UInt8(ascii: "n"): text.append(0x0A)
                case UInt8(ascii: "t"): text.append(0x09)
                case UInt8(ascii: "r"): text.append(0x0D)
                case UInt8(ascii: "b"): text.append(0x08)
                case UInt8(ascii: "f"): text.append(0x0C)
                case UInt8(ascii: "u"):
                    // Two of them may be one character.
                    guard let unit = UInt16(String(decoding: bytes.prefix(4), as: UTF8.self), radix: 16) else {
                        return nil
                    }
                    bytes = bytes.dropFirst(4)
                    units.append(unit)
                default: text.append(escaped)
                }
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func skipSpaces() {
        while let byte = bytes.first, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { bytes = bytes.dropFirst() }
    }
}
