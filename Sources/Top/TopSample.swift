import CommandContact
import ControlProtocol
import Reporting

/// One state of the daemon, with rates from the ones before.
struct TopSample: Sendable {
    let state: DaemonState
    /// When it arrived, in seconds of CLOCK_MONOTONIC.
    let at: Double
    /// The machine's load over one, five and fifteen minutes.
    let load: [Double]
    /// By the monitor's identity; empty for the first sample.
    var monitorRates: [String: Double] = [:]
    var inboxRates: [String: Double] = [:]
    /// Files filed per minute, over at most the last minute.
    var filedPerMinute: Double?
    /// Thumbnails per second.
    var picturesPerSecond: Double?
    /// Processor use: 1 is one processor.
    var processors: Double?
}

/// The samples of the last minute. A value: the caller passes the time.
struct TopHistory: Sendable {
    private struct Mark: Sendable {
        let at: Double
        let filed: Int
    }

    private var last: TopSample?
    private var marks: [Mark] = []

    private static let window = 60.0

    /// The sample of a `state` that arrived at `at`, with its rates, which begin anew when the daemon was restarted.
    mutating func add(_ state: DaemonState, at: Double, load: [Double]) -> TopSample {
        var sample = TopSample(state: state, at: at, load: load)
        let filed = state.totals?.filed ?? 0
        if let last, last.state.program.pid != state.program.pid || last.state.program.started != state.program.started
        {
            self.last = nil
            marks = []
        }
        if let last, at > last.at {
            let rate = { (new: Int, old: Int) in Double(max(0, new - old)) / (at - last.at) }
            let before = Dictionary(last.state.monitors.map { ($0.key, $0.delivered) }, uniquingKeysWith: { $1 })
            for monitor in state.monitors {
                // One that is new since then has delivered all of it since then.
                sample.monitorRates[monitor.key] = rate(monitor.delivered, before[monitor.key] ?? 0)
            }
            let inboxes = Dictionary(last.state.inboxes.map { ($0.name, $0.events) }, uniquingKeysWith: { $1 })
            for inbox in state.inboxes { sample.inboxRates[inbox.name] = rate(inbox.events, inboxes[inbox.name] ?? 0) }
            if let new = state.pictures?.made { sample.picturesPerSecond = rate(new, last.state.pictures?.made ?? 0) }
            if let new = state.program.processorSeconds, let old = last.state.program.processorSeconds {
                sample.processors = max(0, new - old) / (at - last.at)
            }
        }
        marks.removeAll { $0.at < at - Self.window }
        if let first = marks.first, at > first.at {
            sample.filedPerMinute = Double(max(0, filed - first.filed)) / (at - first.at) * 60
        }
        marks.append(Mark(at: at, filed: filed))
        last = sample
        return sample
    }
}

extension DaemonState.Monitor {
    /// Identifies it in two samples.
    var key: String { id.map { "\($0)" } ?? "\(kind) \(label) \(queue)" }
}

extension TopSample {
    /// Every view as an array of objects, with the columns' names as fields; see photoinbox-json(7).
    var json: JSONValue {
        let rows = TopRows(self)
        return .document(
            [
                JSONField("version", state.program.version), JSONField("time", state.at),
                JSONField("phase", state.program.phase), JSONField("status", state.program.status),
                JSONField("uptime_seconds", state.program.uptimeSeconds), JSONField("load", load),
                JSONField("processors", processors), JSONField("memory_bytes", state.program.residentBytes),
                JSONField("threads", state.program.threads), JSONField("descriptors", state.program.descriptors),
                JSONField("filed_per_minute", filedPerMinute), JSONField("files_omitted", state.inHandOmitted ?? 0),
            ]
                + TopView.allCases.map { view in
                    JSONField(
                        view.rawValue,
                        view.order.sorted(rows.rows(view)).map { row in
                            JSONValue.object(
                                zip(view.columns, row.cells).map { column, cell in JSONField(column.name, cell.value) })
                        })
                })
    }
}
