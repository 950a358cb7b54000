import HTTPValues
import Testing

@Suite("Ranges of bytes")
struct ByteRangeTests {
    @Test(
        "One range of bytes is served",
        arguments: [
            ("bytes=0-0", .part(0..<1)), ("bytes=0-", .part(0..<10)), ("bytes=9-", .part(9..<10)),
            ("bytes=2-4", .part(2..<5)), ("bytes=2-400", .part(2..<10)), ("Bytes=2-2", .part(2..<3)),
            ("bytes=-3", .part(7..<10)), ("bytes=-30", .part(0..<10)), ("bytes=00-01", .part(0..<2)),
            ("bytes=0-99999999999999999999999", .part(0..<10)), ("bytes=10-", .unsatisfiable),
            ("bytes=10-12", .unsatisfiable), ("bytes=-0", .unsatisfiable),
            ("bytes=99999999999999999999999-", .unsatisfiable),
        ] as [(String, ByteRange)])
    func served(field: String, range: ByteRange) { #expect(ByteRange(field, size: 10) == range) }

    @Test(
        "What is no single range is ignored",
        arguments: [
            "", "bytes", "bytes=", "bytes=-", "bytes=4-2", "bytes=a-b", "bytes=1-2-3", "bytes=0-1,2-3", "items=0-1",
            "bytes 0-1", "bytes= 0-1", "bytes=+1-2", "bytes=0x1-", "=0-1",
        ])
    func ignored(field: String) { #expect(ByteRange(field, size: 10) == .whole) }

    @Test("Every range is within the content, for each size")
    func sizes() {
        for size in UInt64(0)...5 {
            for first in ["", "0", "1", "4", "5", "6"] {
                for last in ["", "0", "1", "4", "5", "6"] {
                    if case .part(let range) = ByteRange("bytes=\(first)-\(last)", size: size) {
                        #expect(!range.isEmpty && range.upperBound <= size)
                    }
                }
            }
        }
        #expect(ByteRange(nil, size: 10) == .whole)
        #expect(ByteRange("bytes=0-", size: 0) == .unsatisfiable)
        #expect(ByteRange("bytes=-5", size: 0) == .whole)
    }
}

@Suite("Conditional requests")
struct PreconditionTests {
    let tag = EntityTag("abc")

    func precondition(_ method: String, _ fields: [(name: String, value: String)]) throws -> Precondition {
        Precondition(try RequestHeadTests.head(method, "/", fields), tag)
    }

    @Test("If-None-Match compares weakly")
    func noneMatch() throws {
        for list in ["\"abc\"", "W/\"abc\"", "*", "\"x\", \"abc\"", "\"x\",W/\"abc\""] {
            #expect(try precondition("GET", [("If-None-Match", list)]) == .notModified, "\(list)")
            #expect(try precondition("HEAD", [("If-None-Match", list)]) == .notModified, "\(list)")
            #expect(try precondition("POST", [("If-None-Match", list)]) == .failed, "\(list)")
        }
        for list in ["\"x\"", "abc", "\"abc", "", "\"ab\""] {
            #expect(try precondition("GET", [("If-None-Match", list)]) == .proceed, "\(list)")
        }
        #expect(try precondition("GET", []) == .proceed)
    }

    @Test("If-Match compares strongly, and first")
    func match() throws {
        #expect(try precondition("GET", [("If-Match", "\"abc\"")]) == .proceed)
        #expect(try precondition("GET", [("If-Match", "*")]) == .proceed)
        #expect(try precondition("GET", [("If-Match", "W/\"abc\"")]) == .failed)
        #expect(try precondition("GET", [("If-Match", "\"x\""), ("If-None-Match", "\"abc\"")]) == .failed)
        #expect(try precondition("GET", [("If-Match", "\"abc\""), ("If-None-Match", "\"abc\"")]) == .notModified)
    }

    @Test("If-Range gives a part of the same content alone")
    func ifRange() throws {
        func range(_ method: String, _ fields: [(name: String, value: String)]) throws -> ByteRange {
            try RequestHeadTests.head(method, "/", [("Range", "bytes=1-2")] + fields).range(of: 9, tag)
        }
        #expect(try range("GET", []) == .part(1..<3))
        #expect(try range("GET", [("If-Range", "\"abc\"")]) == .part(1..<3))
        #expect(try range("GET", [("If-Range", "W/\"abc\"")]) == .whole)
        #expect(try range("GET", [("If-Range", "\"x\"")]) == .whole)
        #expect(try range("GET", [("If-Range", "Sun, 01 Nov 2026 00:00:00 GMT")]) == .whole)
        #expect(try range("HEAD", []) == .whole)
        #expect(try range("GET", [("Range", "bytes=1-3")]) == .whole)
    }
}

@Suite("Cookies, types and events")
struct SmallValueTests {
    func values(_ cookies: String...) throws -> [String] {
        Cookies.values(of: "a", in: try RequestHeadTests.head("GET", "/", cookies.map { ("Cookie", $0) }).fields)
    }

    @Test("Cookies are found by their whole name")
    func cookies() throws {
        #expect(try values("a=1") == ["1"])
        #expect(try values("b=1; a=2;a=3") == ["2", "3"])
        #expect(try values("b=1", "a=2") == ["2"])
        #expect(try values("ab=1; A=2; a; =a; b=a=1") == [])
        #expect(try values("a=b=c") == ["b=c"])
        #expect(try values((0..<9).map { "a=\($0)" }.joined(separator: "; ")).count == 4)
    }

    @Test("A cookie is for no script, no other site, and the directory of the target")
    func setting() {
        #expect(
            Cookies.setting("a", "f0", seconds: 60, isSecure: false) == "a=f0; Max-Age=60; HttpOnly; SameSite=Strict")
        #expect(Cookies.setting("a", "f0", seconds: 60, isSecure: true).hasSuffix("; Secure"))
        #expect(!Cookies.setting("a", "f0", seconds: 60, isSecure: true).contains("Path"))
    }

    @Test("No photo is a page or a script, whatever its name")
    func types() {
        for name in ["a.html", "a.svg", "a.js", "a.css", "a", "", ".jpg.svg", "a.xml", "a.json", "a.pdf", "jpg"] {
            #expect(MediaType.ofPhoto(named: name) == .bytes, "\(name)")
        }
        #expect(MediaType.ofPhoto(named: "A.JPG") == .jpeg)
        #expect(MediaType.ofPhoto(named: "a.svg.png") == .png)
        #expect(MediaType.ofPage(named: "a.js") == .script)
        #expect(MediaType.ofPage(named: "a.jpg") == nil)
        #expect(MediaType.allCases.filter(\.isPicture) == [.jpeg, .png, .gif, .webp, .avif])
    }

    @Test("No data ends its event early")
    func events() {
        let event = ServerEvent("state", "a\n\nevent: x\r\nb\rc")
        #expect(
            String(decoding: event.bytes, as: UTF8.self)
                == "event: state\ndata: a\ndata: \ndata: event: x\ndata: b\ndata: c\n\n")
        #expect(String(decoding: ServerEvent("a", "").bytes, as: UTF8.self) == "event: a\ndata: \n\n")
    }

    @Test("Dates are those of RFC 9110")
    func dates() {
        #expect(httpDate(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(httpDate(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(httpDate(-1) == nil)
        #expect(httpDate(Int64.max) == nil)
    }
}
