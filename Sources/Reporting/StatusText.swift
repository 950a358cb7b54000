/// Writes a ``StatusReport`` for people.
package struct StatusText: Sendable {
    /// How much is shown.
    package enum Detail: Hashable, Sendable {
        case normal
        /// The verdict and the problems only: `-x`.
        case problemsOnly
        /// Problems that others explain as well: `--all`.
        case all
    }

    private let report: StatusReport
    private let clock: LocalClock

    package init(_ report: StatusReport, clock: LocalClock) {
        self.report = report
        self.clock = clock
    }

    /// The first line without its label; also the service's status text. See sd_notify(3).
    package var verdict: String {
        let visible = report.problems.visible(at: report.now)
        let up = "up \(HumanText.age(report.uptime))"
        switch report.phase {
        case .starting: return "starting"
        case .stopping: return "stopping"
        case .running: break
        }
        let stopped = visible.filter { $0.severity == .stopped }
        if let first = stopped.map(\.since).min() {
            return "FILING STOPPED \(HumanText.age(report.now - first)) ago (\(clock.timeOfDay(first)))"
        }
        let warnings = visible.count { $0.severity == .warning }
        if warnings > 0 { return "filing, \(HumanText.count(warnings, "warning", "warnings")), \(up)" }
        if report.inboxes.isEmpty { return "idle, no inbox is configured, \(up)" }
        let notices = visible.count { $0.severity == .notice }
        if notices > 0 { return "filing normally, \(HumanText.count(notices, "notice", "notices")), \(up)" }
        return "filing normally, \(up)"
    }

    /// The whole; each line ends with a newline.
    package func rendered(_ style: TextStyle, detail: Detail = .normal) -> String {
        var text = LabelledText()
        let worst = report.problems.worst(at: report.now)
        text.add("photoinboxd", verdict, textPaint: worst.map(Self.paint) ?? .good)
        var hasRows = false
        if detail != .problemsOnly {
            for (label, row) in rows() {
                text.add(label, row)
                hasRows = true
            }
        }
        addProblems(to: &text, detail: detail, afterRows: hasRows)
        return text.rendered(style)
    }

    // MARK: - Rows

    private func rows() -> [(String, String)] {
        var rows = report.inboxes.map { ($0.name, Self.text(of: $0)) }
        if let library = report.library { rows.append(("library", Self.text(of: library))) }
        if let today = report.today {
            rows.append(
                (
                    "today",
                    "\(HumanText.count(today.filed)) filed, "
                        + "\(HumanText.count(today.duplicates, "duplicate", "duplicates")), "
                        + "\(HumanText.count(today.quarantined)) quarantined"
                ))
        }
        if let verification = report.verification { rows.append(("verified", text(of: verification))) }
        return rows
    }

    private static func text(of inbox: StatusReport.Inbox) -> String {
        var parts: [String] = []
        var separator = ", "
        switch inbox.watch {
        case .live: parts.append("live")
        case .partlyPolled(let folders, let total, let interval):
            separator = "; "
            parts.append("live")
            parts.append(
                "\(HumanText.count(folders)) of \(HumanText.count(total, "folder", "folders")) polled every "
                    + HumanText.age(interval))
        case .polled(let interval): parts.append("polled every \(HumanText.age(interval))")
        case .reading: parts.append("reading what is there")
        case .missing: parts.append("not there")
        case .stalled(let seconds): parts.append("no answer for \(HumanText.age(seconds))")
        case .paused: parts.append("paused")
        }
        let isQuiet = inbox.arriving == 0 && inbox.waiting == 0 && inbox.deferred == 0
        if inbox.arriving > 0 { parts.append("\(HumanText.count(inbox.arriving)) arriving") }
        if inbox.waiting > 0 { parts.append("\(HumanText.count(inbox.waiting)) waiting") }
        if inbox.deferred > 0 { parts.append("\(HumanText.count(inbox.deferred)) deferred") }
        if isQuiet, inbox.watch != .missing, inbox.watch != .reading { parts.append("nothing waiting") }
        if !isQuiet, let oldest = inbox.oldest { parts.append("oldest \(HumanText.age(oldest))") }
        return parts.joined(separator: separator)
    }

    private static func text(of library: StatusReport.Library) -> String {
        var text = "\(HumanText.bytes(library.freeBytes)) free"
        if let pace = library.bytesPerDay, pace > 0 {
            let days = library.freeBytes / pace
            if days < 100 * 365 { text += ", about \(HumanText.age(Int64(days) * 86_400)) at this pace" }
        }
        return text
    }

    private func text(of verification: StatusReport.Verification) -> String {
        let isRecent = (0..<7 * 86_400).contains(report.now - verification.finished)
        let when = isRecent ? clock.weekdayAndTime(verification.finished) : clock.date(verification.finished)
        let damage = verification.damaged == 0 ? "no damage" : "\(HumanText.count(verification.damaged)) DAMAGED"
        return "\(when), \(HumanText.count(verification.photos, "photo", "photos")), \(damage)"
    }

    // MARK: - Problems

    private func addProblems(to text: inout LabelledText, detail: Detail, afterRows: Bool) {
        let visible = report.problems.visible(at: report.now)
        let hidden = report.problems.hidden(at: report.now)
        if visible.isEmpty {
            text.add("problems", "none")
            return
        }
        if afterRows { text.addBlank() }
        for problem in visible { add(problem, to: &text) }
        if detail == .all {
            for explained in hidden { add(explained.problem, cause: explained.cause, to: &text) }
        } else {
            for cause in Set(hidden.map(\.cause)).sorted() {
                let count = hidden.count { $0.cause == cause }
                text.add(
                    "hidden",
                    "\(HumanText.count(count, "problem", "problems")) caused by \(cause.rawValue); show with --all")
            }
        }
        if report.problems.dropped > 0 {
            text.add("", "\(HumanText.count(report.problems.dropped)) more than can be listed")
        }
    }

    private func add(_ problem: Problem, cause: ProblemCode? = nil, to text: inout LabelledText) {
        text.add(
            problem.severity.rawValue, "\(problem.code.rawValue)  \(problem.title(clock: clock))",
            labelPaint: Self.paint(problem.severity))
        text.add("effect", problem.effect(clock: clock))
        text.add("action", problem.action(clock: clock))
        if let see = problem.code.row.see, problem.severity == .stopped { text.add("see", see) }
        if let cause { text.add("cause", cause.rawValue) }
    }

    private static func paint(_ severity: ProblemSeverity) -> TextStyle.Paint {
        switch severity {
        case .notice: .notice
        case .warning: .warning
        case .stopped: .bad
        }
    }
}
