import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import LinuxKernel
import Reporting

/// The lines of a screen. Pure.
struct TopScreen {
    let columns: Int
    let rows: Int

    /// The frame for `model`, which is set to the number of rows that fit.
    func frame(_ model: inout TopModel) -> TopFrame {
        var lines = header(model)
        let space = max(0, rows - lines.count - 1)
        switch model.overlay {
        case .none: lines += table(&model, space)
        case .help: lines += overlay(Self.help.map { TopLine($0) }, &model, space)
        case .detail: lines += overlay(detail(model), &model, space)
        }
        lines = Array(lines.prefix(max(0, rows - 1)))
        lines += Array(repeating: TopLine(), count: max(0, rows - 1 - lines.count))
        return TopFrame(columns: columns, rows: rows, lines + [footer(model)])
    }

    /// One frame for standard output that is no terminal: every row of the view.
    func page(_ model: TopModel) -> [TopLine] {
        let all = model.rows
        let layout = TopLayout(model.view.columns, all, by: model.order, width: columns)
        let body = all.isEmpty ? [TopLine(model.view.emptyText)] : all.map { layout.line($0) }
        return summary(model) + [TopLine(), layout.heading] + body
    }

    // MARK: - Above the table

    private func header(_ model: TopModel) -> [TopLine] {
        // A small screen keeps the verdict, the views and the table; a tiny one has no room for the views either.
        let full = summary(model)
        if rows < 6 { return Array(full.prefix(1)) }
        return (rows >= 10 ? full : Array(full.prefix(1))) + [views(model)]
    }

    private func summary(_ model: TopModel) -> [TopLine] {
        guard let sample = model.sample else {
            let line = model.failure.map { TopLine("photoinboxd  " + printableOnce($0.text), .bad) }
            return [line ?? TopLine("photoinboxd  connecting …"), TopLine(), TopLine()]
        }
        return [verdict(model, sample), machine(sample), stages(sample)]
    }

    private func verdict(_ model: TopModel, _ sample: TopSample) -> TopLine {
        let report = StateReport(sample.state)
        let now = Int64(TopRows.seconds(sample.state.at) ?? 0)
        var line = TopLine("photoinboxd  ")
        if let trouble = model.failure {
            line.add("NO ANSWER: \(printableOnce(trouble.message)); retrying. Below: as of \(clock(now))", .bad)
            return line
        }
        let paint: TextStyle.Paint =
            switch report.exitStatus {
            case .ok: .good
            case .someLeft: .warning
            default: .bad
            }
        line.add(printableOnce(report.verdict(now: now)), paint)
        if let rate = sample.filedPerMinute, rate > 0 {
            line.add("   \(rateText(rate)) photos/min")
            let waiting = sample.state.inboxes.reduce(0) { $0 + $1.counts.inHand }
            if waiting > 0 { line.add("   about \(HumanText.age(Int64(min(Double(waiting) / rate * 60, 1e12)))) left") }
        }
        line.add("   \(clock(now))")
        if model.isFrozen { line.add("   FROZEN", .notice) }
        return line
    }

    private func clock(_ now: Int64) -> String {
        let clock = LocalClock(at: now)
        let second = ((now + Int64(clock.offset)) % 60 + 60) % 60
        return "\(clock.timeOfDay(now)):\(second < 10 ? "0" : "")\(second)"
    }

    /// Parts that do not fit are omitted, from the end.
    private func machine(_ sample: TopSample) -> TopLine {
        let program = sample.state.program
        var parts: [(name: String, text: String)] = [
            ("cpu", sample.processors.map { "\(rateText($0 * 100)) %" } ?? "…"),
            ("memory", HumanText.bytes(UInt64(max(0, program.residentBytes)))),
            ("watches", HumanText.count(sample.state.inboxes.reduce(0) { $0 + $1.watches })),
            ("threads", HumanText.count(program.threads)), ("descriptors", HumanText.count(program.descriptors)),
            ("pid", "\(program.pid)"), ("version", printableOnce(program.version)),
        ]
        if !sample.load.isEmpty {
            parts.insert(("load", sample.load.map { rateText($0) }.joined(separator: " ")), at: 0)
        }
        var line = TopLine()
        for part in parts {
            let name = (line.width == 0 ? "" : "   ") + part.name + " "
            guard line.width + displayWidth(name + part.text) <= columns else { break }
            line.add(name, .faint)
            line.add(part.text)
        }
        return line
    }

    /// If there is no room, zero counts are omitted first, so that problems are always visible.
    private func stages(_ sample: TopSample) -> TopLine {
        let counts = Dictionary(sample.state.inHand.map { ($0.stage, 1) }, uniquingKeysWith: +)
        let shown = sample.state.problems.filter { $0.hiddenBy == nil }.count
        var parts: [(name: String, count: Int, paint: TextStyle.Paint?)] = [
            "queued", "working", "settling", "gathering", "deferred",
        ].map { ($0, counts[$0] ?? 0, $0 == "deferred" && counts[$0] != nil ? .warning : nil) }
        if let more = sample.state.inHandOmitted { parts.append(("more", more, .notice)) }
        parts.append(("problems", shown, shown > 0 ? .warning : nil))
        let line = { () -> TopLine in
            var line = TopLine()
            for part in parts {
                line.add((line.width == 0 ? "" : "   ") + part.name + " ", .faint)
                line.add(HumanText.count(part.count), part.paint)
            }
            return line
        }
        while parts.count > 1, line().width > columns {
            parts.remove(at: parts.firstIndex { $0.count == 0 } ?? 0)
        }
        return line()
    }

