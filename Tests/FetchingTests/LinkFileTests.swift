import Fetching
import FileValues
import Foundation
import HTTPValues
import Settings
import Testing

@Suite("Addresses and files of links")
struct LinkFileTests {
    @Test(
        "Addresses are taken as they are asked for",
        arguments: [
            ("https://example.org/a.jpg", "https://example.org/a.jpg", "a.jpg"),
            ("  HTTP://Example.org:8080/x/b%20c.jpg?q=1#top\r\n", "http://Example.org:8080/x/b%20c.jpg?q=1", "b c.jpg"),
            ("https://example.org", "https://example.org", ""),
            ("https://example.org?x=/y.jpg", "https://example.org/?x=/y.jpg", ""),
            ("https://example.org/ä.jpg", "https://example.org/%C3%A4.jpg", "ä.jpg"),
            ("https://[2600::1]/a%2Fb.jpg", "https://[2600::1]/a%2Fb.jpg", "a/b.jpg"),
            ("https://e.org/{x}\"<>", "https://e.org/%7Bx%7D%22%3C%3E", "{x}\"<>"),
        ])
    func taken(_ text: String, _ address: String, _ name: String) throws {
        let found = try WebAddress(text)
        #expect(found.text == address)
        #expect(String(decoding: found.lastName, as: UTF8.self) == name)
    }

    @Test(
        "Everything else is refused",
        arguments: [
            "", "   ", "ftp://example.org/a", "file:///etc/passwd", "example.org/a.jpg", "http://", "http:///a",
            "http://?a",
            "http://user:secret@example.org/", "http://user@example.org/", "http://exa mple.org/", "http://e.org/a b",
            "http://e.org/a\u{0}b", "http://e.org/a\nb", "http://ex\u{E4}mple.org/", "http://e.org\\@evil.org/",
            "http://:80/", "gopher://e.org", "javascript:alert(1)", "http://e.org%00.evil.org/",
        ])
    func refused(_ text: String) {
        #expect(throws: AddressRefusal.self) { try WebAddress(text) }
    }

    @Test("An address over the limit is refused, one at the limit is not")
    func long() throws {
        let base = "http://example.org/"
        let longest = base + String(repeating: "a", count: WebAddress.longest - base.utf8.count)
        _ = try WebAddress(longest)
        #expect(throws: AddressRefusal.self) { try WebAddress(longest + "a") }
    }

    private func read(_ kind: LinkFile, _ text: String) throws -> [String] {
        try kind.read(Array(text.utf8)).map { try $0.address.get().text }
    }

