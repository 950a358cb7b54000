import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Reporting
import Settings

/// Whether a hook has handled a file, by its cursor: every operation up to one, or not.
struct HookStanding: JSONRepresentable {
    enum Standing: String, Hashable {
        case delivered = "told"
        case waiting
        /// It failed too often on it.
        case skipped
        /// The hook was not there yet.
        case notDelivered = "not-told"
        /// It is configured, but the daemon has not loaded that yet.
        case notBegun = "not-begun"
    }

    let hook: String
    /// The event for it; nil if the hook's configuration is unknown.
    let event: HookEventKind?
    /// The operation that the event is about.
    let operation: Int64
    let standing: Standing
    let cursor: HookCursor?
    /// Its state in the running daemon.
    let live: DaemonState.Hook?

    init(
        _ hook: String, _ event: HookEventKind?, _ outcome: StoredOutcome, _ cursor: HookCursor?,
        _ live: DaemonState.Hook?
    ) {
        (self.hook, self.event) = (hook, event)
        operation = outcome.id
        (self.cursor, self.live) = (cursor, live)
        guard let cursor else {
            standing = .notBegun
            return
        }
        let delivered = max(cursor.told, live?.told ?? 0)
        standing =
            if cursor.skipped.contains(outcome.id) { .skipped } else if delivered < outcome.id { .waiting } else {
                outcome.outcome.at < cursor.since ? .notDelivered : .delivered
            }
    }

    func text(now: Int64, isDaemonDown: Bool) -> String {
        let name = printable(hook)
        let what = event.map { $0 == .setComplete ? "its set" : "it" }
        switch standing {
        case .delivered:
            let handled = what.map { "handled \($0)" } ?? "handled it, if it handles such files"
            return "\(name) \(handled): journalctl -t photoinboxd PHOTOINBOX_HOOK=\(name)"
        case .skipped:
            return
                "\(name) skipped \(what ?? "it") after five failures; \(DaemonAddress.current.completing("photoinbox retry --all")) gives it to it again: journalctl -t photoinboxd PHOTOINBOX_HOOK=\(name)"
        case .notDelivered:
            return
                "\(name) did not run: the hook is newer, of \(shortTime(cursor?.since ?? .init(seconds: now, nanoseconds: 0), now: now))"
        case .notBegun:
            return "\(name) did not run: photoinboxd has not loaded it yet, and it will handle later files only"
        case .waiting:
            return "\(name) has yet to handle \(what ?? "it, if it handles such files")" + waits(isDaemonDown)
        }
    }

    private func waits(_ isDaemonDown: Bool) -> String {
        guard let live else { return isDaemonDown ? "; photoinboxd is not running" : "" }
        if live.failures > 0 {
            let times = live.failures == 1 ? "once" : "\(live.failures) times in a row"
            return ": it failed \(times)" + (live.lastResult.map { ", \(printable($0))" } ?? "")
        }
        return live.phase == "running" ? "; it is running now" : ""
    }

    package var json: JSONValue {
        .object([
            JSONField("name", hook), JSONField("event", event?.rawValue), JSONField("operation", operation),
            JSONField("standing", standing.rawValue), JSONField("told_through", cursor?.told),
            JSONField("since", cursor?.since),
        ])
    }
}

extension EvidenceSearch {
    /// Adds the standing of each hook: configured ones, and those that only the catalogue knows.
    func gatherHooks(_ evidence: inout Evidence) throws(CatalogueError) {
        guard let catalogue, let outcome = Self.hookedOutcome(evidence) else { return }
        let cursors = try catalogue.hookCursors()
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
            var outcomes = [outcome]
            if interest.kinds.contains(.setComplete) { outcomes += try completing(evidence, outcome) }
            var delivered: Set<HookEventKind> = []
            for outcome in outcomes {
                let events = try catalogue.hookEvents(of: outcome.id, interest)
                for event in events where outcome.id == outcomes[0].id || event.kind == .setComplete {
                    if delivered.insert(event.kind).inserted { add(hook.name, event.kind, outcome) }
                }
            }
        }
        for cursor in cursors where !names.contains(cursor.name) { add(cursor.name, nil, outcome) }
    }

    /// The outcome that hooks handle: of a photo in the library, the filing that made it, not later duplicates.
    private static func hookedOutcome(_ evidence: Evidence) -> StoredOutcome? {
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

    /// The filings of the others of its set, the last one first: that one completes the set.
    private func completing(
        _ evidence: Evidence, _ outcome: StoredOutcome
    ) throws(CatalogueError) -> [StoredOutcome] {
        guard outcome.outcome.outcome == .filed, let catalogue else { return [] }
        var found: [StoredOutcome] = []
        for photo in evidence.set {
            let filed = try catalogue.outcomes(ofPhoto: photo.id).last {
                $0.outcome.outcome == .filed
            }
            if let filed, filed.id > outcome.id { found.append(filed) }
        }
        return found.sorted { $0.id > $1.id }
    }
}
