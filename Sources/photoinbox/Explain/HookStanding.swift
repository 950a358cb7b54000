import Catalogue
import CommandSupport
import ControlProtocol
import FileValues
import Reporting
import Settings

/// Whether a hook was told of a file, as far as that is recorded: all up to one operation, or not.
struct HookStanding {
    enum Standing: String, Hashable {
        case told, waiting
        /// The hook was not there yet.
        case notTold = "not-told"
        /// It is configured, and the daemon has not taken that up.
        case notBegun = "not-begun"
    }

    let hook: String
    /// As what it is told of it; nil where nobody here knows of what it wants to be told.
    let event: HookEventKind?
    /// With which operation.
    let operation: Int64
    let standing: Standing
    let cursor: HookCursor?
    /// What the daemon says of it now.
    let live: DaemonState.Hook?

    init(
        _ hook: String, _ event: HookEventKind?, _ outcome: StoredOutcome, _ cursor: HookCursor?,
        _ live: DaemonState.Hook?
    ) {
        self.hook = hook
        self.event = event
        operation = outcome.id
        self.cursor = cursor
        self.live = live
        guard let cursor else {
            standing = .notBegun
            return
        }
        let told = max(cursor.told, live?.told ?? 0)
        standing = told < outcome.id ? .waiting : outcome.outcome.at < cursor.since ? .notTold : .told
    }

    /// Safe to print.
    func words(now: Int64, isDaemonDown: Bool) -> String {
        let name = shown(hook)
        let what = event.map { $0 == .setComplete ? "of its set" : "of it" }
        switch standing {
        case .told:
            let told = what.map { "has been told \($0)" } ?? "has been told of it, if it asks for such files"
            return "\(name) \(told); how that went: journalctl -t photoinboxd PHOTOINBOX_HOOK=\(name)"
        case .notTold:
            return
                "\(name) was not told: it is newer, of \(shortTime(cursor?.since ?? .init(seconds: now, nanoseconds: 0), now: now))"
        case .notBegun: return "\(name) is not told: it begins with what comes after photoinboxd has taken it up"
        case .waiting:
            return "\(name) is still to be told \(what ?? "of it, if it asks for such files")" + waits(isDaemonDown)
        }
    }

    private func waits(_ isDaemonDown: Bool) -> String {
        guard let live else { return isDaemonDown ? ", once photoinboxd runs" : "" }
        if live.failures > 0 {
            let times = live.failures == 1 ? "once" : "\(live.failures) times in a row"
            return ": it failed \(times)" + (live.lastResult.map { ", \(shown($0))" } ?? "")
        }
        return live.phase == "running" ? "; it runs just now" : ""
    }

    func json() -> JSONValue {
        .object([
            JSONField("name", .string(hook)), JSONField("event", event.map { .string($0.rawValue) } ?? .null),
            JSONField("operation", .integer(operation)), JSONField("standing", .string(standing.rawValue)),
            JSONField("told_through", cursor.map { .integer($0.told) } ?? .null),
            JSONField("since", cursor.map { $0.since.json } ?? .null),
        ])
    }
}

extension EvidenceSearch {
    /// Finds out of the outcome that counts what hooks were told: those that are configured, and those of which only
    /// the catalogue knows.
    func gatherHooks(_ evidence: inout Evidence) throws(CommandFailure) {
        guard let records, let outcome = Self.toldOutcome(evidence) else { return }
        let cursors = try records.ask { (catalogue) throws(CatalogueError) in try catalogue.hookCursors() }
        let live = evidence.daemon == .running ? state?.hooks ?? [] : []
        var names: Set<String> = []
        func add(_ hook: String, _ event: HookEventKind?, _ outcome: StoredOutcome) {
            evidence.hooks.append(
                HookStanding(
                    hook, event, outcome, cursors.first { $0.name == hook }, live.first { $0.name == hook }))
        }
        for hook in places.settings?.hooks ?? [] where !hook.events.isEmpty {
            names.insert(hook.name)
            let interest = HookInterest(
                kinds: Set(hook.events.compactMap { HookEventKind(rawValue: $0.rawValue) }), inboxes: hook.inboxes)
            let outcomes = try [outcome] + (interest.kinds.contains(.setComplete) ? completing(evidence, outcome) : [])
            var told: Set<HookEventKind> = []
            for outcome in outcomes {
                let events = try records.ask { (catalogue) throws(CatalogueError) in
                    try catalogue.hookEvents(of: outcome.id, interest)
                }
                for event in events where outcome.id == outcomes[0].id || event.kind == .setComplete {
                    if told.insert(event.kind).inserted { add(hook.name, event.kind, outcome) }
                }
            }
        }
        for cursor in cursors where !names.contains(cursor.name) { add(cursor.name, nil, outcome) }
    }

    /// Where a photo came from is told by the filing that made it, not by the duplicates that followed.
    private static func toldOutcome(_ evidence: Evidence) -> StoredOutcome? {
        let newest =
            if case .library = evidence.location {
                evidence.outcomes.last { $0.outcome.outcome == .filed }
            } else {
                evidence.outcomes.first
            }
        guard let newest, [.filed, .quarantined].contains(newest.outcome.outcome), evidence.inHand == nil else {
            return nil
        }
        return newest
    }

    /// The filings of the others of its set, that of the last first: with that one the set is told.
    private func completing(_ evidence: Evidence, _ outcome: StoredOutcome) throws(CommandFailure) -> [StoredOutcome] {
        guard outcome.outcome.outcome == .filed, let records else { return [] }
        var found: [StoredOutcome] = []
        for photo in evidence.set {
            let filed = try records.ask { (catalogue) throws(CatalogueError) in
                try catalogue.outcomes(ofPhoto: photo.id).last { $0.outcome.outcome == .filed }
            }
            if let filed, filed.id > outcome.id { found.append(filed) }
        }
        return found.sorted { $0.id > $1.id }
    }
}
