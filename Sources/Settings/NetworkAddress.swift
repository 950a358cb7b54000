/// The IP address of a connection: 4 or 16 bytes. A value.
package struct NetworkAddress: Hashable, Sendable, CustomStringConvertible {
    /// In network order.
    let bytes: [UInt8]
    /// Nil unless there are 4 or 16 bytes, in network order.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Why it is not a public address of the Internet; nil if it is.
    ///
    /// Follows IANA's registries of special-purpose addresses (RFC 6890). An address that embeds another one counts as
    /// that one. Of IPv6 only addresses allocated as global unicast are accepted, so that unknown kinds are refused.
    package var privateReason: String? {
        if bytes.count == 4 { return Self.reason(version4: bytes) }
        if let inner = embedded { return Self.reason(version4: inner) }
        let networks = Self.version6
        if let found = networks.first(where: { isIn($0.prefix, $0.length) }) { return found.what }
        return isIn([0x20], 3) ? nil : "not an address of the Internet"
    }

    /// The IPv4 address in a mapped (::ffff:0:0/96) or translated one (64:ff9b::/96), to which the connection is made.
    fileprivate var embedded: [UInt8]? {
        let isMapped = isIn([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], 96)
        let isTranslated = isIn([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0], 96)
        return isMapped || isTranslated ? Array(bytes[12...]) : nil
    }

    func isIn(_ prefix: [UInt8], _ length: Int) -> Bool {
        for bit in 0..<length {
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            let wanted = bit / 8 < prefix.count ? prefix[bit / 8] : 0
            if (bytes[bit / 8] ^ wanted) & mask != 0 { return false }
        }
        return true
    }

    private static func reason(version4 bytes: [UInt8]) -> String? {
        let address = NetworkAddress(bytes)
        return version4.first { address?.isIn($0.prefix, $0.length) == true }?.what
    }

    private typealias Network = (prefix: [UInt8], length: Int, what: String)

    private static let version4: [Network] = [
        ([0], 8, "this machine"), ([10], 8, "a private network"), ([100, 64], 10, "a provider's own network"),
        ([127], 8, "this machine"), ([169, 254], 16, "a link's own address"), ([172, 16], 12, "a private network"),
        ([192, 0, 0], 24, "a protocol's own address"), ([192, 0, 2], 24, "an example"),
        ([192, 88, 99], 24, "a relay of 6to4"), ([192, 168], 16, "a private network"),
        ([198, 18], 15, "a network for measuring"), ([198, 51, 100], 24, "an example"),
        ([203, 0, 113], 24, "an example"), ([224], 4, "a multicast address"), ([240], 4, "reserved"),
    ]

    private static let version6: [Network] = [
        ([], 128, "this machine"), ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 128, "this machine"),
        ([], 96, "an outdated form of version 4"), ([0, 0x64, 0xFF, 0x9B, 0, 1], 48, "a private network"),
        ([1], 64, "a place where packets are dropped"), ([0x20, 0x01, 0], 23, "a protocol's own address"),
        ([0x20, 0x01, 0x0D, 0xB8], 32, "an example"), ([0x20, 0x02], 16, "6to4"), ([0x3F, 0xFF], 20, "an example"),
        ([0x5F], 16, "a network's own segments"), ([0xFC], 7, "a private network"),
        ([0xFE, 0x80], 10, "a link's own address"), ([0xFE, 0xC0], 10, "a private network"),
        ([0xFF], 8, "a multicast address"),
    ]

    /// `192.168.1.4`, `2001:db8:0:0:0:0:0:1`.
    package var description: String {
        if bytes.count == 4 { return bytes.map { "\($0)" }.joined(separator: ".") }
        return stride(from: 0, to: 16, by: 2).map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
            .joined(separator: ":")
    }
}

/// A network, as it is written in the configuration: `192.168.1.0/24`, `fd00::/8`, or one address. A value.
package struct NetworkRange: Hashable, Sendable, Codable, CustomStringConvertible {
    private let prefix: [UInt8]
    private let length: Int
    /// As it was written.
    package let description: String
    /// Nil for an invalid network: a number out of bounds, or bits after the prefix.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first else { return nil }
        let bytes = first.contains(":") ? Self.version6(first) : Self.version4(first)
        guard let bytes, let address = NetworkAddress(bytes) else { return nil }
        let length = parts.count > 1 ? Self.number(parts[1], radix: 10, most: bytes.count * 8) : bytes.count * 8
        guard let length, address.isZero(after: length) else { return nil }
        (self.prefix, self.length, description) = (bytes, length, text)
    }

    /// Whether `address`, or the IPv4 address that it embeds, is in this network.
    package func contains(_ address: NetworkAddress) -> Bool {
        let same = address.bytes.count == prefix.count ? address : address.embeddedAddress
        guard let same, same.bytes.count == prefix.count else { return false }
        return same.isIn(prefix, length)
    }

    private static func version4(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { number($0, radix: 10, most: 255).map { UInt8($0) } }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    private static func version6(_ text: Substring) -> [UInt8]? {
        // "::" represents the missing groups, which are zero.
        var halves: [[UInt8]] = []
        var rest = text
        while let range = firstGap(in: rest) {
            guard let half = groups(rest[..<range.lowerBound]) else { return nil }
            halves.append(half)
            rest = rest[range.upperBound...]
        }
        guard halves.count <= 1, let last = groups(rest) else { return nil }
        guard let first = halves.first else { return last.count == 16 ? last : nil }
        guard first.count + last.count <= 14 else { return nil }
        return first + Array(repeating: 0, count: 16 - first.count - last.count) + last
    }

    private static func firstGap(in text: Substring) -> Range<Substring.Index>? {
        for index in text.indices where text[index] == ":" {
            let next = text.index(after: index)
            if next < text.endIndex, text[next] == ":" { return index..<text.index(after: next) }
        }
        return nil
    }

    private static func groups(_ text: Substring) -> [UInt8]? {
        if text.isEmpty { return [] }
        var bytes: [UInt8] = []
        for part in text.split(separator: ":", omittingEmptySubsequences: false) {
            guard part.utf8.count <= 4, let value = number(part, radix: 16, most: 0xFFFF) else { return nil }
            bytes += [UInt8(value >> 8), UInt8(value & 255)]
        }
        return bytes
    }

    /// Digits and nothing else.
    private static func number(_ text: Substring, radix: Int, most: Int) -> Int? {
        guard text.first != "+", text.first != "-", let value = Int(text, radix: radix), value <= most else {
            return nil
        }
        return value
    }
}

extension NetworkAddress {
    /// The IPv4 address that this IPv6 address embeds.
    var embeddedAddress: NetworkAddress? { bytes.count == 16 ? embedded.flatMap { NetworkAddress($0) } : nil }

    func isZero(after length: Int) -> Bool {
        (length..<bytes.count * 8).allSatisfy { bytes[$0 / 8] & UInt8(0x80) >> UInt8($0 % 8) == 0 }
    }
}
