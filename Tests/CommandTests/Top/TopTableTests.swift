import FileValues
import Foundation
import Reporting
import Testing

@testable import Top

struct TopTableTests {
    private static let columns: [TopColumn] = [
        .text("name", "NAME", flexible: true, cut: .start), .number("count", "COUNT"), .number("rare", "RARE", rank: 2),
        .number("rarer", "RARER", rank: 5),
    ]

    private static let order = TopOrder(column: 1, isDescending: true)

    private static func row(_ name: String, _ count: Int, id: String? = nil) -> TopRow {
        TopRow(
            id: id ?? name,
            cells: [TopCell(name), .count(count), .count(count * 1000), .count(count * 1_000_000)])
    }

    @Test func columnsAreOmittedByRank() {
        let rows = [Self.row("card/a rather long name.jpg", 7)]
        let shown = { (width: Int) in TopLayout(Self.columns, rows, by: Self.order, width: width).placed.map(\.column) }
        #expect(shown(200) == [0, 1, 2, 3])
        #expect(shown(38) == [0, 1, 2, 3])
        #expect(shown(37) == [0, 1, 2])
        #expect(shown(27) == [0, 1, 2])
        #expect(shown(26) == [0, 1])
        #expect(shown(24) == [0, 1])
        #expect(shown(5) == [0, 1], "what has no rank stays")
        // Flexible columns get the rest, and no line is wider than the screen.
        for width in 20...120 {
            let layout = TopLayout(Self.columns, rows, by: Self.order, width: width)
            #expect(layout.line(rows[0]).width <= width && layout.heading.width <= width)
        }
        let narrow = TopLayout(Self.columns, rows, by: Self.order, width: 24)
        #expect(narrow.line(rows[0]).text == "…r long name.jpg       7")
        #expect(narrow.heading.text == "NAME              COUNT▾")
    }

    @Test func rowsAreSortedByValueNotByText() {
        let rows = [Self.row("b", 900), Self.row("a", 1_000), Self.row("c", 20), Self.row("d", 20)]
        #expect(TopOrder(column: 1, isDescending: true).sorted(rows).map(\.id) == ["a", "b", "c", "d"])
        #expect(TopOrder(column: 1, isDescending: false).sorted(rows).map(\.id) == ["c", "d", "b", "a"])
        #expect(TopOrder(column: 0, isDescending: true).sorted(rows).map(\.id) == ["d", "c", "b", "a"])
        #expect(TopValue.none < .number(0) && TopValue.number(9) < .text("") && !(TopValue.none < .none))
    }

    @Test func nothingMovesTheCursor() {
        let hostile = "a\u{1B}[2J\u{7}\u{202E}\n"
        let row = TopRow(id: "x", cells: [TopCell(hostile)], details: [.init("label", hostile)])
        #expect(row.cells[0].text == "a\\x1b[2J\\x07\\xe2\\x80\\xae\\n" && row.details[0].text == row.cells[0].text)
        // What is escaped already is not escaped again.
        #expect(TopCell("card/a\\nb.jpg").text == "card/a\\nb.jpg")
        #expect(TopCell("back\\slash").text == "back\\\\slash")
    }

    @Test func commandsAreQuotedForTheShell() throws {
        let rows = TopRows(Samples.sample(try Samples.state(inHand: [("a; b.jpg", 5, "deferred")]))).rows(.files)
        let ask = rows.first?.details.first { $0.label == "ask" }
        #expect(ask?.text == "photoinbox explain 'card/a; b.jpg'")
    }

    @Test func everyRowHasACellForEachColumn() throws {
        let rows = TopRows(Samples.sample(try Samples.state(inHand: [("a.jpg", 5, "working")])))
        for view in TopView.allCases {
            for row in rows.rows(view) { #expect(row.cells.count == view.columns.count, "\(view)") }
            #expect(view.columns.indices.contains(view.order.column))
        }
        #expect(rows.rows(.monitors).count == 3 && rows.rows(.queues).count == 2 && rows.rows(.files).count == 1)
    }

    @Test func agesAreCountedByColumn() throws {
        let state = try Samples.state(
            second: 3, inHand: [("a.jpg", 0, "working"), ("b.jpg", 1, "queued"), ("c.jpg", 3, "queued")])
        let row = try #require(TopRows(Samples.sample(state)).rows(.inboxes).first)
        #expect(row.cells.map(\.text).prefix(10) == ["card", "live", "3", "", "", "", "", "", "3", "3 s"])
    }

    @Test(arguments: [
        "2026-11-24T14:08:00.000Z", "1970-01-01T00:00:00.000Z", "2000-02-29T23:59:59.999Z", "2024-12-31T12:00:00.500Z",
        "1900-03-01T00:00:00.000Z", "2026-11-24T14:08:00Z",
    ]) func times(_ text: String) throws {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
        let expected = try Date(text, strategy: style).timeIntervalSince1970
        #expect(TopRows.seconds(text) == (expected * 1e3).rounded() / 1e3)
        #expect(TopRows.seconds("x" + text.dropFirst()) == nil)
    }

    @Test func theWorstProblemIsFirstAndNoActionIsCut() throws {
        let problems = ["notice", "stopped", "warning"].map { severity in
            #"{"code":"PI-310","severity":"\#(severity)","subject":"\#(severity)","since":"2026-11-24T14:08:00.000Z","#
                + #""what":"1 photo deferred for 14 min: card/IMG_2041.HEIC","effect":"e","#
                + #""action":"photoinbox explain card/DCIM/IMG_2041.HEIC"}"#
        }
        let sample = Samples.sample(try Samples.state(problems: problems.joined(separator: ",")))
        let rows = TopView.problems.order.sorted(TopRows(sample).rows(.problems))
        #expect(rows.map { $0.cells[0].text } == ["stopped", "warning", "notice"])
        #expect(rows[0].cells[0].value == .text("stopped"))
        let heading = { TopLayout(TopView.problems.columns, rows, by: TopView.problems.order, width: $0).heading.text }
        #expect(!heading(78).contains("ACTION") && heading(118).contains("ACTION"))
    }

    @Test(arguments: [
        (0.0, "0.00"), (0.254, "0.25"), (3.14, "3.1"), (9.99, "9.9"), (0.996, "1.0"), (1_204.4, "1,204"), (-1, "0.00"),
    ])
    func rates(_ value: Double, _ text: String) { #expect(rateText(value) == text) }
}
