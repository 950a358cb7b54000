import Reporting
import Testing

@testable import CommandContact
@testable import Top

struct TopModelTests {
    private static func model(_ view: TopView = .monitors, monitors: Int = 3) throws -> TopModel {
        var model = TopModel(interval: 1, view: view)
        model.received(Samples.sample(try Samples.state(delivered: 10, monitors: monitors)))
        return model
    }

    /// Presses keys one after the other; returns the effect of the last one.
    @discardableResult
    private static func press(_ text: String, _ model: inout TopModel) -> TopModel.Effect {
        var effect = TopModel.Effect.none
        for scalar in text.unicodeScalars { effect = model.press(.character(scalar)) }
        return effect
    }

    private static func lines(_ model: inout TopModel, columns: Int = 80, rows: Int = 24) -> [String] {
        TopScreen(columns: columns, rows: rows).frame(&model).lines.map(\.text)
    }

    @Test func keysChooseViews() throws {
        var model = try Self.model(.inboxes)
        #expect(Self.press("3", &model) == .redraw)
        #expect(model.view == .monitors)
        let tabbed = model.press(.tab)
        #expect(tabbed == .redraw && model.view == .queues)
        for _ in 0..<4 { _ = model.press(.left) }
        #expect(model.view == .outcomes, "around the end")
        #expect(Self.press("9", &model) == .none && Self.press("q", &model) == .quit)
    }

    @Test func sortingSelectsEachColumn() throws {
        var model = try Self.model()
        #expect(model.rows.map(\.id) == ["0", "1", "2"], "nothing happens, so by identity")
        Self.press("s", &model)
        #expect(model.order == TopOrder(column: 4, isDescending: true) && model.rows.map(\.id) == ["2", "1", "0"])
        Self.press("r", &model)
        #expect(model.rows.map(\.id) == ["0", "1", "2"])
        for _ in model.view.columns { Self.press("s", &model) }
        #expect(model.order.column == 4, "around the end")
        Self.press("S", &model)
        #expect(model.order.column == 3)
        Self.press("2", &model)
        #expect(model.order == TopView.files.order, "each view has its own")
    }

    @Test func theSelectionStaysWithItsRow() throws {
        var model = try Self.model(monitors: 100)
        _ = Self.lines(&model)
        Self.press("jj", &model)
        let chosen = try #require(model.selection)
        Self.press("r", &model)
        #expect(model.selection == chosen)
        // And on the screen, wherever its row is now.
        for rows in [5, 7, 10, 24, 60] {
            #expect(Self.lines(&model, rows: rows).contains { $0.hasPrefix("> ") }, "\(rows)")
        }
        _ = model.press(.end)
        _ = model.press(.pageUp)
        _ = model.press(.home)
        #expect(model.selection == model.rows.first?.id)
    }

    @Test func drillDownAndBack() throws {
        var model = try Self.model()
        Self.press("j", &model)
        _ = model.press(.enter)
        #expect(model.overlay == .detail("1"))
        let lines = Self.lines(&model)
        #expect(lines.contains { $0.contains("kind  TimerMonitor") } && lines.contains { $0.contains("max  3.0 ms") })
        model.received(Samples.sample(try Samples.state(monitors: 1)))
        #expect(Self.lines(&model).contains { $0.contains("no longer there") })
        _ = model.press(.escape)
        #expect(model.overlay == .none)
        Self.press("?", &model)
        #expect(model.overlay == .help && Self.lines(&model).contains { $0.contains("Ctrl-Z") })
        #expect(Self.press("x", &model) == .redraw && model.overlay == .none)
    }

    @Test func finding() throws {
        var model = try Self.model(monitors: 12)
        Self.press("/TIMER 1q", &model)
        #expect(model.isTyping && model.rows.isEmpty, "q is a letter here")
        _ = model.press(.backspace)
        #expect(model.rows.map(\.cells[1].text).sorted() == ["timer 1", "timer 10", "timer 11"])
        _ = model.press(.enter)
        #expect(!model.isTyping && Self.lines(&model).last?.hasPrefix("matching TIMER 1 (Esc: all)") == true)
        _ = model.press(.escape)
        #expect(model.rows.count == 12)
        Self.press("/", &model)
        Self.press(String(repeating: "x", count: 1_000), &model)
        #expect(model.filter.count == 64)
    }

    @Test func freezingKeepsTheSample() throws {
        var model = try Self.model()
        #expect(Self.press("z", &model) == .redraw && model.isFrozen)
        model.received(Samples.sample(try Samples.state(monitors: 1)))
        #expect(model.rows.count == 3 && Self.lines(&model)[0].contains("FROZEN"))
        #expect(Self.press("z", &model) == .refresh && !model.isFrozen)
        model.received(Samples.sample(try Samples.state(monitors: 1)))
        #expect(model.rows.count == 1)
    }

    @Test func theIntervalHasLimits() throws {
        var model = try Self.model()
        #expect(Self.press("+", &model) == .reschedule && model.interval == 2)
        Self.press("+++++++++", &model)
        #expect(model.interval == 60 && Self.press("+", &model) == .none)
        Self.press("-----------", &model)
        #expect(model.interval == 0.2 && Self.press("-", &model) == .none)
    }

    @Test func aMissingDaemonIsReported() throws {
        var model = TopModel(interval: 1)
        #expect(Self.lines(&model)[0] == "photoinboxd  connecting …")
        model.failed(ControlContact.down)
        #expect(Self.lines(&model)[0].hasPrefix("photoinboxd  photoinboxd is not running. Start it:"))
        var known = try Self.model()
        known.failed(ControlContact.down)
        let lines = Self.lines(&known, columns: 120)
        let words = "photoinboxd  NO ANSWER: photoinboxd is not running; retrying. Below: as of "
        #expect(lines[0].hasPrefix(words) && lines[0].hasSuffix(":00"))
        #expect(lines.contains { $0.contains("timer 1") }, "what is known stays")
        known.received(Samples.sample(try Samples.state()))
        #expect(Self.lines(&known)[0].contains("filing normally, up 2 h"))
    }

    @Test func everySizeHasAFrame() throws {
        for view in TopView.allCases {
            var model = try Self.model(view, monitors: 30)
            for (columns, rows) in [(1, 1), (2, 2), (10, 3), (20, 5), (40, 9), (80, 24), (200, 60)] {
                let frame = TopScreen(columns: columns, rows: rows).frame(&model)
                let fits = frame.lines.count == rows && frame.lines.allSatisfy { $0.width <= columns }
                #expect(fits, "\(view) \(columns)")
            }
        }
    }

    @Test func jsonHasEveryView() throws {
        let text = Samples.sample(try Samples.state(inHand: [("a.jpg", 5, "working")])).json.compact
        #expect(text.hasPrefix(#"{"format":1,"version":"1","time":"2026-11-24T14:08:00.000Z","phase":"running""#))
        for view in TopView.allCases { #expect(text.contains("\"\(view.rawValue)\":[")) }
        #expect(text.contains(#""events_per_second":0,"events":0,"median_microseconds":10,"#))
        #expect(text.contains(#""step":"copying: card/a.jpg","step_seconds":0,"waiting":2,"stuck_seconds":12.5"#))
    }
}
