import CommandSupport
package import ControlProtocol
import FileValues
import LinuxKernel
package import Reporting

/// The daemon's state, for `status`.
package struct StateReport {
    package enum Detail {
        case normal, problemsOnly
        /// With problems that others cause.
        case all
    }

    package let state: DaemonState

    package init(_ state: DaemonState) { self.state = state }

    private var shownProblems: [DaemonState.Problem] { state.problems.filter { $0.hiddenBy == nil } }

    /// The worst severity of the shown problems.
    private var worst: ProblemSeverity? {
        shownProblems.compactMap { ProblemSeverity(rawValue: $0.severity) }.max()
    }

    package var exitStatus: ExitStatus {
        // An unknown severity counts as a failure.
        if shownProblems.contains(where: { ProblemSeverity(rawValue: $0.severity) == nil }) { return .failed }
        return ExitStatus(worst: worst)
    }

    /// The first line, without its label.
    package func verdict(now: Int64) -> String {
        let up = "up \(HumanText.age(Int64(max(0, min(state.program.uptimeSeconds, 1e12)))))"
        switch state.program.phase {
        case "starting", "stopping", "reloading": return state.program.phase
        default: break
        }
        switch worst {
        case .stopped:
            let since = shownProblems.filter { $0.severity == ProblemSeverity.stopped.rawValue }
                .compactMap { FileTime(rfc3339: $0.since)?.seconds }.min()
            guard let since else { return "FILING STOPPED" }
            let clock = LocalClock(at: since).timeOfDay(since)
            return "FILING STOPPED \(HumanText.age(now - since)) ago (\(clock))"
        case .warning: return "filing, \(count(.warning, "warning", "warnings")), \(up)"
        case .notice: return "filing normally, \(count(.notice, "notice", "notices")), \(up)"
        case nil:
            return state.inboxes.isEmpty ? "idle, no inbox is configured, \(up)" : "filing normally, \(up)"
        }
    }

    private func count(_ severity: ProblemSeverity, _ one: String, _ many: String) -> String {
        HumanText.count(shownProblems.count { $0.severity == severity.rawValue }, one, many)
    }

    // MARK: - Text

    package func text(_ style: TextStyle, detail: Detail, now: Int64) -> String {
        var text = LabelledText()
        text.add("photoinboxd", printable(verdict(now: now)), textPaint: worst.map(Self.paint) ?? .good)
        if detail != .problemsOnly {
            for inbox in state.inboxes { text.add(printable(inbox.name), inboxText(inbox, now: now)) }
            for card in state.cards ?? [] { text.add("card", card.text(now: now)) }
            if !state.library.isEmpty {
                let free = state.libraryFreeBytes.map { "\(HumanText.bytes(UInt64(max(0, $0)))) free" }
                text.add("library", [free, printable(state.library)].compactMap(\.self).joined(separator: ", "))
            }
            if !state.library.isEmpty { text.add("verified", verifiedText(now: now)) }
            if let pictures = state.pictures { text.add("thumbnails", pictures.text) }
            if let links = state.linkSummary(now: now) { text.add("links", links) }
            if let counts = state.totals {
                text.add(
                    "since start",
                    "\(HumanText.count(counts.filed)) filed, \(HumanText.count(counts.duplicate, "duplicate", "duplicates")), "
                        + "\(HumanText.count(counts.quarantined)) quarantined, \(HumanText.count(counts.ignored)) ignored"
                )
            }
        }
        addProblems(to: &text, detail)
        return text.rendered(style)
    }

    private func verifiedText(now: Int64) -> String {
        guard let verified = state.libraryVerified else { return "never" }
        let time = { (text: String) in FileTime(rfc3339: text).map { shortTime($0, now: now) } ?? printable(text) }
        guard let whole = verified.whole else { return "in part \(time(verified.last)), never completely" }
        return "completely \(time(whole))" + (verified.last == whole ? "" : ", in part \(time(verified.last))")
    }

    private func inboxText(_ inbox: DaemonState.Inbox, now: Int64) -> String {
        var parts = [printable(inbox.verdict)]
        if let paused = inbox.paused {
            let since = FileTime(rfc3339: paused.since).map { " since \(shortTime($0, now: now))" } ?? ""
            parts.append("PAUSED\(since) by \(printable(paused.by))")
        }
        parts += inbox.coverageTexts(now: now)
        let own = state.inHand.filter { $0.inbox == inbox.name }
        if inbox.counts.inHand > 0 { parts.append("\(HumanText.count(inbox.counts.inHand)) in hand") }
        if inbox.counts.deferred > 0 { parts.append("\(HumanText.count(inbox.counts.deferred)) deferred") }
        if let written = inbox.beingWritten { parts.append("\(HumanText.count(written)) being written") }
        if inbox.counts.inHand == 0, inbox.counts.deferred == 0, inbox.beingWritten == nil {
            parts.append("nothing waiting")
        }
        if let others = inbox.leftAlone, others > 0 {
            parts.append("\(HumanText.count(others, "file", "files")) left alone")
        }
        if let oldest = own.compactMap({ FileTime(rfc3339: $0.firstSeen)?.seconds }).min() {
            parts.append("oldest \(HumanText.age(now - oldest))")
        }
        return parts.joined(separator: ", ")
    }

    private func addProblems(to text: inout LabelledText, _ detail: Detail) {
        let problems = detail == .all ? state.problems : shownProblems
        guard !problems.isEmpty else { return text.add("problems", "none") }
        text.addBlank()
        for problem in problems {
            let paint = ProblemSeverity(rawValue: problem.severity).map(Self.paint)
            text.add(
                printable(problem.severity), "\(printable(problem.code))  \(printable(problem.what))", labelPaint: paint
            )
            text.add("effect", printable(problem.effect))
            text.add("action", printable(problem.action))
            if let see = problem.see, problem.severity == ProblemSeverity.stopped.rawValue {
                text.add("see", printable(see))
            }
            if let cause = problem.hiddenBy { text.add("cause", printable(cause)) }
        }
        guard detail != .all else { return }
        let hidden = state.problems.compactMap(\.hiddenBy)
        for cause in Set(hidden).sorted() {
            let count = hidden.count { $0 == cause }
            text.add(
                "hidden",
                "\(HumanText.count(count, "problem", "problems")) caused by \(printable(cause)); show with --all")
        }
    }

    private static func paint(_ severity: ProblemSeverity) -> TextStyle.Paint {
        switch severity {
        case .notice: .notice
        case .warning: .warning
        case .stopped: .bad
        }
    }

    // MARK: - JSON

    package var json: JSONValue {
        let now = FileTime(rfc3339: state.at)?.seconds ?? 0
        return .document([
            JSONField("version", state.program.version), JSONField("time", state.at),
            JSONField("verdict", verdict(now: now)), JSONField("severity", worst?.rawValue),
            JSONField("pid", state.program.pid), JSONField("phase", state.program.phase),
            JSONField("uptime_seconds", state.program.uptimeSeconds), JSONField("inboxes", state.inboxes),
            JSONField("watch_need", state.watchNeed), JSONField("liveness", state.liveness),
            JSONField("pictures", state.pictures), JSONField("cards", state.cards), JSONField("links", state.links),
            JSONField(
                "library",
                .object(
                    pathFields("path", state.library) + [
                        JSONField("free_bytes", state.libraryFreeBytes),
                        JSONField("verified_part", state.libraryVerified?.last),
                        JSONField("verified_whole", state.libraryVerified?.whole),
                    ])), JSONField("counts", state.totals),
            JSONField(
                "problems",
                state.problems.map { problem in
                    JSONValue.object([
                        JSONField("code", problem.code), JSONField("severity", problem.severity),
                        JSONField("subject", problem.subject), JSONField("since", problem.since),
                        JSONField("title", problem.what), JSONField("effect", problem.effect),
                        JSONField("action", problem.action), JSONField("see", problem.see),
                        JSONField("hidden_by", problem.hiddenBy),
                    ])
                }),
        ])
    }
}

