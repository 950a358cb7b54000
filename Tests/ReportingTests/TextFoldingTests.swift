import Reporting
import Testing

struct TextFoldingTests {
    private static func fold(_ text: String, _ columns: Int = 30) -> [String] {
        folded(text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init), to: columns)
    }

    @Test func fittingLinesAreUnchanged() {
        let text = "EXAMPLES:\n  photoinbox top      look\n\nShort.\nLines."
        #expect(Self.fold(text).joined(separator: "\n") == text)
    }

    @Test func paragraphsAreFilledAnew() {
        #expect(
            Self.fold("one two three four five six seven\neight nine") == [
                "one two three four five six", "seven eight nine",
            ])
    }

    @Test func aParagraphMayHaveAColonAtTheEndOfALine() {
        #expect(
            Self.fold("With it, what became of files that came:\nfiled, duplicate.\n\nEXIT STATUS:\n  0 well") == [
                "With it, what became of files", "that came: filed, duplicate.", "", "EXIT STATUS:", "  0 well",
            ])
    }

    @Test func settingsKeepTheirLines() {
        #expect(
            Self.fold("  [Service]\n  ExecStart=\n  ExecStart=/sbin/photoinboxd --config /srv/a.toml") == [
                "  [Service]", "  ExecStart=", "  ExecStart=/sbin/photoinboxd \\", "      --config /srv/a.toml",
            ])
    }

    @Test func aSecondColumnMovesBelow() {
        #expect(
            Self.fold("  photoinbox undo 8841     takes a photo back again") == [
                "  photoinbox undo 8841", "      takes a photo back again",
            ])
    }

    @Test func meaningsStayBesideIfAllFit() {
        #expect(
            Self.fold("  a --all              one thing\n  a --some more        another") == [
                "  a --all        one thing", "  a --some more  another",
            ])
        // One does not, so all of them go below.
        #expect(
            Self.fold("  a --all         one\n  a --some more   another thing here\n                  and more") == [
                "  a --all", "      one", "  a --some more", "      another thing here and", "      more",
            ])
    }

    @Test func shortTermsKeepTheirColumn() {
        #expect(
            Self.fold("  0   all of it was done as it was meant\n  75  busy\n  64, 77: see --help") == [
                "  0   all of it was done as it", "      was meant", "  75  busy", "  64, 77: see --help",
            ])
    }

    @Test func meaningsStayWithTheirCommand() {
        #expect(
            Self.fold("  photoinbox dump one two three --six\n                    what it is\n  photoinbox top") == [
                "  photoinbox dump one two \\", "      three --six", "      what it is", "  photoinbox top",
            ])
    }

    @Test func aWordInBracketsIsProse() {
        #expect(
            Self.fold("sizes are as said in the section\n[pictures], even if it is off") == [
                "sizes are as said in the", "section [pictures], even if it", "is off",
            ])
    }

    @Test func commandsCanBeCopied() {
        #expect(
            Self.fold("  photoinbox dump --abc | jq '.x[]' --raw") == [
                "  photoinbox dump --abc |", "      jq '.x[]' --raw",
            ])
        #expect(
            Self.fold("  sudo program --first one --second two") == [
                "  sudo program --first one \\", "      --second two",
            ])
    }

    @Test func statusesAreGathered() {
        #expect(
            Self.fold("  0 done   1 failed   2 time ran out   64, 77") == [
                "  0 done   1 failed", "  2 time ran out   64, 77",
            ])
    }

    @Test func noLineIsWiderThanRequested() {
        let lesson =
            "  photoinbox list --since 2h   those of the last two hours, of which there are some | and more\n"
            + "Prose that is long enough to be broken in several places, so that each width is met.\n"
            + "  0 one thing   1 another thing that is said at length   3 a third one"
        for width in 24...110 { #expect(Self.fold(lesson, width).allSatisfy { $0.count <= width }, "\(width)") }
    }
}
