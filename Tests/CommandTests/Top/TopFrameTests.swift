import Reporting
import Testing

@testable import photoinbox

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

    @Test func paint() {
        var line = TopLine("a", .bad)
        line.add("b")
        #expect(line.painted(Self.colour) == "\u{1B}[1;31ma\u{1B}[0mb")
        #expect(line.painted(.plain) == "ab")
        line.isReversed = true
        #expect(line.painted(.plain) == "\u{1B}[7mab\u{1B}[0m" && line.painted(Self.colour) == "\u{1B}[7mab\u{1B}[0m")
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
