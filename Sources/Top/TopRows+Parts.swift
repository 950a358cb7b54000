import ControlProtocol
import FileValues
import LinuxKernel
import Reporting

/// The daemon's own parts.
extension TopRows {
    func row(_ monitor: DaemonState.Monitor) -> TopRow {
        let kind = monitor.kind.hasSuffix("Monitor") ? String(monitor.kind.dropLast(7)) : monitor.kind
        let rate = sample.monitorRates[monitor.key]
        let spread = monitor.handlerMicroseconds
        let time = { (value: Double?) in value.map { TopCell.microseconds($0).text } }
        return TopRow(
            id: monitor.key,
            cells: [
                TopCell(kind), TopCell(monitor.label), TopCell(monitor.state, nil, Self.paint(monitor)), .rate(rate),
                .count(monitor.delivered), .microseconds(spread?.median), .microseconds(spread?.p99),
                .microseconds(spread?.max), .count(monitor.errors, .bad, blank: true),
                .count(monitor.dropped, blank: true), .count(monitor.coalesced, blank: true),
                .age(age(monitor.lastEvent)), TopCell(monitor.queue),
            ],
            details: [
                .init("kind", monitor.kind), .init("label", monitor.label), .init("number", monitor.id.map { "\($0)" }),
                .init("state", monitor.state), .init("since", when(monitor.since)),
                .init("queue", monitor.queue), .init("set up at", monitor.createdAt),
                .init("events", HumanText.count(monitor.delivered)), .init("events/s", rate.map { rateText($0) }),
                .init("dropped", HumanText.count(monitor.dropped)),
                .init("joined", HumanText.count(monitor.coalesced)), .init("last event", when(monitor.lastEvent)),
                .init("handler min", time(spread?.min)), .init("median", time(spread?.median)),
                .init("p99", time(spread?.p99)), .init("max", time(spread?.max)),
                .init("running", monitor.runningSeconds.map { "for \(HumanText.age(Int64(min($0, 1e12))))" }),
                .init("rate limit", monitor.rateLimitHits.map { "delayed \(HumanText.count($0)) times" }),
                .init("errors", HumanText.count(monitor.errors)), .init("last error", monitor.lastError),
            ])
    }

    private static func paint(_ monitor: DaemonState.Monitor) -> TextStyle.Paint? {
        switch monitor.state {
        case "active": .good
        case "disabled": .bad
        default: .notice
        }
    }

    func row(_ queue: DaemonState.Subsystem) -> TopRow {
        let isIdle = queue.step == "idle"
        return TopRow(
            id: queue.name,
            cells: [
                TopCell(queue.name), TopCell(queue.step, nil, isIdle ? .faint : nil),
                .age(age(queue.since)), .count(queue.waiting, blank: true), .age(queue.stuckSeconds, .bad),
                TopCell(queue.queue),
            ],
            details: [
                .init("queue", queue.name), .init("label", queue.queue), .init("step", queue.step),
                .init("since", when(queue.since)), .init("waiting", HumanText.count(queue.waiting)),
                .init(
                    "stuck",
                    queue.stuckSeconds.map { "not answered for \(HumanText.age(Int64(min($0, 1e12))))" }
                        ?? "no, it answers"),
            ])
    }

    func row(_ pictures: DaemonState.Pictures) -> TopRow {
        let trouble = pictures.trouble ?? pictures.unconfined
        return TopRow(
            id: "decoders",
            cells: [
                TopCell(pictures.step, nil, pictures.step == "idle" ? .faint : nil), .count(pictures.decoders),
                .count(pictures.waiting), .count(pictures.made), .rate(sample.picturesPerSecond),
                .count(pictures.failed, .warning), .count(pictures.decodersStarted),
                .count(pictures.decodersLost, .warning),
                pictures.decoder.map { TopCell("\($0)", .number(Double($0))) } ?? TopCell(""),
                TopCell(trouble ?? "", nil, .warning),
            ],
            details: [
                .init("step", pictures.step), .init("decoders", HumanText.count(pictures.decoders)),
                .init("process", pictures.decoder.map { "\($0)" }), .init("waiting", HumanText.count(pictures.waiting)),
                .init("made", HumanText.count(pictures.made)), .init("failed", HumanText.count(pictures.failed)),
                .init("started", HumanText.count(pictures.decodersStarted)),
                .init("lost", HumanText.count(pictures.decodersLost)),
                .init("not confined", pictures.unconfined), .init("trouble", pictures.trouble),
            ])
    }

    func row(_ hook: DaemonState.Hook) -> TopRow {
        TopRow(
            id: hook.name,
            cells: [
                TopCell(hook.name), TopCell(hook.phase, nil, hook.phase == "idle" ? .faint : nil),
                .age(age(hook.since)), .count(hook.waiting, blank: true), .count(hook.runs),
                .count(hook.failures, .warning, blank: true), TopCell(hook.lastResult ?? ""),
            ],
            details: [
                .init("hook", hook.name), .init("events", hook.on.joined(separator: ", ")),
                .init("phase", hook.phase), .init("since", when(hook.since)),
                .init("handled up to", hook.told.map { "operation \($0)" }),
                .init("waiting", HumanText.count(hook.waiting)), .init("runs", HumanText.count(hook.runs)),
                .init("failing", HumanText.count(hook.failures)),
                .init("skipped", HumanText.count(hook.passedOver)), .init("last ended", when(hook.lastEnded)),
                .init("last result", hook.lastResult),
                .init("last took", hook.lastSeconds.map { TopCell.microseconds($0 * 1e6).text }),
            ])
    }

    func row(_ problem: DaemonState.Problem, _ place: Int) -> TopRow {
        let paint: TextStyle.Paint =
            switch problem.severity {
            case "notice": .notice
            case "warning": .warning
            default: .bad
            }
        var severity = TopCell(problem.severity, nil, paint)
        // The worst one first, which its word's first letter does not know.
        severity.rank = .number(paint == .notice ? 2 : paint == .warning ? 1 : 0)
        return TopRow(
            id: "\(problem.code) \(problem.subject ?? "\(place)")",
            cells: [
                severity, TopCell(problem.code), .age(age(problem.since)),
                TopCell(problem.what), TopCell(problem.action),
            ],
            details: [
                .init("problem", "\(problem.code), \(problem.severity)"), .init("subject", problem.subject),
                .init("what", problem.what), .init("effect", problem.effect), .init("action", problem.action),
                .init("see", problem.see), .init("since", when(problem.since)),
                .init("caused by", problem.hiddenBy),
            ])
    }

    func row(_ ended: DaemonState.Ended, _ place: Int) -> TopRow {
        let file = "\(ended.inbox)/\(ended.file)"
        let at = Self.seconds(ended.at)
        let clock = at.map { LocalClock(at: Int64($0)).timeOfDay(Int64($0)) } ?? ended.at
        return TopRow(
            id: ended.operation.map { "\($0)" } ?? "\(file) \(ended.at)",
            cells: [
                TopCell(clock, at.map { .number($0) }),
                TopCell(ended.outcome, nil, ended.outcome == "quarantined" ? .warning : nil),
                TopCell(file), TopCell(TopCell.microseconds(ended.seconds * 1e6).text, .number(ended.seconds)),
                TopCell(ended.reason),
            ],
            details: [
                .init("file", file), .init("outcome", ended.outcome), .init("reason", ended.reason),
                .init("place", ended.destination), .init("at", when(ended.at)),
                .init("took", TopCell.microseconds(ended.seconds * 1e6).text), .init("SHA-256", ended.sha256),
                .init("operation", ended.operation.map { "\($0)" }),
            ])
    }
}
