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

    /// Seconds since 1970 of an RFC 3339 text; nil if it is none.
    static func seconds(_ text: String) -> Double? {
        quickSeconds(Array(text.utf8))
            ?? parseRFC3339(text).map { Double($0.seconds) + Double($0.nanoseconds) / 1e9 }
    }

    /// The same of the form in which the daemon writes times, `2026-11-24T14:08:00.000Z`: thousands of files have four
    /// each.
    private static func quickSeconds(_ bytes: [UInt8]) -> Double? {
        guard bytes.count == 24, bytes[23] == UInt8(ascii: "Z") else { return nil }
        let shape = Array("0000-00-00T00:00:00.000Z".utf8)
        var fields = [0]
        for (byte, wanted) in zip(bytes, shape) {
            if wanted != UInt8(ascii: "0") {
                guard byte == wanted else { return nil }
                fields.append(0)
            } else {
                guard (0x30...0x39).contains(byte) else { return nil }
                fields[fields.count - 1] = fields[fields.count - 1] * 10 + Int(byte - 0x30)
            }
        }
        guard (1...12).contains(fields[1]), (1...31).contains(fields[2]) else { return nil }
        // Years begin in March, so that a leap day is the last; days are counted in cycles of 400 years.
        let year = fields[0] - (fields[1] <= 2 ? 1 : 0)
        let ofCycle = year - year / 400 * 400
        let ofYear = (153 * (fields[1] + (fields[1] > 2 ? -3 : 9)) + 2) / 5 + fields[2] - 1
        let days = year / 400 * 146_097 + ofCycle * 365 + ofCycle / 4 - ofCycle / 100 + ofYear - 719_468
        let second = ((days * 24 + fields[3]) * 60 + fields[4]) * 60 + fields[5]
        return Double(second) + Double(fields[6]) / 1000
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
            .init("state", ([words] + inbox.coverageWords(now: Int64(now))).joined(separator: ", ")),
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
                .init("ask", DaemonAddress.asked.completing("photoinbox explain \(shellQuoted(file))")),
            ])
    }
}
