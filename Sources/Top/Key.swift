enum Key: Hashable, Sendable {
    case character(Unicode.Scalar)
    case up, down, left, right, pageUp, pageDown, home, end
    case enter, escape, tab, backTab, backspace
}

/// Parses terminal input into keys. A value without I/O.
///
/// An unknown sequence is skipped as a whole, so that its rest is not mistaken for letters. The escape key sends the byte
/// that sequences begin with: it is a key if nothing follows for a moment, which the caller reports by ``flush()``.
struct KeyParser: Sendable {
    /// The beginning of an incomplete key.
    private var pending: [UInt8] = []

    /// The longest sequence; terminals send no longer ones.
    private static let longest = 16
    private static let escape: UInt8 = 0x1B

    /// Whether an escape character waits for the rest of its sequence.
    var isWaiting: Bool { pending.first == Self.escape }

    /// Adds input; returns the complete keys.
    mutating func add(_ bytes: some Sequence<UInt8>) -> [Key] {
        var keys: [Key] = []
        for byte in bytes {
            pending.append(byte)
            parse(&keys)
        }
        return keys
    }

    /// Ends a sequence: a lone escape character is the escape key.
    mutating func flush() -> [Key] {
        defer { pending = [] }
        return pending.first == Self.escape ? [.escape] : []
    }

    private mutating func parse(_ keys: inout [Key]) {
        guard let first = pending.first else { return }
        if first == Self.escape { return parseSequence(&keys) }
        let length =
            switch first {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            // ASCII, or no beginning of a character.
            default: 1
            }
        guard pending.count >= length else { return }
        if let key = Self.key(of: pending) { keys.append(key) }
        pending = []
    }

    private static func key(of bytes: [UInt8]) -> Key? {
        switch bytes {
        case [0x0A], [0x0D]: return .enter
        case [0x09]: return .tab
        case [0x08], [0x7F]: return .backspace
        default: break
        }
        guard let text = String(validating: bytes, as: UTF8.self), let scalar = text.unicodeScalars.first,
            scalar.properties.generalCategory != .control
        else { return nil }
        return .character(scalar)
    }

    /// `ESC [ … letter`, `ESC O letter`; anything else after it is the escape key and that.
    private mutating func parseSequence(_ keys: inout [Key]) {
        guard pending.count > 1 else { return }
        let introducer = pending[1]
        guard introducer == UInt8(ascii: "[") || introducer == UInt8(ascii: "O") else {
            let rest = pending.dropFirst()
            pending = []
            keys.append(.escape)
            keys += add(rest)
            return
        }
        guard pending.count > 2 else { return }
        let last = pending[pending.count - 1]
        // Parameters and intermediate characters precede the final one.
        if (0x20...0x3F).contains(last), pending.count < Self.longest { return }
        if let key = Self.sequences[String(decoding: pending.dropFirst(2), as: UTF8.self)] { keys.append(key) }
        pending = []
    }

    private static let sequences: [String: Key] = [
        "A": .up, "B": .down, "C": .right, "D": .left, "H": .home, "F": .end, "Z": .backTab, "M": .enter,
        "1~": .home, "7~": .home, "4~": .end, "8~": .end, "5~": .pageUp, "6~": .pageDown,
    ]
}
