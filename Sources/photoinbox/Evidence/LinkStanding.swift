import CommandContact
import CommandSupport
import ControlProtocol
import Fetching
import FileValues
import Reporting

/// The progress of a file of links, for `explain`.
enum LinkStanding {
    /// Such files are ignored by configuration.
    case off
    case known(DaemonState.LinkFile)

    /// The headline instead of "ignored"; nil if there is none.
    var headline: String? {
        guard case .known(let file) = self else { return nil }
        switch file.phase {
        case "waiting": return "a file of links, waiting"
        case "fetching": return "a file of links, being fetched: \(file.counts)"
        case "done": return "a file of links, done: \(file.counts)"
        case "refused": return "a file of links, refused"
        default: return "a file of links, given up"
        }
    }

    /// As text, escaped.
    func words(now: Int64) -> String {
        switch self {
        case .off: return "not fetched: set links = \"yes\" in [fetch], then copy it into the inbox again"
        case .known(let file):
            let since = parseRFC3339(file.since).map { shortTime($0, now: now) } ?? shown(file.since)
            return "\(shown(file.what)) (\(since))"
        }
    }

    func json() -> JSONValue {
        switch self {
        case .off: .object([JSONField("phase", .string("off"))])
        case .known(let file): file.json()
        }
    }
}
