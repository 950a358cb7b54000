import Reporting
import Testing

struct TextFittingTests {
    @Test func padsAndCuts() {
        #expect(fitted("ab", to: 4) == "ab  ")
        #expect(fitted("ab", to: 4, .right) == "  ab")
        #expect(fitted("abcdef", to: 4) == "abc…")
        #expect(fitted("card/IMG_1.JPG", to: 8, cutting: .start) == "…G_1.JPG")
        #expect(fitted("abc", to: 3) == "abc" && fitted("abc", to: 1) == "…" && fitted("abc", to: 0) == "")
    }

    @Test func wideCharactersFit() {
        #expect(fitted("写真写真", to: 6) == "写真… ")
        #expect(fitted("写真写真", to: 5) == "写真…")
        #expect(fitted("写真写真", to: 4, cutting: .start) == "…真 ")
        for width in 0...12 {
            for text in ["写真é写真", "e\u{301}e\u{301}e\u{301}", "\u{1F4F7}a\u{1F4F7}", ""] {
                #expect(displayWidth(fitted(text, to: width)) == width, "\(text) \(width)")
                #expect(displayWidth(fitted(text, to: width, .right, cutting: .start)) == width, "\(text) \(width)")
            }
        }
    }
}
