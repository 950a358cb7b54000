import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Reporting

/// The rows of each view. Pure: `now` is the time of the daemon's state, in seconds since 1970, so that a frozen view stays
/// the same.
struct TopRows {
    let sample: TopSample
    let now: Double

    private var state: DaemonState { sample.state }

    init(_ sample: TopSample) {
        self.sample = sample
        now = Self.seconds(sample.state.at) ?? 0
    }

    /// Seconds since 1970 of a time of the state.
    static func seconds(_ text: String) -> Double? {
        FileTime(rfc3339: text).map { Double($0.seconds) + Double($0.nanoseconds) / 1e9 }
    }

    func rows(_ view: TopView) -> [TopRow] {
        switch view {
        case .inboxes: inboxes
        case .files: state.inHand.map(row)
        case .monitors: state.monitors.map(row)
        case .queues: state.subsystems.map(row)
        case .decoders: state.pictures.map { [row($0)] } ?? []
        case .hooks: (state.hooks ?? []).map(row)
        case .problems: state.problems.enumerated().map { row($0.element, $0.offset) }
        case .outcomes: state.outcomes.enumerated().map { row($0.element, $0.offset) }
        }
    }

    func age(_ text: String?) -> Double? { text.flatMap { Self.seconds($0) }.map { max(0, now - $0) } }

    /// `14:07:31, 12 s ago`.
    func when(_ text: String?) -> String? {
        guard let text, let age = age(text) else { return text }
        return "\(text), \(HumanText.age(Int64(min(age, 1e12)))) ago"
    }

    /// `14:07:31, in 12 s`.
    func until(_ text: String?) -> String? {
        guard let text, let at = Self.seconds(text), at > now else { return text }
        return "\(text), in \(HumanText.shortWait(Int64(min((at - now).rounded(.up), 1e12))))"
    }

    // MARK: - Inboxes

    /// Until which age in seconds each column of ages counts.
    private static let ages: [Double] = [10, 60, 300, 1_800, 7_200]

    private var inboxes: [TopRow] {
        var ages: [String: [Double]] = [:]
        for arrival in state.inHand { ages[arrival.inbox, default: []].append(age(arrival.firstSeen) ?? 0) }
        return state.inboxes.map { row($0, ages: ages[$0.name] ?? []) }
    }

    private func row(_ inbox: DaemonState.Inbox, ages: [Double]) -> TopRow {
        var buckets = Array(repeating: 0, count: Self.ages.count + 1)
        for age in ages { buckets[Self.ages.firstIndex { age < $0 } ?? Self.ages.count] += 1 }
        let words = inbox.verdict + (inbox.paused == nil ? "" : ", PAUSED")
        let isWell = inbox.verdict == "live" && inbox.paused == nil
        let counts = inbox.counts
        var cells = [TopCell(inbox.name), TopCell(words, nil, isWell ? .good : .warning)]
        cells += buckets.map { .count($0, blank: true) }
        cells += [
            .count(counts.inHand + counts.deferred), .age(ages.max()), .count(counts.filed), .count(counts.duplicate),
            .count(counts.quarantined, .warning), .rate(sample.inboxRates[inbox.name]), .count(inbox.watches),
        ]
        let details: [TopRow.Detail] = [
            .init("inbox", inbox.name), .init("path", inbox.path), .init("mode", inbox.mode),
            .init("state", ([words] + inbox.coverageTexts(now: Int64(now))).joined(separator: ", ")),
            .init("paused", inbox.paused.map { "since \($0.since) by \($0.by)" }),
            .init("watches", HumanText.count(inbox.watches)),
            .init("polled folders", HumanText.count(inbox.polledDirectories)),
            .init("known files", HumanText.count(inbox.knownFiles)), .init("seen", HumanText.count(counts.seen)),
            .init("in hand", HumanText.count(counts.inHand)), .init("deferred", HumanText.count(counts.deferred)),
            .init("filed", HumanText.count(counts.filed)), .init("duplicate", HumanText.count(counts.duplicate)),
            .init("quarantined", HumanText.count(counts.quarantined)),
            .init("ignored", HumanText.count(counts.ignored)), .init("withdrawn", HumanText.count(counts.withdrawn)),
            .init("events", HumanText.count(inbox.events)), .init("overflows", HumanText.count(inbox.overflows)),
            .init("compared", when(inbox.lastReconciliation)), .init("next audit", inbox.coverage?.nextAudit),
        ]
        return TopRow(id: inbox.name, cells: cells, details: details)
    }

    private func row(_ arrival: DaemonState.InHand) -> TopRow {
        let file = "\(arrival.inbox)/\(arrival.file)"
        let next = arrival.until.flatMap { Self.seconds($0) }.map { max(0, $0 - now) }
        return TopRow(
            id: file,
            cells: [
                TopCell(file), TopCell(arrival.stage, nil, arrival.stage == "deferred" ? .warning : nil),
                .age(age(arrival.firstSeen)), TopCell(arrival.what),
                next.map { TopCell(HumanText.shortWait(Int64(min($0.rounded(.up), 1e12))), .number($0)) }
                    ?? TopCell(""),
                .count(arrival.attempts, blank: true),
            ],
            details: [
                .init("inbox", arrival.inbox), .init("file", arrival.file), .init("stage", arrival.stage),
                .init("what", arrival.what), .init("since", when(arrival.since)),
                .init("first seen", when(arrival.firstSeen)), .init("until", until(arrival.until)),
                .init("tries", HumanText.count(arrival.attempts)),
                .init("ask", DaemonAddress.current.completing("photoinbox explain \(shellQuoted(file))")),
            ])
    }
}
