import CommandContact
import ControlProtocol
import FileValues
import Reporting

/// The state for the live page: what `photoinbox status`, `top` and `list` show, with their words. It has nothing that
/// changes by itself, such as ages: the browser counts these from times, and equal states are equal text.
struct LiveView: JSONRepresentable {
    private let state: DaemonState

    /// How many arrivals are listed, those that wait longest first.
    private static let arrivals = 100
    private static let outcomes = 30

    init(_ state: DaemonState) { self.state = state }

    var json: JSONValue {
        .object([
            JSONField("version", state.program.version), JSONField("started", state.program.started),
            JSONField("phase", state.program.phase), JSONField("severity", severity), JSONField("mark", mark),
            JSONField("free", state.libraryFreeBytes.map { HumanText.bytes(UInt64(max(0, $0))) }),
            JSONField("verified", state.libraryVerified?.whole),
            JSONField("problems", state.problems.filter { $0.hiddenBy == nil }.map(Self.problem)),
            JSONField("inboxes", state.inboxes.map(Self.inbox)), JSONField("cards", state.cards ?? []),
            JSONField("links", (state.links ?? []).filter { ["waiting", "fetching"].contains($0.phase) }),
            JSONField("pictures_waiting", state.pictures?.waiting),
            JSONField("in_hand", state.inHand.prefix(Self.arrivals).map(Self.arrival)),
            JSONField("in_hand_omitted", max(0, state.inHand.count - Self.arrivals) + (state.inHandOmitted ?? 0)),
            JSONField("outcomes", state.outcomes.suffix(Self.outcomes).reversed().map(Self.outcome)),
        ])
    }

    /// Another one, when photos were filed or taken back, when something is known of them that was not, or a file was set aside.
    private var mark: String {
        "\(state.program.started) \(state.outcomes.last?.operation ?? 0) \(state.changes ?? 0)"
    }

    /// The worst of the problems that are shown.
    private var severity: String? {
        state.problems.filter { $0.hiddenBy == nil }.compactMap { ProblemSeverity(rawValue: $0.severity) }.max()?
            .rawValue
    }

    private static func problem(_ problem: DaemonState.Problem) -> JSONValue {
        .object([
            JSONField("code", problem.code), JSONField("severity", problem.severity), JSONField("what", problem.what),
            JSONField("effect", problem.effect), JSONField("action", problem.action), JSONField("since", problem.since),
        ])
    }

    private static func inbox(_ inbox: DaemonState.Inbox) -> JSONValue {
        .object([
            JSONField("name", inbox.name), JSONField("verdict", inbox.verdict), JSONField("reason", inbox.reason),
            JSONField("being_written", inbox.beingWritten), JSONField("counts", inbox.counts),
            JSONField(
                "paused",
                inbox.paused.map { JSONValue.object([JSONField("since", $0.since), JSONField("by", $0.by)]) }),
        ])
    }

    /// With `file_base64` where the name is not UTF-8: as a request has it.
    static func arrival(_ arrival: DaemonState.InHand) -> JSONValue {
        .object(
            [
                JSONField("inbox", arrival.inbox), JSONField("stage", arrival.stage), JSONField("what", arrival.what),
                JSONField("first_seen", arrival.firstSeen), JSONField("until", arrival.until),
                JSONField("attempts", arrival.attempts),
            ] + path("file", arrival.file))
    }

    private static func outcome(_ ended: DaemonState.Ended) -> JSONValue {
        .object(
            [
                JSONField("operation", ended.operation), JSONField("at", ended.at), JSONField("inbox", ended.inbox),
                JSONField("outcome", ended.outcome), JSONField("reason", ended.reason),
                JSONField("sha256", ended.sha256),
            ] + path("file", ended.file) + (ended.destination.map { path("destination", $0) } ?? []))
    }

    private static func path(_ name: String, _ escaped: String) -> [JSONField] {
        BytePath(escaped: escaped).map { JSONField.path(name, $0) } ?? [JSONField(name, escaped)]
    }
}
