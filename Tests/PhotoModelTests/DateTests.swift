import FileValues
import Testing

@testable import PhotoFormats
@testable import PhotoModel

@Suite("Civil dates")
struct CivilDateTests {
    @Test("Every day of ten thousand years has consecutive numbers that convert back")
    func everyDay() throws {
        var number = -719_528
        for year in 0...9_999 {
            // All days of the years that cameras use; the ends of months of the others.
            let isNear = (1_895...2_105).contains(year)
            for month in 1...12 {
                let last = CivilDate.days(inMonth: month, of: year)
                for day in isNear ? Array(1...last) : [1, last] {
                    let date = try #require(CivilDate(year: year, month: month, day: day))
                    let expected = number + day - 1
                    if date.daysSince1970 != expected || CivilDate(daysSince1970: expected) != date {
                        Issue.record("\(date) is \(date.daysSince1970), not \(expected)")
                        return
                    }
                }
                number += last
            }
        }
        #expect(number == 2_932_897)
    }

    @Test("Days that do not exist are refused")
    func invalidDays() {
        #expect(CivilDate(year: 2023, month: 2, day: 29) == nil)
        #expect(CivilDate(year: 2024, month: 2, day: 29) != nil)
        #expect(CivilDate(year: 1900, month: 2, day: 29) == nil)
        #expect(CivilDate(year: 2000, month: 2, day: 29) != nil)
        #expect(CivilDate(year: 2024, month: 0, day: 1) == nil)
        #expect(CivilDate(year: 10_000, month: 1, day: 1) == nil)
        #expect(CivilDate(daysSince1970: .max) == nil)
        #expect(CivilDate(daysSince1970: .min) == nil)
    }

    @Test("Instants convert to local times and back")
    func instants() throws {
        let date = try #require(CivilDate(year: 2024, month: 1, day: 31))
        let local = try #require(CivilDateTime(date, hour: 12, minute: 34, second: 56))
        #expect(local.instant(offset: 3_600).seconds == 1_706_700_896)
        #expect(CivilDateTime(FileTime(seconds: 1_706_700_896, nanoseconds: 0), offset: 3_600) == local)
        #expect(CivilDateTime(FileTime(seconds: -1, nanoseconds: 0))?.description == "1969-12-31 23:59:59")
        #expect(CivilDateTime(FileTime(seconds: .max, nanoseconds: 0), offset: 3_600) == nil)
        #expect(CivilDateTime(FileTime(seconds: .min, nanoseconds: 0), offset: -3_600) == nil)
        #expect(CivilDateTime(date, hour: 23, minute: 59, second: 60)?.second == 59)
        #expect(offsetText(-12_600) == "-03:30")
    }
}

@Suite("Parsing dates")
struct DateTextTests {
    @Test(
        "Valid dates are parsed",
        arguments: [
            ("2024:01:31 12:34:56", "2024-01-31 12:34:56", nil), ("2024-01-31T12:34:56Z", "2024-01-31 12:34:56", 0),
            ("2024-01-31T12:34:56.789+01:00", "2024-01-31 12:34:56", 3_600),
            ("2024-01-31T12:34:56-0330", "2024-01-31 12:34:56", -12_600),
            ("2024/01/31 12:34", "2024-01-31 12:34:00", nil),
            ("2024:01:31", "2024-01-31 00:00:00", nil), ("2024-01-31T12:34:56+05", "2024-01-31 12:34:56", 18_000),
            ("2016:12:31 23:59:60", "2016-12-31 23:59:59", nil),
        ] as [(String, String, Int32?)])
    func read(text: String, local: String, offset: Int32?) throws {
        let date = try DateText.parse(Array(text.utf8))
        #expect(date.local.description == local)
        #expect(date.offset == offset)
    }

    @Test(
        "Invalid dates are refused with the reason",
        arguments: [
            ("", .blank), ("                   ", .blank), ("    :  :     :  :  ", .blank),
            ("0000:00:00 00:00:00", .zero),
            ("2024:13:01 00:00:00", .noSuchDay), ("2023:02:29 00:00:00", .noSuchDay),
            ("2024:01:31 24:00:00", .noSuchTime),
            ("2024:01:31 12:60:00", .noSuchTime), ("yesterday", .unreadable), ("20240131", .unreadable),
            ("2024:01:", .unreadable),
        ] as [(String, DateText.Refusal)])
    func refused(text: String, why: DateText.Refusal) {
        #expect(throws: why) { try DateText.parse(Array(text.utf8)) }
    }