/// A path from escaped text of the state.
private func pathFields(_ name: String, _ escaped: String) -> [JSONField] {
    BytePath(escaped: escaped).map { JSONField.path(name, $0) } ?? [JSONField(name, escaped)]
}

extension DaemonState {
    /// The sum over all inboxes; nil if there is none.
    package var totals: Counts? {
        inboxes.isEmpty ? nil : inboxes.reduce(into: Counts()) { $0 += $1.counts }
    }
}

extension DaemonState.Counts: JSONRepresentable {
    package var json: JSONValue {
        .object([
            JSONField("seen", seen), JSONField("filed", filed), JSONField("duplicate", duplicate),
            JSONField("quarantined", quarantined), JSONField("ignored", ignored), JSONField("withdrawn", withdrawn),
            JSONField("deferred", deferred), JSONField("in_hand", inHand),
        ])
    }
}

extension DaemonState.Inbox: JSONRepresentable {
    package var json: JSONValue {
        .object(
            [JSONField("name", name)] + pathFields("path", path) + [
                JSONField("mode", mode), JSONField("state", verdict), JSONField("reason", reason),
                JSONField("stalled_seconds", stalledSeconds), JSONField("watches", watches),
                JSONField("polled_folders", polledDirectories), JSONField("coverage", coverage),
                JSONField("counts", counts), JSONField("left_alone", leftAlone), JSONField("overflows", overflows),
                JSONField(
                    "paused", paused.map { JSONValue.object([JSONField("since", $0.since), JSONField("by", $0.by)]) }),
                JSONField("last_reconciliation", lastReconciliation),
            ])
    }
}
