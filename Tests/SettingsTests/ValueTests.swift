import FileValues
import Testing

@testable import Settings

struct ValueTests {
    @Test(arguments: [
        ("5s", 5000), ("500ms", 500), ("1h30m", 5_400_000), ("90m", 5_400_000), ("7d", 604_800_000), ("0s", 0),
        ("1d2h3m4s5ms", 93_784_005),
    ])
    func spansAreReadAndPrinted(text: String, milliseconds: Int64) throws {
        let span = try #require(TimeSpan(text))
        #expect(span.milliseconds == milliseconds)
        #expect(TimeSpan(span.description) == span)
    }

    @Test(arguments: [
        "", "5", "s", "5 s", "5 secs", "-5s", "+5s", "1.5h", "5s1m", "1s1s", "99999999999999999999s", "3651d", "٣s",
        "5S",
        "9223372036854775807ms", "106751991167d",
    ])
    func invalidSpanIsRefused(text: String) { #expect(TimeSpan(text) == nil) }

    private static let sizes: [(String, UInt64)] = [
        ("0", 0), ("1", 1), ("512K", 512 << 10), ("200M", 200 << 20), ("3G", 3 << 30), ("2T", 2 << 40),
        ("1024K", 1 << 20), ("100k", 100 << 10), ("1g", 1 << 30),
    ]

    @Test(arguments: sizes)
    func sizesAreReadAndPrinted(text: String, bytes: UInt64) throws {
        let size = try #require(ByteSize(text))
        #expect(size.bytes == bytes)
        #expect(ByteSize(size.description) == size)
    }

    @Test(arguments: [
        "", "G", "-1", "+1", "1.5G", "1 G", "1gb", "1GB", "1GiB", "99999999999999999999", "9000000T", "٣",
    ])
    func invalidSizeIsRefused(text: String) { #expect(ByteSize(text) == nil) }

    @Test(arguments: [
        ("{year}/{name}", nil), ("{year}", "the template must end with /{name}"),
        ("{yaer}/{name}", "unknown field {yaer}"),
        ("../{name}", "a directory may not be . or .."), ("/{name}", "a directory has no name"),
    ])
    func layouts(text: String, mistake: String?) {
        let node = TOMLNode(content: .string(text), position: .first, source: "")
        do {
            let value = try Form.layout.read(node, PathBase(directory: nil, mayClimb: false))
            #expect(mistake == nil && Form.layout.write(value) == "\"\(text)\"")
        } catch {
            #expect(mistake.map { error.message.contains($0) } ?? false, "\(error.message)")
        }
    }

    @Test func spansAreClamped() {
        #expect(TimeSpan.seconds(.max) == TimeSpan(milliseconds: .max))
        #expect(TimeSpan.seconds(.min) == TimeSpan(milliseconds: 0))
        #expect(TimeSpan.seconds(2).duration == .seconds(2))
    }

    @Test(arguments: [
        ("*.tmp", "a.tmp", true), ("*.tmp", "x/y/a.tmp", true), ("*.tmp", "a.tmp/b.jpg", true),
        ("*.tmp", "a.tmpx", false),
        ("@eaDir", "a/@eaDir/b", true), ("?.jpg", "a.jpg", true), ("?.jpg", "ab.jpg", false),
        ("raw/*.xmp", "raw/a.xmp", true),
        ("raw/*.xmp", "x/raw/a.xmp", false), ("raw/*.xmp", "raw/x/a.xmp", false), ("**/cache", "cache", true),
        ("**/cache", "a/b/cache/c", true), ("a/**/b", "a/b", true), ("a/**/b", "a/x/y/b", true),
        ("a/**/b", "a/x", false),
        ("/top.jpg", "top.jpg", true), ("/top.jpg", "a/top.jpg", false), ("[a-c]1", "b1", true),
        ("[!a-c]1", "b1", false),
        ("[]]", "]", true), ("\\*", "*", true), ("\\*", "a", false), ("*a*b*c", "xaybzc", true),
        ("*a*b*c", "xaybz", false),
        ("dir/", "dir/x", true), ("*", "", false),
    ])
    func globs(pattern: String, path: String, matches: Bool) throws {
        #expect(try PathGlob(parsing: pattern).matches(BytePath(path)) == matches)
    }

    @Test func globsMatchHostileNamesInBoundedTime() throws {
        let glob = try PathGlob(parsing: String(repeating: "*a", count: 100) + "b")
        #expect(!glob.matches(BytePath(Array(repeating: UInt8(ascii: "a"), count: 255))))
        #expect(try PathGlob(parsing: "*\u{FC}*").matches(BytePath([0xFF, 0xC3, 0xBC, 0x0A])))
        let deep = try PathGlob(parsing: Array(repeating: "**/a", count: 50).joined(separator: "/") + "/b")
        #expect(!deep.matches(BytePath(Array(repeating: "a", count: 2000).joined(separator: "/"))))
    }

    @Test(arguments: ["", "/", "a[", "a[]", "[z-a]", "a\\", "**", "**/**"])
    func invalidGlobIsRefused(pattern: String) {
        #expect(throws: ValueMistake.self) { try PathGlob(parsing: pattern) }
    }

    @Test func actionsAreReadAsTheyArePrinted() throws {
        for action in [.dump, .reconcile, .audit, .verifySlice, .hook("a-b_1"), .reload, .stop] as [Action] {
            #expect(try Action(action.description, asker: .command) == action)
        }
        #expect(try Action("  hook   x ", asker: .timer) == .hook("x"))
        for text in ["", "hook", "hook a b", "hook ../x", "dump now", "DUMP", "\u{0}dump", "hook \u{1B}[2J"] {
            #expect(throws: Action.Mistake.self) { try Action(text, asker: .command) }
        }
    }

    @Test(arguments: ["3:00", "03:60", "24:00", "mon", "moon 03:00", "mon 03:00 x", "", ":", "0a:00", "+1:00"])
    func invalidTimeOfDayIsRefused(text: String) { #expect(TimeOfDay(text) == nil) }

    @Test func timesOfDay() throws {
        let sunday = try #require(TimeOfDay("SUNDAY 03:05"))
        #expect(sunday.weekday == .sunday && sunday.hour == 3 && sunday.minute == 5)
        #expect(sunday.description == "sun 03:05")
        #expect(TimeOfDay("23:59")?.description == "23:59")
    }

    @Test func misspellingsAreRecognised() {
        let names = ["library", "quarantine", "quiet", "path"]
        #expect(likelyMeaning(of: "libary", among: names) == "library")
        #expect(likelyMeaning(of: "Library", among: names) == "library")
        #expect(likelyMeaning(of: "qiuet", among: names) == "quiet")
        #expect(likelyMeaning(of: "colour", among: names) == nil)
        #expect(likelyMeaning(of: "", among: names) == nil)
        #expect(likelyMeaning(of: String(repeating: "x", count: 100_000), among: names) == nil)
        #expect(editDistance(Array("ab"), Array("ba")) == 1)
        #expect(editDistance(Array("kitten"), Array("sitting")) == 3)
        #expect(editDistance([], Array("abc")) == 3)
    }
}
