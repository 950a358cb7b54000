import Settings
import Testing

@Suite("Network addresses and ranges")
struct NetworkAddressTests {
    /// Reads an address like `inet_pton`, independently of the tested code.
    private func parsed(_ text: String) -> NetworkAddress? {
        if !text.contains(":") { return NetworkAddress(text.split(separator: ".").compactMap { UInt8($0) }) }
        let halves = text.split(separator: "::", omittingEmptySubsequences: false).map(String.init)
        let groups = { (text: String) in
            text.split(separator: ":").flatMap { group -> [UInt8] in
                let value = UInt16(group, radix: 16) ?? 0
                return [UInt8(value >> 8), UInt8(value & 255)]
            }
        }
        let first = groups(halves[0])
        let last = halves.count > 1 ? groups(halves[1]) : []
        return NetworkAddress(first + Array(repeating: 0, count: 16 - first.count - last.count) + last)
    }

    @Test(
        "The first and last addresses of private networks are private",
        arguments: [
            "0.0.0.0", "0.255.255.255", "10.0.0.1", "10.255.255.255", "100.64.0.0", "100.127.255.255", "127.0.0.1",
            "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1",
            "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255", "198.51.100.7",
            "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::a00:1",
            "::ffff:7f00:1", "::ffff:c0a8:1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1",
            "100::1", "2001::1", "2001:1ff::1", "2001:db8::1", "2002:7f00:1::1", "2002:808:808::1", "3fff::1",
            "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "4000::1", "1::1",
        ])
    func isPrivate(_ text: String) throws {
        let address = try #require(parsed(text))
        #expect(address.privateReason != nil)
    }

    @Test(
        "Other addresses, including those next to private networks, are public",
        arguments: [
            "1.0.0.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
            "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
            "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255", "8.8.8.8", "::ffff:808:808",
            "64:ff9b::808:808", "2001:200::1", "2001:4860:4860::8888", "2600::1", "2003::1", "3ffe::1",
        ])
    func isPublic(_ text: String) throws {
        let address = try #require(parsed(text))
        #expect(address.privateReason == nil, "\(address.privateReason ?? "")")
    }

    @Test("Only 4 or 16 bytes are an address")
    func lengths() {
        for count in [0, 3, 5, 15, 17] { #expect(NetworkAddress(Array(repeating: 8, count: count)) == nil) }
    }

    @Test(
        "A network contains its first and last addresses, and none next to them",
        arguments: [
            ("192.168.1.0/24", ["192.168.1.0", "192.168.1.255"], ["192.168.0.255", "192.168.2.0"]),
            ("127.0.0.1", ["127.0.0.1", "::ffff:7f00:1"], ["127.0.0.2", "::1"]),
            ("fd00::/8", ["fd00::", "fdff::ffff"], ["fc00::1", "fe00::1", "10.0.0.1"]),
            ("::1", ["::1"], ["::2", "127.0.0.1"]), ("0.0.0.0/0", ["10.0.0.1", "255.255.255.255"], ["fd00::1"]),
            ("1:2:3:4:5:6:7:8", ["1:2:3:4:5:6:7:8"], ["1:2:3:4:5:6:7:9"]),
        ])
    func networks(_ text: String, _ inside: [String], _ outside: [String]) throws {
        let range = try #require(NetworkRange(text))
        for one in inside { #expect(range.contains(try #require(parsed(one))), "\(one)") }
        for one in outside { #expect(!range.contains(try #require(parsed(one))), "\(one)") }
        let limits = FetchLimits(allowed: [range])
        for one in inside { #expect(limits.refusal(of: try #require(parsed(one))) == nil) }
    }

    @Test(
        "An invalid network is refused",
        arguments: [
            "", "/", "192.168.1.0/33", "192.168.1.1/24", "192.168.1/24", "192.168.1.0/", "192.168.1.256", "a.b.c.d",
            "192.168.1.0/24/8", "fd00::1/8", "fd00::/129", ":::", "1::2::3", "12345::", "1:2:3:4:5:6:7", "+1.2.3.4",
            "1.2.3.-4", "1:2:3:4:5:6:7:8:9", "localhost", "10.0.0.0/+8",
        ])
    func invalidNetworks(_ text: String) { #expect(NetworkRange(text) == nil) }
}
