import Reporting
import Testing

@testable import CommandSupport
@testable import Top

struct TopFrameTests {
    private static let colour = TextStyle(usesColour: true, width: nil)

    private static func frame(_ lines: [String], columns: Int = 10) -> TopFrame {
        TopFrame(columns: columns, rows: 3, lines.map { TopLine($0) })
    }

    @Test func onlyWhatChangedIsWritten() {
        let first = Self.frame(["one", "two", "three"])
        #expect(
            first.update(from: nil, .plain)
                == "\u{1B}[0m\u{1B}[2J\u{1B}[1;1H\u{1B}[Kone\u{1B}[2;1H\u{1B}[Ktwo\u{1B}[3;1H\u{1B}[Kthree")
        #expect(first.update(from: first, .plain) == "")
        #expect(Self.frame(["one", "2", "three"]).update(from: first, .plain) == "\u{1B}[2;1H\u{1B}[K2")
        #expect(Self.frame(["one"]).update(from: first, .plain) == "\u{1B}[2;1H\u{1B}[K\u{1B}[3;1H\u{1B}[K")
        #expect(Self.frame(["one"], columns: 11).update(from: first, .plain).hasPrefix("\u{1B}[0m\u{1B}[2J"))
    }

    @Test func linesFitTheScreen() {
        let frame = Self.frame(["0123456789abc", "写真写真写真"])
        #expect(frame.lines.map(\.text) == ["012345678…", "写真写真… ", ""])
        #expect(TopFrame(columns: 10, rows: 1, [TopLine("a"), TopLine("b")]).lines.count == 1)
        var bar = TopLine("a")
        bar.isReversed = true
        #expect(bar.fitted(to: 4).text == "a   ")
    }

    @Test func aNarrowScreenShowsVerdictAndProblems() throws {
        var model = TopModel(interval: 1, view: .outcomes)
        model.received(Samples.sample(try Samples.state(inHand: [("a.jpg", 5, "deferred")])))
        let lines = { (columns: Int, rows: Int) in
            TopScreen(columns: columns, rows: rows).frame(&model).lines.map(\.text)
        }
        let wide = lines(80, 24)
        #expect(wide[2] == "queued 0   working 0   settling 0   gathering 0   deferred 1   problems 0")
        #expect(wide[3].hasPrefix("1 inboxes 2 files") && wide[3].hasSuffix("[8 outcomes]"))
        #expect(wide[23] == "q quit  1-8 view  ↑↓ Enter fields  s sort  r reverse  / find  z freeze  ? help")
        let narrow = lines(40, 24)
        #expect(narrow[2] == "gathering 0   deferred 1   problems 0")
        #expect(narrow[3] == "1 2 3 4 5 6 7 [8 outcomes]")
        #expect(narrow[23] == "q quit  1-8 view  ? help")
        // The verdict, the heading, rows, the keys.
        let tiny = lines(80, 5)
        #expect(tiny.count == 5 && !tiny.contains { $0.contains("[8 outcomes]") } && tiny[4].hasPrefix("q quit"))
        #expect(lines(20, 24).allSatisfy { displayWidth($0) <= 20 })
    }

    @Test func paint() {
        var line = TopLine("a", .bad)
        line.add("b")
        #expect(line.painted(Self.colour) == "\u{1B}[1;31ma\u{1B}[0mb")
        #expect(line.painted(.plain) == "ab")
        line.isReversed = true
        #expect(line.painted(.plain) == "\u{1B}[7mab\u{1B}[0m" && line.painted(Self.colour) == "\u{1B}[7mab\u{1B}[0m")
    }

    @Test func longLinesContinueBelow() {
        #expect(hanging("one two three", at: 4, columns: nil) == "one two three")
        #expect(hanging("one two three", at: 4, columns: 80) == "one two three")
        let blanks = String(repeating: " ", count: 8)
        #expect(
            hanging("failed words that go on for longer than that", at: 8, columns: 30)
                == "failed words that go\n\(blanks)on for longer than\n\(blanks)that")
        // An address stays one that can be copied.
        let address = "https://example.org/a/very/long/address.jpg"
        #expect(hanging("see \(address) now", at: 8, columns: 30) == "see\n\(blanks)\(address)\n\(blanks)now")
    }

    @Test func longTextIsWrapped() {
        #expect(wrapped("one two three", to: 8) == ["one two", "three"])
        #expect(wrapped("abcdefghij", to: 4) == ["abcd", "efgh", "ij"])
        #expect(wrapped("", to: 4) == [""])
        for width in 2...20 {
            let lines = wrapped("写真 in einem Ordner mit langem/Pfad/写真写真写真.jpg", to: width)
            #expect(lines.allSatisfy { displayWidth($0) <= width }, "\(width)")
            #expect(lines.joined().filter { $0 != " " } == "写真ineinemOrdnermitlangem/Pfad/写真写真写真.jpg")
        }
    }
}