    /// If there is no room for all names, only that of the current view.
    private func views(_ model: TopModel) -> TopLine {
        let line = { (isShort: Bool) -> TopLine in
            var line = TopLine()
            for view in TopView.allCases {
                let isShown = view == model.view
                if line.width > 0 { line.add(" ") }
                let text = isShort && !isShown ? "\(view.key)" : "\(view.key) \(view.rawValue)"
                line.add(isShown ? "[\(text)]" : text, isShown ? .strong : .faint)
            }
            return line
        }
        let full = line(false)
        return full.width <= columns ? full : line(true)
    }

    // MARK: - The table and overlays

    private func table(_ model: inout TopModel, _ space: Int) -> [TopLine] {
        let all = model.rows
        let layout = TopLayout(model.view.columns, all, by: model.order, width: max(0, columns - 2))
        let room = max(0, space - 1)
        model.fit(room, rows: all)
        var heading = TopLine("  ")
        for piece in layout.heading.pieces { heading.add(piece.text, piece.paint) }
        guard !all.isEmpty else {
            let text =
                model.sample == nil
                ? "" : model.filter.isEmpty ? model.view.emptyText : "nothing matches \(model.filter)"
            return [heading, TopLine("  " + text, .faint)]
        }
        let selection = model.selection ?? all.first?.id
        let shown = all.dropFirst(model.scroll).prefix(room).map { row in
            let isSelected = row.id == selection
            // The mark shows the selection without reversed video.
            var line = TopLine(isSelected ? "> " : "  ")
            for piece in layout.line(row).pieces { line.add(piece.text, piece.paint) }
            line.isReversed = isSelected
            return line
        }
        return [heading] + shown
    }

    private func overlay(_ lines: [TopLine], _ model: inout TopModel, _ space: Int) -> [TopLine] {
        model.fit(overlayPage: space, lines: lines.count)
        return Array(lines.dropFirst(model.overlayScroll).prefix(space))
    }

    private func detail(_ model: TopModel) -> [TopLine] {
        guard let row = model.detailed else { return [TopLine(), TopLine("  no longer there", .notice)] }
        let width = (row.details.map { displayWidth($0.label) }.max() ?? 0) + 2
        return [TopLine()]
            + row.details.flatMap { detail in
                let lines = wrapped(detail.text, to: max(20, columns - width - 3))
                return lines.enumerated().map { place, text in
                    var line = TopLine(fitted(place == 0 ? detail.label : "", to: width, .right) + "  ", .faint)
                    line.add(text)
                    return line
                }
            }
    }

    private func footer(_ model: TopModel) -> TopLine {
        if model.isTyping { return TopLine("find: \(model.filter)▏  Enter keep  Esc clear") }
        if model.overlay != .none { return TopLine("Esc back   ↑↓ scroll   q quit", .faint) }
        var line = TopLine()
        if !model.filter.isEmpty { line.add("matching \(model.filter) (Esc: all)   ", .notice) }
        line.add(keys(in: columns - line.width), .faint)
        return line
    }

    /// As many keys as fit; the last two that remain are "quit" and "help".
    private func keys(in room: Int) -> String {
        var keys = ["q quit", "1-8 view", "↑↓ Enter fields", "s sort", "r reverse", "/ find", "z freeze", "? help"]
        while keys.count > 2, displayWidth(keys.joined(separator: "  ")) > room { keys.remove(at: keys.count - 2) }
        return keys.joined(separator: "  ")
    }

    static let help = [
        "", "  1 … 8, Tab, ← →   another view", "  ↑ ↓ j k           select a row; PgUp, PgDn, Home, End",
        "  Enter             all fields of the row; Esc goes back",
        "  s S               sort by the next column, or the one before",
        "  r                 reverse the order",
        "  /                 show only rows that contain a text; Esc shows all",
        "  z                 freeze the view; filing continues",
        "  + -               longer or shorter interval", "  space             update now",
        "  q, Ctrl-C         quit", "  Ctrl-Z            back to the shell, until fg", "",
        "  EVENTS/S, photos/min and cpu are rates between two samples. MEDIAN, P99 and",
        "  MAX are times of a handler since the monitor was set up. SINCE is how long a",
        "  queue has been in its step, STUCK FOR how long it has not answered.", "",
        "  photoinbox explain FILE says why a file waits; photoinbox status what to do.",
    ]
}

/// `text` in lines of at most `columns`, broken between words if possible.
func wrapped(_ text: String, to columns: Int) -> [String] {
    var (lines, line, width) = ([String](), "", 0)
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
        let size = displayWidth(String(word))
        if !line.isEmpty, width + 1 + size > columns {
            lines.append(line)
            (line, width) = ("", 0)
        }
        if !line.isEmpty {
            line += " "
            width += 1
        }
        for character in word {
            let one = displayWidth(String(character))
            if width + one > columns {
                lines.append(line)
                (line, width) = ("", 0)
            }
            line.append(character)
            width += one
        }
    }
    return lines + (line.isEmpty && !lines.isEmpty ? [] : [line])
}
