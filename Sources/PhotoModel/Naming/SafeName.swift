package import FileValues

/// A file's name made safe for any library: one component, not empty, not `.` or `..`, not hidden, valid UTF-8 without
/// control characters or direction overrides, at most 255 bytes with any suffix.
package struct SafeName: Hashable, Sendable {
    /// The longest name on Linux file systems, in bytes. See pathconf(3), NAME_MAX.
    package static let longest = 255
    /// A longer extension counts as a part of the name.
    private static let longestExtension = 32

    /// The name up to the extension's dot.
    private let stem: [UInt8]
    /// The extension with its dot, or empty.
    private let ending: [UInt8]

    /// Makes the last component of `original` safe. Unsafe bytes become `%` and two hexadecimal digits.
    package init(_ original: BytePath) {
        var safe = escapeUnsafe(original.name.bytes)
        if safe.isEmpty { safe = [UInt8(ascii: "_")] }
        // A hidden file in a library would not be found; this covers "." and ".." too.
        if safe[0] == UInt8(ascii: ".") { safe[0] = UInt8(ascii: "_") }
        if let dot = safe.lastIndex(of: UInt8(ascii: ".")), dot > 0, dot < safe.count - 1,
            safe.count - dot <= Self.longestExtension
        {
            stem = Array(safe[..<dot])
            ending = Array(safe[dot...])
        } else {
            stem = safe
            ending = []
        }
    }

    /// The name itself, or for `number` above 0 the next to try if that many are in use: `IMG_1-1.JPG`, `IMG_1-2.JPG`.
    package func candidate(_ number: UInt64 = 0) -> BytePath {
        let suffix = number == 0 ? [] : Array("-\(number)".utf8)
        let room = Self.longest - suffix.count - ending.count
        return BytePath(Self.cut(stem, to: room) + suffix + ending)
    }

    /// At most `room` bytes from the front, never part of a character.
    private static func cut(_ bytes: [UInt8], to room: Int) -> ArraySlice<UInt8> {
        guard bytes.count > room else { return bytes[...] }
        var end = max(room, 0)
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return bytes[..<end]
    }
}

/// `bytes` as valid UTF-8 without characters that separate paths, move a cursor or change the direction of text.
private func escapeUnsafe(_ bytes: [UInt8]) -> [UInt8] {
    var safe: [UInt8] = []
    safe.reserveCapacity(bytes.count)
    var position = 0
    while position < bytes.count {
        let first = bytes[position]
        let length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0
        let end = position + max(length, 1)
        if length > 0, end <= bytes.count,
            let text = String(validating: bytes[position..<end], as: UTF8.self), let scalar = text.unicodeScalars.first
        {
            let character = Array(bytes[position..<end])
            safe += isUnsafeInName(scalar) ? Array(percentEncoded(character).utf8) : character
            position = end
        } else {
            safe += percentEncoded([first]).utf8
            position += 1
        }
    }
    return safe
}

/// Whether a scalar is a slash, a control character, a line or paragraph separator, or changes the direction of text.
/// Other invisible marks are kept: emoji and several scripts need them.
private func isUnsafeInName(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x2F, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C, 0xFEFF: true
    default: false
    }
}
