import FileValues
import Testing

@testable import Reporting

struct JSONTests {
    @Test func valuesAreWrittenInOrder() {
        let value = JSONValue.document([
            JSONField("z", .array([.null, .boolean(true), .integer(.min), .unsigned(.max), .number(0.5)])),
            JSONField("a", .object([])), JSONField("n", .number(.infinity)),
        ])
        #expect(
            value.compact
                == #"{"format":1,"z":[null,true,-9223372036854775808,18446744073709551615,0.5],"a":{},"n":null}"#)
        #expect(
            JSONValue.object([JSONField("a", .array([.integer(1), .array([])]))]).indented
                == "{\n  \"a\": [\n    1,\n    []\n  ]\n}")
    }

    @Test func stringsCannotBreakOut() {
        #expect(
            JSONValue.string("\"\\/\n\r\t\u{0}\u{1B}\u{7F}\u{9B}\u{2028}\u{202E}\u{2066}ä📷").compact
                == #""\"\\/\n\r\t\u0000\u001b\u007f\u009b\u2028\u202e\u2066ä📷""#)
    }

    @Test func pathsThatAreNotTextComeTwice() {
        #expect(JSONField.path("file", "ä.jpg") == [JSONField("file", .string("ä.jpg"))])
        let fields = JSONField.path("file", BytePath([0x61, 0xFF]))
        #expect(JSONValue.object(fields).compact == #"{"file":"a�","file_base64":"Yf8="}"#)
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func base64OfRFC4648(text: String, encoded: String) { #expect(base64(Array(text.utf8)) == encoded) }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
            (1_795_529_280, "2026-11-24T14:08:00Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-62_135_596_800, "0001-01-01T00:00:00Z"), (253_402_214_399, "9999-12-30T23:59:59Z"),
        ] as [(Int64, String)])
    func moments(seconds: Int64, text: String) { #expect(LocalClock.universal.rfc3339(seconds) == text) }

    @Test func momentsWithOffsetsAndBeyondTheCalendar() {
        let adelaide = LocalClock(offset: 37_800)
        #expect(adelaide.rfc3339(0, milliseconds: 7) == "1970-01-01T10:30:00.007+10:30")
        #expect(LocalClock(offset: -12_600).rfc3339(0) == "1969-12-31T20:30:00-03:30")
        #expect(adelaide.timeOfDay(0) == "10:30" && adelaide.weekdayAndTime(0) == "Thursday 10:30")
        for seconds in [Int64.min, .max, 253_402_300_800, -62_167_219_201] {
            #expect(JSONValue.moment(seconds) == .null)
            #expect(adelaide.timeOfDay(seconds) == "--:--")
        }
        #expect(LocalClock(offset: .min).offset == 0)
    }

    /// Every day of 800 years follows the one before.
    @Test func daysFollowOneAnother() throws {
        var last = try #require(CivilTime(-12_000_000_000, offset: 0))
        for step in 1...292_194 {
            let date = try #require(CivilTime(-12_000_000_000 + Int64(step) * 86_400, offset: 0))
            let isNextDay = date.year == last.year && date.month == last.month && date.day == last.day + 1
            let isNextMonth = date.day == 1 && last.day >= 28 && (date.month == last.month % 12 + 1)
            guard isNextDay || isNextMonth, date.weekday == (last.weekday + 1) % 7 else {
                Issue.record("\(last) then \(date)")
                return
            }
            last = date
        }
    }
}
