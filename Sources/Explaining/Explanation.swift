import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import Filing
import LinuxKernel
import PhotoModel
package import Reporting

/// What happened to a file, and which rule decided: derived from the evidence. Pure.
package struct Explanation {
    /// One word, for scripts.
    enum Verdict: String, Hashable, CaseIterable {
        case filed, duplicate, quarantined, ignored, withdrawn
        case deferred
        case inHand = "in-hand"
        case excluded
        case unfinished
        /// It stays in the inbox, and the record of its outcome is gone.
        case kept
        /// A filed photo, in the library.
        case inLibrary = "in-library"
        /// A person released, discarded or undid it.
        case released, discarded
        case undone = "taken-back"
        case neverSeen = "never-seen"
        case outside
    }

    let verdict: Verdict
    let subject: String
    let headline: String
    /// Labels and texts, escaped.
    private(set) var rows: [(label: String, text: String)] = []
    package let status: ExitStatus
    let evidence: Evidence
    private let now: Int64

    package init(_ evidence: Evidence, now: Int64) {
        (self.evidence, self.now) = (evidence, now)
        subject = evidence.location.displayName
        let (verdict, words) = Self.judge(evidence, now: now)
        self.verdict = verdict
        // For a file of links, its progress matters, not that it is no photo.
        headline = verdict == .ignored ? evidence.linkFile?.headline ?? words : words
        status =
            switch verdict {
            case .neverSeen: evidence.daemon == .down && evidence.kind != nil ? .unavailable : .noMatch
            case .outside: .noMatch
            default: .ok
            }
        addRows()
    }

    // MARK: - Verdict

    private static func judge(_ evidence: Evidence, now: Int64) -> (Verdict, String) {
        switch evidence.location {
        case .outside(let path):
            if let inbox = evidence.inboxes.first(where: { $0.path == path }) {
                return (.outside, "is the inbox \(printable(inbox.name)); name a file in it")
            }
            return (.outside, "is outside every inbox, and not in the library")
        case .library:
            guard let photo = evidence.photo else {
                if let whole = evidence.replacedBy {
                    let place = whole.photo.libraryPath.escaped
                    return (.neverSeen, "a damaged file; its photo was filed again as \(place)")
                }
                return (.neverSeen, "in the library, but not filed by photoinboxd")
            }
            return (.inLibrary, "filed \(shortTime(photo.filedAt, now: now)) from \(photo.sourceName)")
        case .setAside:
            guard let outcome = evidence.outcomes.first else {
                return (.neverSeen, "in a directory for files that were set aside, but not recorded")
            }
            return judge(outcome, evidence, now: now)
        case .inbox: return judgeInInbox(evidence, now: now)
        case .remoteInbox(_, let host, let isForgotten, _):
            guard let outcome = evidence.outcomes.first else {
                let who =
                    isForgotten
                    ? "its host \(printable(host)) was forgotten"
                    : "only \(printable(host)) knows whether it is in hand there"
                return (.neverSeen, "not recorded; \(who)")
            }
            return judge(outcome, evidence, now: now)
        }
    }

    private static func judgeInInbox(_ evidence: Evidence, now: Int64) -> (Verdict, String) {
        if let inHand = evidence.inHand {
            if evidence.isHeldByPause { return (.inHand, "waiting; its inbox is paused") }
            guard inHand.stage == "deferred" else { return (.inHand, "in hand, \(printable(inHand.stage))") }
            let next = inHand.until.map { " at \(localTime($0, now: now))" } ?? ""
            return (.deferred, "deferred, try \(inHand.attempts + 1)\(next)")
        }
        if evidence.intent != nil {
            return (.inHand, "was being filed when photoinboxd stopped; filing continues when it starts")
        }
        if let exclusion = evidence.exclusion {
            return (.excluded, "excluded by \(printable(exclusion.pattern)) (\(printable(exclusion.origin)))")
        }
        guard evidence.kind != nil else {
            if let outcome = evidence.outcomes.first { return judge(outcome, evidence, now: now) }
            return evidence.ended.map { judge($0) } ?? (.neverSeen, "never seen, and not there")
        }
        if let kept = evidence.kept, kept.identity == evidence.identity {
            guard let done = evidence.lastRequest, done.request.what == .undo else { return judge(kept, evidence) }
            let (verdict, words) = judge(done, now: now)
            return (verdict, words + ", and kept here: \(printable(kept.why))")
        }
        switch evidence.nameDecision {
        case .unfinished(let rule):
            return (.unfinished, "not finished, by its name: \(rule); it is filed under its final name")
        case .ignored(let rule): return (.ignored, "ignored by its name: \(rule)")
        case .sidecar(let kind):
            return (.ignored, "ignored: a sidecar (\(kind.rawValue)); it is filed when its photo arrives")
        case .take: break
        }
        switch evidence.kind {
        case .regular where evidence.links > 1:
            return (.ignored, "ignored: it has \(evidence.links) names (hard links)")
        case .regular, nil: break
        case .directory: return (.ignored, "is a directory; name a file in it")
        case .symbolicLink: return (.ignored, "ignored: a symbolic link, which is never followed")
        default: return (.ignored, "ignored: not a regular file")
        }
        if let writer = evidence.writers.first {
            return (.unfinished, "not finished: open for writing by \(writer.name) (pid \(writer.pid))")
        }
        if let ended = evidence.ended, evidence.outcomes.isEmpty { return judge(ended) }
        return (.neverSeen, unrecordedText(evidence))
    }

    private static func judge(_ outcome: StoredOutcome, _ evidence: Evidence, now: Int64) -> (Verdict, String) {
        let record = outcome.outcome
        let when = shortTime(record.at, now: now)
        if let done = evidence.lastRequest { return judge(done, now: now) }
        switch record.outcome {
        case .filed:
            return (.filed, "filed as \((evidence.photo?.photo.libraryPath ?? record.destination ?? "").escaped)")
        case .duplicate:
            let original = evidence.photo.map { " of \($0.photo.libraryPath.escaped)" } ?? ""
            return (.duplicate, "duplicate\(original), \(when)")
        case .quarantined: return (.quarantined, "quarantined \(when), unchanged")
        case .ignored: return (.ignored, "ignored \(when)")
        case .withdrawn: return (.withdrawn, "withdrawn \(when): gone before it was filed")
        }
    }

    private static func judge(_ done: StoredRequest, now: Int64) -> (Verdict, String) {
        let how = "\(shortTime(done.endedAt ?? done.request.at, now: now)) by \(printable(done.request.asker))"
        switch done.request.what {
        case .undo: return (.undone, "taken back \(how); filed no longer")
        case .discard where done.request.move == nil:
            return (.discarded, "\(printable(done.note ?? "deleted")); noted \(how)")
        case .discard: return (.discarded, "discarded \(how)" + (done.step == .expired ? ", and deleted since" : ""))
        default: return (.released, "released \(how)" + (done.request.isAsIs ? ", to be filed as it is" : ""))
        }
    }

    private static func judge(_ ended: DaemonState.Ended) -> (Verdict, String) {
        let verdict = Verdict(rawValue: ended.outcome) ?? .neverSeen
        return (verdict, "\(printable(ended.outcome)): \(printable(ended.reason))")
    }

    private static func judge(_ kept: KeptSource, _ evidence: Evidence) -> (Verdict, String) {
        guard let outcome = evidence.outcomes.first?.outcome else {
            return (.kept, "processed, and kept here: \(printable(kept.why))")
        }
        switch outcome.outcome {
        case .filed:
            let place = evidence.photo?.photo.libraryPath ?? outcome.destination ?? ""
            return (.filed, "filed as \(place.escaped), and kept here: \(printable(kept.why))")
        case .duplicate: return (.duplicate, "duplicate, and kept here")
        case .quarantined: return (.quarantined, "quarantined, but could not be moved")
        case .ignored: return (.ignored, "ignored")
        case .withdrawn: return (.kept, "kept here: \(printable(kept.why))")
        }
    }

    private static func unrecordedText(_ evidence: Evidence) -> String {
        let before = evidence.outcomes.isEmpty ? "" : ", unlike an earlier file of this name"
        switch evidence.daemon {
        case .running: return "not seen yet\(before)"
        case .down: return "never seen\(before); photoinboxd is not running, and will find it when it starts"
        case .unasked: return "not recorded\(before); only photoinboxd knows whether it is in hand"
        }
    }

    // MARK: - Rows

    private mutating func addRows() {
        if case .remoteInbox(_, let host, let isForgotten, _) = evidence.location {
            // Its files are there; the library is everybody's.
            let there =
                switch verdict {
                case .quarantined: ", where release and discard are to be given"
                case .duplicate: ", where discard is to be given"
                default: ""
                }
            add("host", printable(host) + (isForgotten ? ", which was forgotten" : there))
        }
        addArrivalRows()
        if let links = evidence.linkFile, [.ignored, .withdrawn].contains(verdict) {
            add("links", links.text(now: now))
        }
        switch verdict {
        case .filed, .duplicate, .kept, .inLibrary: addPhotoRows()
        case .quarantined: addQuarantineRows()
        case .released, .discarded, .undone:
            if let done = evidence.lastRequest, done.step == .done, let move = done.request.move {
                add("now at", move.destinationRoot.appending(move.destinationPath).escaped)
            }
        case .ignored, .withdrawn, .deferred, .inHand, .excluded, .unfinished, .neverSeen, .outside: break
        }
        addOutcomeRows()
        if verdict == .outside {
            let width = evidence.inboxes.map { displayWidth(printable($0.name)) }.max() ?? 0
            for inbox in evidence.inboxes {
                add("inbox", "\(fitted(printable(inbox.name), to: width))  \(inbox.path.escaped)")
            }
            if evidence.inboxes.isEmpty { add("inbox", "none is known; give the configuration with --config") }
            if case .outside(let path) = evidence.location, !evidence.inboxes.contains(where: { $0.path == path }) {
                let name = path.name
                let isNumber = !name.isEmpty && name.bytes.allSatisfy(\.isASCIIDigit)
                addCommand(
                    isNumber ? "number" : "name",
                    isNumber ? "show \(name)" : "search --name \(shellQuoted(name.escaped))")
            }
        }
    }

    private mutating func addArrivalRows() {
        guard let inHand = evidence.inHand else { return }
        add("why", printable(inHand.what))
        add("seen", Self.localTime(inHand.firstSeen, now: now))
        if inHand.stage == "settling", let rule = evidence.quietRule { add("rule", printable(rule)) }
        if evidence.isHeldByPause, case .inbox(let inbox, _) = evidence.location {
            addCommand("now", "resume \(printable(inbox.name))")
        } else if inHand.stage == "deferred" {
            add(
                "next",
                inHand.until.map {
                    "it is retried at \(Self.localTime($0, now: now)), or at once when its content changes"
                }
                    ?? "it is retried as soon as filing continues, or at once when its content changes")
            addCommand("now", "retry \(shellQuoted(subject))")
        }
    }

    private mutating func addPhotoRows() {
        guard let photo = evidence.photo else { return }
        add("place", photo.photo.library.appending(photo.photo.libraryPath).escaped)
        if photo.photo.isInBucket, let moved = evidence.requests.first(where: { $0.request.what == .store }) {
            let how = "\(shortTime(moved.endedAt ?? moved.request.at, now: now)) by \(printable(moved.request.asker))"
            add("moved", "to a bucket \(how)")
            // A set comes back whole, by the time of the first of its photos that has one.
            let set = ([photo] + evidence.set).sorted { $0.id < $1.id }
            if let day = set.lazy.compactMap(\.photo.captured).first.map({ shellQuoted(String($0.local.prefix(10))) }) {
                let bucket = shellQuoted(photo.photo.library.escaped)
                addCommand("back", "store get --from \(day) --until \(day) --credentials FILE \(bucket)")
            }
        }
        if let captured = photo.photo.captured {
            add("date", "\(printable(captured.text)), from \(printable(captured.source))")
        } else {
            add("date", "none")
        }
        if let nearby = evidence.metadata?.nearby { add("near", printable(nearby.account)) }
        for contradiction in evidence.metadata?.contradictions ?? [] { add("metadata", printable(contradiction)) }
        if let origin = photo.photo.origin { add("origin", printable(origin)) }
        add("proof", printable(photo.photo.proof))
        for other in evidence.set { add("set", other.setMemberText) }
        for (size, path) in evidence.thumbnails {
            add(size == evidence.previewSize ? "preview" : "thumbnail", path.escaped)
        }
        if let reason = evidence.noThumbnail { add("no thumbnail", printable(reason)) }
        for rendition in evidence.renditions where !rendition.kind.needs.isEmpty && rendition.state != .missing {
            add(rendition.name, rendition.text)
        }
        if let damage = evidence.damage, photo.supersededAt == nil { add("damage", damageText(damage, now: now)) }
        if let reason = evidence.sidecarLeft { add("sidecar", sidecarText(reason)) }
        if verdict == .filed { add("when", shortTime(photo.filedAt, now: now)) }
        if photo.wasStruck {
            add("but", "its copy was missing; photoinbox verify --repair struck its record")
        } else if photo.supersededAt != nil {
            add("but", "its copy was damaged, and was replaced by another")
        }
    }

    private mutating func addQuarantineRows() {
        guard let stored = evidence.outcomes.first else { return }
        add("why", printable(stored.outcome.reason))
        if let destination = stored.outcome.destination { add("now at", destination.escaped) }
        add("best", "copy the original into the inbox again")
        addCommand("or", "release \(stored.id) --as-is")
        if stored.outcome.destination != nil { addCommand("or", "discard \(stored.id) --yes") }
    }

    private mutating func addOutcomeRows() {
        // A photo's origin is in the filing that made it, not in later duplicates.
        let filing = verdict == .inLibrary ? evidence.outcomes.first { $0.outcome.outcome == .filed } : nil
        guard evidence.inHand == nil, let newest = filing ?? evidence.outcomes.first else { return }
        if case .setAside = evidence.location {
            add("from", "\(printable(newest.outcome.inbox))/\(newest.outcome.path.escaped)")
        } else if [.ignored, .withdrawn].contains(verdict), evidence.linkFile != nil {
            // Why it is no photo does not matter.
        } else if [.ignored, .withdrawn, .duplicate].contains(verdict)
            || [.filed, .inLibrary].contains(verdict) && newest.outcome.outcome == .filed
        {
            add("why", printable(newest.outcome.reason))
        }
        if verdict == .duplicate, let destination = newest.outcome.destination { add("now at", destination.escaped) }
        if verdict == .duplicate, newest.outcome.destination != nil {
            addCommand("discard", "discard \(newest.id) --yes")
        }
        let isMoved = evidence.photo?.photo.isInBucket == true
        if [.filed, .inLibrary].contains(verdict), newest.outcome.outcome == .filed, !isMoved,
            evidence.photo?.supersededAt == nil
        {
            addCommand("undo", "undo \(newest.id)")
        }
        if verdict == .neverSeen {
            add("before", "\(shortTime(newest.outcome.at, now: now)) \(newest.outcome.outcome.rawValue)")
        }
        for hook in evidence.hooks { add("hook", hook.text(now: now, isDaemonDown: evidence.daemon == .down)) }
        addCommand("more", "show \(newest.id)")
    }

    private mutating func add(_ label: String, _ text: String) { rows.append((label, text)) }

    /// Adds a row with a command to type.
    private mutating func addCommand(_ label: String, _ command: String) {
        add(label, DaemonAddress.current.completing("photoinbox \(command)"))
    }

    /// A time of the daemon's state, in local time.
    private static func localTime(_ text: String, now: Int64) -> String {
        FileTime(rfc3339: text).map { shortTime($0, now: now) } ?? printable(text)
    }
}

extension Evidence {
    /// Whether its inbox is paused, and its filing has not begun.
    var isHeldByPause: Bool { isPaused && ["queued", "deferred"].contains(inHand?.stage) }

    /// The last completed request about the newest outcome.
    var lastRequest: StoredRequest? {
        requests.first { request in
            [.release, .discard, .undo].contains(request.request.what) && [.done, .expired].contains(request.step)
        }
    }
}
