import FileValues
import Testing

@Suite("Times and dates")
struct TimeTests {
    @Test(
        "Instants in UTC as RFC 3339",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
            (1_795_529_280, "2026-11-24T14:08:00Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
            (-62_135_596_800, "0001-01-01T00:00:00Z"), (253_402_214_399, "9999-12-30T23:59:59Z"),
        ] as [(Int64, String)])
    func moments(seconds: Int64, text: String) { #expect(LocalClock.universal.rfc3339(seconds) == text) }

    @Test("Offsets are added, and instants outside the years 0 to 9999 have no text")
    func offsets() {
        let adelaide = LocalClock(offset: 37_800)
        #expect(adelaide.rfc3339(0, milliseconds: 7) == "1970-01-01T10:30:00.007+10:30")
        #expect(LocalClock(offset: -12_600).rfc3339(0) == "1969-12-31T20:30:00-03:30")
        #expect(adelaide.timeOfDay(0) == "10:30")
        for seconds in [Int64.min, .max, 253_402_300_800, -62_167_305_601] {
            #expect(adelaide.rfc3339(seconds) == nil)
            #expect(adelaide.timeOfDay(seconds) == "--:--")
        }
        #expect(LocalClock(offset: .min).offset == 0)
    }

    @Test("File times are written with milliseconds")
    func milliseconds() {
        let time = FileTime(seconds: 1_795_529_280, nanoseconds: 7_999_999)
        #expect(time.rfc3339 == "2026-11-24T14:08:00.007Z")
        #expect(LocalClock(offset: 3_600).clock(time) == "15:08:00.007")
        #expect(FileTime(seconds: .max, nanoseconds: 0).rfc3339 == "9223372036854775807 s")
    }

    @Test("Every day of 800 years follows the day before")
    func consecutiveDays() throws {
        var last = try #require(CivilDate(daysSince1970: -138_889))
        for step in 1...292_194 {
            let date = try #require(CivilDate(daysSince1970: -138_889 + step))
            let isNextDay = date.year == last.year && date.month == last.month && date.day == last.day + 1
            let isNextMonth = date.day == 1 && last.day >= 28 && (date.month == last.month % 12 + 1)
            guard isNextDay || isNextMonth, date.weekday == (last.weekday + 1) % 7,
                date.daysSince1970 == -138_889 + step
            else {
                Issue.record("\(last) then \(date)")
                return
            }
            last = date
        }
    }
}