    @Test(
        "Dates are found in names by cameras and programs",
        arguments: [
            ("IMG_20240131_123456.jpg", "2024-01-31 12:34:56", true),
            ("VID_20240131_123456789.mp4", "2024-01-31 12:34:56", true),
            ("20240131_123456.jpg", "2024-01-31 12:34:56", true), ("20240131123456.jpg", "2024-01-31 12:34:56", true),
            ("2024-01-31 12.34.56.jpg", "2024-01-31 12:34:56", true),
            ("IMG-20240131-WA0001.jpg", "2024-01-31 00:00:00", false),
            ("Screenshot_2024-01-31-12-34-56.png", "2024-01-31 12:34:56", true),
            ("Screenshot_20240131-123456.png", "2024-01-31 12:34:56", true),
            ("WhatsApp Image 2024-01-31 at 12.34.56.jpeg", "2024-01-31 12:34:56", true),
            ("signal-2024-01-31-123456.jpg", "2024-01-31 12:34:56", true),
            ("2024-01-31.jpg", "2024-01-31 00:00:00", false),
            ("IMG_20240131_123456-1.jpg", "2024-01-31 12:34:56", true),
            ("IMG_20240131_99.jpg", "2024-01-31 00:00:00", false),
        ])
    func names(name: String, local: String, hasTime: Bool) throws {
        let found = try #require(FileNameDate.find(in: BytePath(name)))
        guard case .local(let date, nil, hasTime) = found.reading else {
            Issue.record("\(found)")
            return
        }
        #expect(date.description == local)
    }

    @Test("Names by Google's cameras are in UTC")
    func pixelNames() throws {
        let found = try #require(FileNameDate.find(in: "PXL_20240131_113456789.jpg"))
        #expect(found.reading == .instant(FileTime(seconds: 1_706_700_896, nanoseconds: 789_000_000)))
    }

    @Test(
        "Other numbers are no dates",
        arguments: [
            "IMG_1234.jpg", "DSC_20249931.jpg", "20231301.jpg", "123420240131.jpg", "2024013112345.jpg",
            "1706698800000.jpg",
            "18991231.jpg", "IMG_20230229_120000.jpg", "photo.jpg", "", "2024-0131.jpg",
        ])
    func noDates(name: String) { #expect(FileNameDate.find(in: BytePath(name)) == nil) }
}

@Suite("The choice of the capture date")
struct CaptureDateDecisionTests {
    private static let now = FileTime(seconds: 1_800_000_000, nanoseconds: 0)
    private static let modified = FileTime(seconds: 1_700_000_000, nanoseconds: 0)

    private func decide(_ dates: [RecordedDate], name: String = "a.jpg", zone: Int32 = 7_200) -> CaptureDateDecision {
        CaptureDateDecision(
            recorded: dates, name: BytePath(name), modified: Self.modified, now: Self.now, zone: { _ in zone })
    }

    private func date(_ provenance: DateProvenance, _ text: String) -> RecordedDate {
        RecordedDate(provenance: provenance, bytes: Array(text.utf8))
    }

    @Test("The most reliable source is chosen, in any order")
    func order() {
        let instant = RecordedDate(
            provenance: .gps, text: "gps", reading: .instant(FileTime(seconds: 1_600_000_000, nanoseconds: 0)))
        var dates = [
            date(.xmp, "2015-01-01T00:00:00"), instant, date(.exifModified, "2016:01:01 00:00:00"),
            date(.exifDigitized, "2017:01:01 00:00:00"), date(.exifOriginal, "2018:01:01 00:00:00"),
        ]
        let name = "IMG_20190101_000000.jpg"
        #expect(decide(dates, name: name).chosen?.provenance == .exifOriginal)
        dates.removeLast()
        #expect(decide(dates, name: name).chosen?.provenance == .exifDigitized)
        dates.removeLast()
        #expect(decide(dates, name: name).chosen?.provenance == .gps)
        dates.remove(at: 1)
        #expect(decide(dates, name: name).chosen?.provenance == .xmp)
        dates.removeFirst()
        #expect(decide(dates, name: name).chosen?.provenance == .fileName)
        #expect(decide(dates).chosen?.provenance == .exifModified)
        #expect(decide([]).chosen?.provenance == .fileModified)
    }

