extension BytePath {
    /// The path for display: printable UTF-8 unchanged, everything else as C escapes.
    ///
    /// Control characters, line separators, direction overrides, invisible marks, invalid UTF-8 and the backslash
    /// itself are escaped, so no name can forge a line, move a cursor or pose as another name. The result is one line;
    /// ``init(escaped:)`` reverses it.
    public var escaped: String { escapeForDisplay(bytes) }

    /// Reverses ``escaped``; nil if `text` holds an escape that `escaped` does not write.
    public init?(escaped text: String) {
        var out: [UInt8] = []
        var rest = Substring(text).utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                out.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\\"): out.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "n"): out.append(0x0A)
            case UInt8(ascii: "r"): out.append(0x0D)
            case UInt8(ascii: "t"): out.append(0x09)
            case UInt8(ascii: "x"):
                guard rest.count >= 2, let digits = String(rest.prefix(2)), let value = UInt8(digits, radix: 16) else {
                    return nil
                }
                rest = rest.dropFirst(2)
                out.append(value)
            default: return nil
            }
        }
        self.init(out)
    }
}

/// Any bytes as one line of printable text; see ``BytePath/escaped``.
public func escapeForDisplay(_ bytes: some Collection<UInt8>) -> String {
    var text = ""
    text.reserveCapacity(bytes.count)
    var decoder = UTF8Walker(bytes)
    while let step = decoder.next() {
        switch step {
        case .scalar(let scalar) where scalar == "\\": text += "\\\\"
        case .scalar(let scalar) where scalar == "\n": text += "\\n"
        case .scalar(let scalar) where scalar == "\r": text += "\\r"
        case .scalar(let scalar) where scalar == "\t": text += "\\t"
        case .scalar(let scalar) where isUnsafeForDisplay(scalar): text += hexEscapes(String(scalar).utf8)
        case .scalar(let scalar): text.unicodeScalars.append(scalar)
        case .invalid(let byte): text += hexEscapes([byte])
        }
    }
    return text
}

private func hexEscapes(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 0x10 ? "\\x0" : "\\x") + String($0, radix: 16) }.joined()
}

/// Whether a scalar is invisible or moves the text after it: control (Cc), format (Cf: direction overrides, zero-width
/// marks), line and paragraph separators (Zl, Zp), private, unassigned.
private func isUnsafeForDisplay(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return true
    default: return false
    }
}

/// Decodes UTF-8 and returns each invalid byte as itself, which `String(decoding:)` would replace.
private struct UTF8Walker {
    enum Step {
        case scalar(Unicode.Scalar)
        case invalid(UInt8)
    }

    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: some Collection<UInt8>) { self.bytes = Array(bytes) }

    mutating func next() -> Step? {
        guard position < bytes.count else { return nil }
        let first = bytes[position]
        let length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0
        if length > 0, position + length <= bytes.count,
            let text = String(validating: bytes[position..<(position + length)], as: UTF8.self),
            let scalar = text.unicodeScalars.first
        {
            position += length
            return .scalar(scalar)
        }
        position += 1
        return .invalid(first)
    }
}
