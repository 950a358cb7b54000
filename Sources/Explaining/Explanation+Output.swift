package import Catalogue
import CommandContact
import CommandSupport
import ControlProtocol
import FileValues
import PhotoModel
package import Reporting

extension Explanation: JSONRepresentable {
    package func text(_ style: TextStyle) -> String {
        var labelled = LabelledText()
        for (label, text) in rows { labelled.add(label, text) }
        return "\(subject): \(style.painted(headline, paint))\n" + labelled.rendered(style)
    }

    private var paint: TextStyle.Paint {
        switch verdict {
        case .filed, .duplicate, .kept, .inLibrary: .good
        case .quarantined: .bad
        case .deferred: .warning
        case .inHand, .unfinished, .released, .undone: .notice
        case .ignored, .withdrawn, .discarded, .excluded, .neverSeen, .outside: .faint
        }
    }

    package var json: JSONValue {
        var place: [JSONField] = []
        switch evidence.location {
        case .inbox(let inbox, let path): place = [JSONField("inbox", inbox.name)] + JSONField.path("path", path)
        case .remoteInbox(let inbox, let host, _, let path):
            place = [JSONField("inbox", inbox), JSONField("host", host)] + JSONField.path("path", path)
        case .library, .setAside, .outside: break
        }
        return .object(
            [JSONField("file", subject)] + place + [
                JSONField("verdict", verdict.rawValue), JSONField("words", headline),
                JSONField("in_hand", evidence.inHand),
                JSONField(
                    "excluded_by",
                    evidence.exclusion.map {
                        JSONValue.object([JSONField("pattern", $0.pattern), JSONField("origin", $0.origin)])
                    }), JSONField("name_rule", nameRule), JSONField("kept", evidence.kept),
                JSONField("photo", evidence.photo), JSONField("metadata", evidence.metadata),
                JSONField("damage", evidence.damage.map(damageJSON)), JSONField("sidecar_left", evidence.sidecarLeft),
                JSONField("set", evidence.set), JSONField("thumbnails", evidence.thumbnails.map(\.path.escaped)),
                JSONField("no_thumbnail", evidence.noThumbnail), JSONField("renditions", evidence.renditions),
                JSONField("links", evidence.linkFile), JSONField("hooks", evidence.hooks),
                JSONField("history", evidence.outcomes),
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

extension KeptSource: JSONRepresentable {
    package var json: JSONValue {
        .object(
            JSONField.path("path", path) + [
                JSONField("since", since), JSONField("why", why), JSONField("operation", outcomeID),
            ])
    }
}

extension Location {
    /// The file's name in messages: INBOX/PATH, else the path.
    var displayName: String {
        switch self {
        case .inbox(let inbox, let path): "\(printable(inbox.name))/\(path.escaped)"
        case .remoteInbox(let inbox, _, _, let path): "\(printable(inbox))/\(path.escaped)"
        case .library(let root, let path): root.appending(path).escaped
        case .setAside(let path), .outside(let path): path.escaped
        }
    }
}

extension StoredPhoto {
    /// Its source: INBOX/PATH.
    var sourceName: String { "\(printable(photo.inbox))/\(photo.sourcePath.escaped)" }
}

/// Known damage of a photo, as text.
func damageText(_ damage: (since: FileTime, reason: String), now: Int64) -> String {
    "\(printable(damage.reason)), found \(shortTime(damage.since, now: now))"
}

/// Why a photo's sidecar was left as it is, and what to do.
func sidecarText(_ reason: String) -> String {
    DaemonAddress.current.completing("left as it is: \(printable(reason)). It is tried again by: photoinbox reload")
}

func damageJSON(_ damage: (since: FileTime, reason: String)) -> JSONValue {
    .object([JSONField("reason", damage.reason), JSONField("since", damage.since)])
}
