import FileValues
import Testing

@Suite("BytePath")
struct BytePathTests {
    @Test(
        "Names, parents, stems and extensions",
        arguments: [
            ("/srv/inbox/IMG_1.CR3", "IMG_1.CR3", "/srv/inbox", "IMG_1", "cr3"),
            ("IMG_1.jpg", "IMG_1.jpg", "", "IMG_1", "jpg"),
            ("/IMG", "IMG", "/", "IMG", ""),
            ("a/.hidden", ".hidden", "a", ".hidden", ""),
            ("a/b/", "b", "a", "b", ""),
            ("/", "", "", "", ""),
            ("x.tar.GZ", "x.tar.GZ", "", "x.tar", "gz"),
        ])
    func parts(path: String, name: String, parent: String, stem: String, ending: String) {
        let path = BytePath(path)
        #expect(path.name == BytePath(name))
        #expect(path.parent == BytePath(parent))
        #expect(path.stem == BytePath(stem))
        #expect(path.lowercasedExtension == Array(ending.utf8))
    }

    @Test("isInside and relative(to:) compare whole names")
    func containment() {
        #expect(BytePath("/a/b/c").isInside("/a/b"))
        #expect(!BytePath("/a/bc").isInside("/a/b"))
        #expect(BytePath("/a/b/c/d").relative(to: "/a/b") == "c/d")
        #expect(BytePath("/a/b").relative(to: "/a/b") == "")
        #expect(BytePath("a/b").relative(to: "/a") == nil)
    }

    @Test("Paths that are empty, absolute or hold dots are not safe", arguments: ["", "/a", "..", "a/../b", "./a"])
    func unsafe(path: String) { #expect(!BytePath(path).isSafeBeneath) }

    @Test("A NUL ends the path")
    func nul() { #expect(BytePath([0x61, 0, 0x62]) == "a") }

    @Test("Every byte survives escaping, and no escaped name spans lines")
    func roundTrip() throws {
        var generator = SystemRandomNumberGenerator()
        for round in 0..<2_000 {
            let bytes = (0..<Int.random(in: 0...255, using: &generator)).map { _ in
                UInt8.random(in: 1...255, using: &generator)
            }
            let path = BytePath(round == 0 ? Array(1...255) : bytes)
            let shown = path.escaped
            #expect(BytePath(escaped: shown) == path)
            #expect(!shown.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F || $0 == "\u{2028}" })
        }
    }

    @Test(
        "Names that would forge a line or pose as others are escaped",
        arguments: [
            ("a\nb", "a\\nb"), ("\u{1B}[31m", "\\x1b[31m"), ("a\\b", "a\\\\b"), ("x\u{202E}gpj", "x\\xe2\\x80\\xaegpj"),
            ("caf\u{E9}", "café"), ("🌊.jpg", "🌊.jpg"),
        ])
    func escapes(raw: String, shown: String) { #expect(BytePath(raw).escaped == shown) }

    @Test("Invalid bytes are escaped in hexadecimal, and malformed escapes are refused")
    func invalidBytes() {
        #expect(BytePath([0x61, 0xFF, 0xC3]).escaped == "a\\xff\\xc3")
        #expect(BytePath(escaped: "\\q") == nil)
        #expect(BytePath(escaped: "\\x4") == nil)
    }
}