    @Test("Implausible dates are refused, with the reason")
    func refusals() {
        let decision = decide([
            date(.exifOriginal, "0000:00:00 00:00:00"), date(.exifDigitized, "1899:12:31 00:00:00"),
            date(.xmp, "2099-01-01T00:00:00Z"),
        ])
        #expect(
            decision.refused == [
                "EXIF DateTimeOriginal \"0000:00:00 00:00:00\" was never set",
                "EXIF DateTimeDigitized \"1899:12:31 00:00:00\" is before 1900",
                "XMP date \"2099-01-01T00:00:00Z\" is in the future",
            ])
        #expect(decision.chosen?.provenance == .fileModified)
        #expect(decision.words.hasPrefix("date from the file's modification time, 2023-11-15T00:13:20+02:00 (EXIF"))
    }

    @Test("A date up to a day from now is accepted, a later one is not")
    func future() throws {
        let now = try #require(CivilDateTime(Self.now))
        #expect(
            decide([
                RecordedDate(provenance: .exifOriginal, text: "", reading: .local(now, offset: -50_000, hasTime: true))
            ])
            .chosen?.provenance == .exifOriginal)
        #expect(
            decide([
                RecordedDate(provenance: .exifOriginal, text: "", reading: .local(now, offset: -90_000, hasTime: true))
            ])
            .chosen?.provenance == .fileModified)
    }

    @Test("Instants are converted to local time")
    func zones() {
        let instant = RecordedDate(
            provenance: .videoHeader, text: "", reading: .instant(FileTime(seconds: 1_706_743_800, nanoseconds: 0)))
        // 2024-01-31 23:30 UTC is the first of February two hours east.
        #expect(decide([instant]).chosen?.local.date.description == "2024-02-01")
        #expect(decide([instant], zone: 0).chosen?.text == "2024-01-31T23:30:00+00:00")
        #expect(decide([instant], zone: .max).chosen?.provenance == nil)
    }

    @Test("Dates of clocks that were never set are refused")
    func unsetClocks() {
        let decision = CaptureDateDecision(
            recorded: [RecordedDate(provenance: .videoHeader, text: "1904", reading: .unreadable("was never set"))],
            name: "a.mp4", modified: FileTime(seconds: 0, nanoseconds: 0), now: Self.now, zone: { _ in 0 })
        #expect(decision.chosen == nil)
        #expect(decision.refused.count == 2)
        #expect(decision.words.hasPrefix("no date that can be believed"))
    }

    @Test("The date of a real photo")
    func realPhoto() throws {
        let report = try report(try Fixtures.bytes("rocket.jpg"))
        let decision = decide(report.dates)
        #expect(decision.words == "date from EXIF DateTimeOriginal, 2024-01-31T12:34:56+01:00")
        #expect(decision.chosen?.provenance.isSure == true)
    }
}

@Suite("The required reliability of a date")
struct DateTrustTests {
    @Test("Each level accepts its sources", arguments: DateTrust.allCases)
    func trust(trust: DateTrust) throws {
        let now = FileTime(seconds: 1_800_000_000, nanoseconds: 0)
        let modified = FileTime(seconds: 1_600_000_000, nanoseconds: 0)
        func chosen(_ name: BytePath, _ recorded: [RecordedDate] = []) -> DateProvenance? {
            CaptureDateDecision(recorded: recorded, name: name, modified: modified, now: now, trust: trust) { _ in 0 }
                .chosen?.provenance
        }
        let exif = RecordedDate(provenance: .exifOriginal, bytes: Array("2024:01:31 12:34:56".utf8))
        #expect(chosen("a.jpg", [exif]) == .exifOriginal)
        #expect(chosen("IMG_20190304_120000.jpg") == (trust == .device ? nil : .fileName))
        #expect(chosen("a.jpg") == (trust == .any ? .fileModified : nil))
        let refused = CaptureDateDecision(recorded: [], name: "a.jpg", modified: modified, now: now, trust: .device) {
            _ in
            0
        }
        #expect(refused.words.contains("not sure enough"))
    }
}
