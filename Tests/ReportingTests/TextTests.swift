import Foundation
import Testing

@testable import Reporting

struct TextTests {
    @Test(arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (61_204, "61,204"), (-1_234_567, "-1,234,567")])
    func counts(number: Int, text: String) { #expect(HumanText.count(number) == text) }

    @Test func extremeNumbersAreWritten() {
        #expect(HumanText.count(Int.min) == "-9,223,372,036,854,775,808")
        #expect(HumanText.bytes(.max) == "18 EB")
        #expect(HumanText.age(.max) == "292,277,024,626 years")
        #expect(HumanText.age(.min) == "0 s")
        #expect(HumanText.shortWait(.max).hasSuffix(" d"))
        #expect(HumanText.count(1, "photo", "photos") == "1 photo")
    }

    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1049, "1 kB"), (3_199_999, "3.1 MB"), (9_990_000, "9.9 MB"),
            (16_000_000, "16 MB"), (999_999_999, "999 MB"), (612_400_000_000, "612 GB"), (2_500_000_000_000, "2.5 TB"),
        ] as [(UInt64, String)])
    func sizes(number: UInt64, text: String) { #expect(HumanText.bytes(number) == text) }

    @Test(
        arguments: [
            (-5, "0 s"), (8, "8 s"), (60, "60 s"), (119, "119 s"), (120, "2 min"), (840, "14 min"), (7200, "2 h"),
            (172_799, "47 h"), (172_800, "2 days"), (12 * 86_400, "12 days"), (90 * 86_400, "2 months"),
            (700 * 86_400, "22 months"), (731 * 86_400, "2 years"),
        ] as [(Int64, String)])
    func ages(seconds: Int64, text: String) { #expect(HumanText.age(seconds) == text) }

    @Test(
        arguments: [
            (480, "480 ns"), (17_400, "17 µs"), (1_260_000, "1.2 ms"), (3_400_000_000, "3.4 s"),
            (61_000_000_000, "61 s"),
        ] as [(UInt64, String)])
    func elapsedTimes(nanoseconds: UInt64, text: String) {
        #expect(HumanText.elapsed(nanoseconds: nanoseconds) == text)
    }

    @Test(
        arguments: [(0, "0 s"), (90, "90 s"), (91, "2 m"), (3001, "51 m"), (5401, "2 h"), (129_601, "2 d")]
            as [(Int64, String)])
    func waitsAreRoundedUp(seconds: Int64, text: String) { #expect(HumanText.shortWait(seconds) == text) }

    @Test func colourFollowsOptionsAndEnvironment() {
        func colour(
            _ isTerminal: Bool, _ choice: TextStyle.ColourChoice = .auto, noColour: String? = nil,
            terminal: String? = "xterm"
        ) -> Bool {
            TextStyle(isTerminal: isTerminal, choice: choice, noColour: noColour, terminal: terminal).usesColour
        }
        #expect(colour(true))
        #expect(!colour(false))
        #expect(!colour(true, noColour: "1"))
        #expect(colour(true, noColour: ""))
        #expect(!colour(true, terminal: "dumb"))
        #expect(!colour(true, terminal: nil))
        #expect(colour(false, .always, noColour: "1", terminal: "dumb"))
        #expect(!colour(true, .never))
        #expect(TextStyle.plain.painted("x", .bad) == "x")
        #expect(TextStyle(isTerminal: false, noColour: nil, terminal: nil, columns: 80).width == nil)
        #expect(TextStyle(isTerminal: true, noColour: nil, terminal: nil, columns: 80).width == 80)
        #expect(TextStyle(isTerminal: true, noColour: nil, terminal: nil, columns: 0).width == nil)
    }

    @Test(arguments: [TextStyle.Paint.good, .notice, .warning, .bad])
    func coloursAreReadableOnWhiteAndBlack(_ paint: TextStyle.Paint) throws {
        let style = TextStyle(isTerminal: true, noColour: nil, terminal: "xterm-256color")
        #expect(TextStyle(isTerminal: true, noColour: nil, terminal: "xterm", colourTerminal: "truecolor") == style)
        let code = try #require(style.painted("x", paint).firstMatch(of: /38;5;([0-9]+)m/)?.1)
        let number = try #require(Int(code)) - 16
        // The cube of 216, and WCAG's contrast.
        let levels = [0.0, 95, 135, 175, 215, 255].map { $0 == 0 ? 0 : pow(($0 / 255 + 0.055) / 1.055, 2.4) }
        let light = 0.2126 * levels[number / 36] + 0.7152 * levels[number / 6 % 6] + 0.0722 * levels[number % 6]
        #expect(1.05 / (light + 0.05) >= 3.9 && (light + 0.05) / 0.05 >= 3.9, "\(light)")
    }

    /// xterm's green, yellow, blue and cyan have a contrast of 2.2, 1.4, 2.2 (on black) and 2.0 to 1.
    @Test(arguments: ["xterm", "linux", "screen"])
    func basicColoursAreReadableOnWhiteAndBlack(_ terminal: String) throws {
        let style = TextStyle(isTerminal: true, noColour: nil, terminal: terminal)
        for paint in [TextStyle.Paint.good, .notice, .warning, .bad, .faint, .strong] {
            let painted = style.painted("x", paint)
            #expect(painted.firstMatch(of: /\u{1B}\[(?:1;)?(?:32|33|34|36)m/) == nil, "\(painted)")
            #expect(painted.replacing(/\u{1B}\[[0-9;]*m/, with: "") == "x")
        }
        #expect(style.painted("x", .good) == "x")
        #expect(style.painted("x", .notice) == "\u{1B}[1mx\u{1B}[0m")
        #expect(style.painted("x", .warning) == "\u{1B}[35mx\u{1B}[0m")
        #expect(style.painted("x", .bad) == "\u{1B}[1;31mx\u{1B}[0m")
        #expect(style.painted("x", .strong) == "\u{1B}[1mx\u{1B}[0m")
    }

    @Test func widthsCountColumns() {
        #expect(displayWidth("abc") == 3)
        #expect(displayWidth("日本") == 4)
        #expect(displayWidth("e\u{301}") == 1)
        #expect(displayWidth("📷") == 2)
    }

    @Test func tablesAlign() {
        var table = TextTable([("INBOX", .left), ("TOTAL", .right)])
        #expect(table.rendered(.plain) == "")
        table.add(["日本", "1"])
        table.add(["phones", "1,204", "too many"])
        table.add(["a"])
        #expect(table.rendered(.plain) == "INBOX   TOTAL\n日本        1\nphones  1,204\na\n")
    }

    @Test func aLongLastCellContinuesBelow() {
        let narrow = TextStyle(usesColour: false, width: 40)
        var table = TextTable([("NAME", .left), ("REASON", .left)])
        table.add(["a.jpg", "the same bytes as another one, which was read again"])
        #expect(
            table.rendered(narrow)
                == "NAME   REASON\na.jpg  the same bytes as another one,\n       which was read again\n")
        #expect(table.rendered(.plain).split(separator: "\n").count == 2)
        table = TextTable([("NAME", .left), ("REASON", .left)])
        table.add([String(repeating: "b", count: 20), "short words that do not fit beside it"])
        table.add(["c", "they fit"])
        #expect(
            table.rendered(narrow) == """
                NAME                  REASON
                bbbbbbbbbbbbbbbbbbbb
                    short words that do not fit beside
                    it
                c                     they fit

                """)
    }

    @Test func progressOfACountedRun() {
        let line = ProgressLine(
            photos: 25_104, totalPhotos: 61_204, bytes: 88_000_000_000, totalBytes: 214_000_000_000, seconds: 2146,
            deferred: 2)
        #expect(line.text == "41%  25,104/61,204  88/214 GB  41 MB/s  52 m left  2 deferred")
        let uncounted = ProgressLine(photos: 5, totalPhotos: nil, bytes: 1_500_000, totalBytes: nil, seconds: 0)
        #expect(uncounted.text == "5  1.5 MB")
        #expect(ProgressLine(photos: 9, totalPhotos: 3, bytes: 9, totalBytes: 3, seconds: 1).percent == 100)
        #expect(ProgressLine(photos: 0, totalPhotos: 0, bytes: 0, totalBytes: 0, seconds: 1).percent == nil)
    }

    @Test func aProgressLineFitsItsTerminal() {
        let line = ProgressLine(
            photos: 500, totalPhotos: 2000, bytes: 2_000_000_000, totalBytes: 8_000_000_000, seconds: 20)
        let last = ProgressLine(
            photos: 105, totalPhotos: 150, bytes: 318_000_000, totalBytes: 450_000_000, seconds: 2)
        #expect(last.text.hasSuffix("159 MB/s  1 s left"))
        #expect(line.text == "25%  500/2,000  2/8 GB  100 MB/s  60 s left")
        let wide = line.text(columns: 100)
        #expect(wide == "25%  [##########------------------------------]  500/2,000  2/8 GB  100 MB/s  60 s left")
        #expect(line.text(columns: 60).contains("[##"))
        #expect(line.text(columns: 50) == line.text)
        #expect(line.text(columns: 34) == "25%  500/2,000  2/8 GB  100 MB/s")
        #expect(line.text(columns: 12) == "25%")
        for columns in 1...120 { #expect(line.text(columns: columns).count < max(2, columns)) }
    }

    @Test func silenceOfARunIsConfigurable() {
        var pipe = ProgressPacer(isTerminal: false, silence: 5)
        let line = ProgressLine(photos: 1, totalPhotos: 100, bytes: 0, totalBytes: nil, seconds: 1)
        #expect(!pipe.isDue(line, milliseconds: 0) && !pipe.isDue(line, milliseconds: 4999))
        #expect(pipe.isDue(line, milliseconds: 5000) && !pipe.isDue(line, milliseconds: 9999))
    }

    @Test func pipesGetALineATenthAndTerminalsTenASecond() {
        func line(_ photos: Int) -> ProgressLine {
            ProgressLine(photos: photos, totalPhotos: 100, bytes: 0, totalBytes: nil, seconds: 1)
        }
        var pipe = ProgressPacer(isTerminal: false)
        let due1 = pipe.isDue(line(0), milliseconds: 0)
        #expect(!due1)
        let due2 = pipe.isDue(line(9), milliseconds: 1000)
        #expect(!due2)
        let due3 = pipe.isDue(line(10), milliseconds: 2000)
        #expect(due3)
        let due4 = pipe.isDue(line(19), milliseconds: 3000)
        #expect(!due4)
        let due5 = pipe.isDue(line(35), milliseconds: 4000)
        #expect(due5)
        let due6 = pipe.isDue(line(36), milliseconds: 603_999)
        #expect(!due6)
        let due7 = pipe.isDue(line(36), milliseconds: 604_000)
        #expect(due7)
        var terminal = ProgressPacer(isTerminal: true)
        let due8 = terminal.isDue(line(0), milliseconds: 0)
        #expect(due8)
        let due9 = terminal.isDue(line(50), milliseconds: 99)
        #expect(!due9)
        let due10 = terminal.isDue(line(50), milliseconds: 100)
        #expect(due10)
    }

    @Test func exitStatusesCombineToTheWorst() {
        #expect(ExitStatus.ok.combined(with: .someLeft) == .someLeft)
        #expect(ExitStatus.stopped.combined(with: .someLeft) == .stopped)
        #expect(ExitStatus.failed.combined(with: .stopped) == .failed)
        #expect(ExitStatus.noMatch.combined(with: .ok) == .noMatch)
        #expect(ExitStatus(reported: 6) == .failed && ExitStatus(reported: 75) == .busy)
        #expect(ExitStatus(worst: nil) == .ok && ExitStatus(worst: .notice) == .ok)
        #expect(ExitStatus(worst: .warning) == .someLeft && ExitStatus(worst: .stopped) == .stopped)
        for one in ExitStatus.allCases {
            for other in ExitStatus.allCases { #expect(one.combined(with: other) == other.combined(with: one)) }
        }
        #expect(ExitStatus.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 64, 69, 75, 77, 78])
    }
}
