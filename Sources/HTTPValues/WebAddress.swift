import FileValues

package struct AddressRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// A clause without a final stop.
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// An address to download from: http or https, of bounded length, in ASCII, with a host and without a password. A value.
package struct WebAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address as requested, without its fragment (`#…`).
    package let text: String
    /// The host, with its port if it has one.
    package let host: String

    package var description: String { text }

    /// The longest address, in bytes.
    package static let longest = 4_096

    /// Reads an address from any bytes, without the blanks around it. Escapes what is not ASCII in its path.
    package init(_ bytes: some Collection<UInt8>) throws(AddressRefusal) {
        let trimmed = trimmedBlanks(Array(bytes))
        guard !trimmed.isEmpty else { throw AddressRefusal("no address") }
        guard trimmed.count <= Self.longest else { throw AddressRefusal("longer than \(Self.longest) bytes") }
        guard !trimmed.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            throw AddressRefusal("it contains a space, which must be written %20, or a control character")
        }
        let lower = trimmed.prefix(8).map(\.asciiLowercased)
        let scheme = ["https://", "http://"].first { lower.starts(with: Array($0.utf8)) }
        guard let scheme else { throw AddressRefusal("not http or https") }
        let rest = trimmed.dropFirst(scheme.utf8.count).prefix { $0 != UInt8(ascii: "#") }
        let authority = rest.prefix { !Array("/?".utf8).contains($0) }
        guard !authority.isEmpty, authority.first != UInt8(ascii: ":") else { throw AddressRefusal("it has no host") }
        // It would be recorded with the photo, and shown to everybody.
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw AddressRefusal("it contains a user name or password")
        }
        guard authority.allSatisfy(Self.isOfHost) else { throw AddressRefusal("the host name is invalid") }
        let path = rest.dropFirst(authority.count)
        host = String(decoding: authority, as: UTF8.self)
        text = scheme + host + (path.first == UInt8(ascii: "?") ? "/" : "") + Self.escaped(path)
    }

    package init(_ text: String) throws(AddressRefusal) { try self.init(Array(text.utf8)) }

    /// The last component of its path, unescaped; empty if there is none.
    package var lastName: [UInt8] {
        let path = text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst(3).drop { $0 != UInt8(ascii: "/") }
            .prefix { $0 != UInt8(ascii: "?") }
        return unescapedPercents(Array(path.reversed().prefix { $0 != UInt8(ascii: "/") }.reversed()))
    }

    /// Letters, digits, `-`, `.`, `_`, a port, and the brackets of IPv6.
    private static func isOfHost(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || "-._:[]".utf8.contains(byte)
    }

    private static func escaped(_ bytes: some Collection<UInt8>) -> String {
        let escaped = bytes.flatMap { (byte: UInt8) -> [UInt8] in
            byte >= 0x80 || "\"<>\\^`{|}".utf8.contains(byte) ? Array(percentEncoded([byte]).utf8) : [byte]
        }
        return String(decoding: escaped, as: UTF8.self)
    }
}

/// Without blanks, tabs and line ends at both ends.
package func trimmedBlanks(_ bytes: [UInt8]) -> [UInt8] {
    let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
    let tail = bytes.drop(while: isBlank)
    return Array(tail.prefix(tail.count - tail.reversed().prefix(while: isBlank).count))
}

/// `%41` as `A`; other text is unchanged.
package func unescapedPercents(_ bytes: [UInt8]) -> [UInt8] {
    var out: [UInt8] = []
    var position = 0
    while position < bytes.count {
        if bytes[position] == UInt8(ascii: "%"), position + 2 < bytes.count,
            let value = UInt8(String(decoding: bytes[position + 1...position + 2], as: UTF8.self), radix: 16)
        {
            out.append(value)
            position += 3
        } else {
            out.append(bytes[position])
            position += 1
        }
    }
    return out
}
