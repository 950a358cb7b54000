import Reporting

/// What `top` can show, each by a key.
enum TopView: String, CaseIterable, Sendable {
    case inboxes, files, monitors, queues, decoders, hooks, problems, outcomes

    /// `1` to `8`.
    var key: Character { Character("\((Self.allCases.firstIndex(of: self) ?? 0) + 1)") }

    /// The next one, or the one before, around the end.
    func moved(by count: Int) -> TopView {
        let all = Self.allCases
        let place = (all.firstIndex(of: self) ?? 0) + count
        return all[(place % all.count + all.count) % all.count]
    }

    var emptyText: String {
        switch self {
        case .inboxes: "no inbox is configured"
        case .files: "no file is in hand or waiting"
        case .monitors: "no monitor"
        case .queues: "no queue"
        case .decoders: "thumbnails are off: [pictures] in photoinbox.toml(5)"
        case .hooks: "no hook is configured"
        case .problems: "no problem"
        case .outcomes: "no outcome since the start"
        }
    }

    var order: TopOrder {
        switch self {
        case .inboxes, .queues, .decoders, .hooks, .problems: TopOrder(column: 0, isDescending: false)
        case .files: TopOrder(column: 2, isDescending: true)
        case .monitors: TopOrder(column: 3, isDescending: true)
        case .outcomes: TopOrder(column: 0, isDescending: true)
        }
    }

    var columns: [TopColumn] {
        switch self {
        case .inboxes:
            [
                .text("inbox", "INBOX"), .text("state", "STATE", limit: 20), .number("under_10_s", "<10 s", rank: 3),
                .number("under_1_min", "<1 m", rank: 3), .number("under_5_min", "<5 m", rank: 3),
                .number("under_30_min", "<30 m", rank: 3), .number("under_2_h", "<2 h", rank: 3),
                .number("older", "older", rank: 3), .number("waiting", "TOTAL"), .number("oldest_seconds", "OLDEST"),
                .number("filed", "FILED", rank: 4), .number("duplicate", "DUPLICATE", rank: 6),
                .number("quarantined", "QUARANTINED", rank: 5), .number("events_per_second", "EVENTS/S", rank: 7),
                .number("watches", "WATCHES", rank: 8),
            ]
        case .files:
            [
                .text("file", "FILE", flexible: true, cut: .start), .text("stage", "STAGE", limit: 10),
                .number("age_seconds", "AGE"), .text("what", "WHAT", flexible: true),
                .number("next_seconds", "NEXT IN", rank: 2), .number("attempts", "TRIES", rank: 3),
            ]
        case .monitors:
            [
                .text("kind", "KIND", limit: 12), .text("label", "LABEL", flexible: true),
                .text("state", "STATE", limit: 12), .number("events_per_second", "EVENTS/S"),
                .number("events", "EVENTS"), .number("median_microseconds", "MEDIAN", rank: 2),
                .number("p99_microseconds", "P99", rank: 1), .number("max_microseconds", "MAX", rank: 3),
                .number("errors", "ERRORS", rank: 4), .number("dropped", "DROPPED", rank: 6),
                .number("coalesced", "JOINED", rank: 7), .number("last_event_seconds", "LAST", rank: 5),
                .text("queue", "QUEUE", limit: 32, rank: 8),
            ]
        case .queues:
            [
                .text("name", "QUEUE", limit: 26), .text("step", "STEP", flexible: true),
                .number("step_seconds", "SINCE"), .number("waiting", "WAITING", rank: 1),
                .number("stuck_seconds", "STUCK FOR"), .text("label", "LABEL", limit: 32, rank: 2),
            ]
        case .decoders:
            [
                .text("step", "STEP", flexible: true), .number("decoders", "RUNNING"), .number("waiting", "WAITING"),
                .number("made", "MADE"), .number("made_per_second", "MADE/S"), .number("failed", "FAILED"),
                .number("started", "STARTED", rank: 1), .number("lost", "LOST", rank: 1),
                .number("process", "PROCESS", rank: 2), .text("trouble", "TROUBLE", limit: 60, rank: 3),
            ]
        case .hooks:
            [
                .text("hook", "HOOK"), .text("phase", "PHASE"), .number("phase_seconds", "SINCE"),
                .number("waiting", "WAITING"), .number("runs", "RUNS"), .number("failures", "FAILING"),
                .text("last_result", "LAST RESULT", flexible: true),
            ]
        case .problems:
            [
                .text("severity", "SEVERITY"), .text("code", "CODE"), .number("since_seconds", "FOR"),
                .text("what", "WHAT", flexible: true, minimumWidth: 30),
                // A truncated action is useless; Enter shows it.
                .text("action", "ACTION", rank: 1, flexible: true, minimumWidth: 36),
            ]
        case .outcomes:
            [
                .text("time", "TIME"), .text("outcome", "OUTCOME"),
                .text("file", "FILE", flexible: true, cut: .start), .number("seconds", "TOOK", rank: 1),
                .text("reason", "REASON", rank: 2, flexible: true),
            ]
        }
    }
}