    @Test("Shortcuts, property lists and lists are read")
    func files() throws {
        #expect(
            try read(
                .url,
                "[{000214A0}]\r\nURL=http://no.org/\r\n[InternetShortcut]\r\nIconIndex=0\r\n url = http://a.org/1.jpg\r\n"
            )
                == ["http://a.org/1.jpg"])
        #expect(
            try read(
                .webloc,
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
                <plist version="1.0"><dict>
                <key>URL</key>
                <string>http://a.org/?a=1&amp;b=&#x32;</string>
                </dict></plist>
                """) == ["http://a.org/?a=1&b=2"])
        #expect(
            try read(.links, "\u{FEFF}# my trip\n\nhttp://a.org/1\r\n  http://a.org/2  \nhttp://a.org/3")
                == ["http://a.org/1", "http://a.org/2", "http://a.org/3"])
    }

    /// Made by Python's plistlib; the second has a text in UTF-16.
    static let binary = [
        "YnBsaXN0MDDRAQJTVVJMXxAVaHR0cDovL2Eub3JnLz9hPTEmYj0yCAsPAAAAAAAAAQEAAAAAAAAAAwAAAAAAAAAAAAAAAAAAACc=",
        "YnBsaXN0MDDSAQIDBFROYW1lU1VSTFF4bgBoAHQAdABwADoALwAvAGEALgBvAHIAZwAvAOkIDRIWGAAAAAAAAAEBAAAAAAAAAAUAAAAAAAAAAAAAAAAA"
            + "AAA1",
    ].map { Array(Data(base64Encoded: $0) ?? Data()) }

    @Test("Binary property lists are read; truncated ones are refused or empty")
    func binaryLists() throws {
        let addresses = try Self.binary.map { try LinkFile.webloc.read($0)[0].address.get().text }
        #expect(addresses == ["http://a.org/?a=1&b=2", "http://a.org/%C3%A9"])
        for bytes in Self.binary {
            for length in 8..<bytes.count {
                #expect(throws: LinkFileRefusal.self) { try LinkFile.webloc.read(Array(bytes[..<length])) }
            }
            // Offsets and lengths that lie in every way a byte can.
            for place in 8..<bytes.count {
                for value in UInt8.min...UInt8.max {
                    var changed = bytes
                    changed[place] = value
                    for line in (try? LinkFile.webloc.read(changed)) ?? [] {
                        guard let address = try? line.address.get() else { continue }
                        #expect(address.text.utf8.count <= WebAddress.longest)
                    }
                }
            }
        }
    }

    @Test("Mistakes in a list are reported by line, and the rest is read")
    func lines() throws {
        let lines = try LinkFile.links.read(Array("http://a.org/1\n# x\nnonsense\nhttp://a.org/2\n".utf8))
        #expect(lines.map(\.number) == [1, 3, 4])
        #expect(lines.map { (try? $0.address.get()) != nil } == [true, false, true])
    }

    @Test(
        "What is no such file is refused with a reason",
        arguments: [
            (LinkFile.webloc, "bplist00\u{1}", "cut short"), (.webloc, "<plist/>", "no address"),
            (.webloc, "<key>URL</key><string>http://a.org/", "no address"), (.url, "URL=http://a.org/", "no address"),
            (.url, "[InternetShortcut]", "no address"), (.links, "# nothing\n", "no address"),
            (.links, "", "no address"),
        ])
    func noFiles(_ kind: LinkFile, _ text: String, _ reason: String) throws {
        let refusal = try #require(throws: LinkFileRefusal.self) { try kind.read(Array(text.utf8)) }
        #expect(refusal.description.contains(reason))
    }

    @Test("Declared entities are not expanded; UTF-16 and large files are refused")
    func hostile() throws {
        let bomb = "<key>URL</key><string>http://a.org/&lol9;</string>"
        let found = try LinkFile.webloc.read(Array(bomb.utf8))
        #expect((try? found[0].address.get()) == nil)
        #expect(throws: LinkFileRefusal.self) { try LinkFile.url.read([0xFF, 0xFE, 0x5B, 0]) }
        for kind in LinkFile.allCases {
            let refusal = #expect(throws: LinkFileRefusal.self) {
                try kind.read(Array(repeating: 0x20, count: kind.longest + 1))
            }
            #expect(refusal?.description.contains("larger") == true)
        }
        let many = String(repeating: "http://a.org/\n", count: FetchLimits.mostAddresses + 1)
        #expect(throws: LinkFileRefusal.self) { try LinkFile.links.read(Array(many.utf8)) }
    }

    @Test("Random bytes and mutated files never trap")
    func fuzz() {
        var generator = SystemRandomNumberGenerator()
        let seeds = [
            "[InternetShortcut]\nURL=http://a.org/1.jpg", "<key>URL</key><string>http://a.org/&amp;&#65;</string>",
            "http://a.org/%41?x#y\nhttps://b.org:1/",
        ].map { Array($0.utf8) }
        for round in 0..<6_000 {
            var bytes = seeds[round % 3]
            for _ in 0..<Int.random(in: 0...8, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[place] = .random(in: 0...255, using: &generator)
                case 1: bytes.insert(.random(in: 0...255, using: &generator), at: place)
                default: if bytes.count > 1 { bytes.remove(at: place) }
                }
            }
            for kind in LinkFile.allCases {
                for line in (try? kind.read(bytes)) ?? [] {
                    guard let address = try? line.address.get() else { continue }
                    // What is taken can be asked for as one line, and comes back as itself.
                    #expect(address.text.utf8.allSatisfy { (0x21..<0x7F).contains($0) })
                    #expect((try? WebAddress(address.text)) == address)
                }
            }
        }
    }

    @Test("The extension, in either case, determines the kind")
    func kinds() {
        #expect(LinkFile(name: "a/Trip.URL") == .url)
        #expect(LinkFile(name: "x.webloc") == .webloc)
        #expect(LinkFile(name: "x.links") == .links)
        #expect(LinkFile(name: "x.link") == nil)
        #expect(LinkFile(name: ".links") == nil)
    }
}
