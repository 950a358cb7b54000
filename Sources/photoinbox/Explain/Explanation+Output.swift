import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import PhotoModel
import Reporting

extension Explanation {
    /// The explanation as text.
    func text(_ style: TextStyle) -> String {
        var labelled = LabelledText()
        for (label, text) in rows { labelled.add(label, text) }
        return "\(subject): \(style.painted(headline, paint))\n" + labelled.rendered(style)
    }

    private var paint: TextStyle.Paint {
        switch verdict {
        case .filed, .duplicate, .kept, .inLibrary: .good
        case .quarantined: .bad
        case .deferred: .warning
        case .inHand, .unfinished, .released, .takenBack: .notice
        case .ignored, .withdrawn, .discarded, .excluded, .neverSeen, .outside: .faint
        }
    }

    /// The explanation as JSON.
    func json() -> JSONValue {
        var place: [JSONField] = []
        if case .inbox(let inbox, let path) = evidence.location {
            place = [JSONField("inbox", .string(inbox.name))] + JSONField.path("path", path)
        }
        return .object(
            [JSONField("file", .string(subject))] + place + [
                JSONField("verdict", .string(verdict.rawValue)), JSONField("words", .string(headline)),
                JSONField("in_hand", evidence.inHand.map { $0.json() } ?? .null),
                JSONField(
                    "excluded_by",
                    evidence.exclusion.map {
                        .object([
                            JSONField("pattern", .string($0.pattern)), JSONField("origin", .string($0.origin)),
                        ])
                    } ?? .null),
                JSONField("name_rule", nameRule.map { .string($0) } ?? .null),
                JSONField("kept", evidence.kept.map { $0.json() } ?? .null),
                JSONField("photo", evidence.photo.map { $0.json() } ?? .null),
                JSONField("damage", evidence.damage.map { damageJSON($0) } ?? .null),
                JSONField("set", .array(evidence.set.map { $0.json() })),
                JSONField("thumbnails", .array(evidence.thumbnails.map { .string($0.path.escaped) })),
                JSONField("no_thumbnail", evidence.noThumbnail.map { .string($0) } ?? .null),
                JSONField("renditions", .array(evidence.renditions.map { $0.json() })),
                JSONField("links", evidence.linkFile?.json() ?? .null),
                JSONField("hooks", .array(evidence.hooks.map { $0.json() })),
                JSONField("history", .array(evidence.outcomes.map { $0.json() })),
            ])
    }

    private var nameRule: String? {
        switch evidence.nameDecision {
        case .ignored(let rule), .unfinished(let rule): rule
        case .sidecar(let kind): "sidecar \(kind.rawValue)"
        case .take: nil
        }
    }
}

extension DaemonState.InHand {
    func json() -> JSONValue {
        .object([
            JSONField("stage", .string(stage)), JSONField("what", .string(what)), JSONField("since", .string(since)),
            JSONField("first_seen", .string(firstSeen)), JSONField("until", until.map { .string($0) } ?? .null),
            JSONField("attempts", .count(attempts)),
        ])
    }
}

extension KeptSource {
    func json() -> JSONValue {
        .object(
            JSONField.path("path", path) + [
                JSONField("since", since.json), JSONField("why", .string(why)),
                JSONField("operation", outcomeID.map { .integer($0) } ?? .null),
            ])
    }
}

extension Location {
    /// The file's name in messages: INBOX/PATH, else the path.
    var words: String {
        switch self {
        case .inbox(let inbox, let path): "\(shown(inbox.name))/\(path.escaped)"
        case .library(let root, let path): root.appending(path).escaped
        case .setAside(let path), .outside(let path): path.escaped
        }
    }
}

extension StoredPhoto {
    /// Its source: INBOX/PATH.
    var words: String { "\(shown(photo.inbox))/\(photo.sourcePath.escaped)" }
}

/// Known damage of a photo, as text.
func damageWords(_ damage: (since: FileTime, reason: String), now: Int64) -> String {
    "\(shown(damage.reason)), found \(shortTime(damage.since, now: now))"
}

/// The same as JSON.
func damageJSON(_ damage: (since: FileTime, reason: String)) -> JSONValue {
    .object([JSONField("reason", .string(damage.reason)), JSONField("since", damage.since.json)])
}
