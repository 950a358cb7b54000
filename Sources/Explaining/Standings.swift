package import Catalogue
package import CommandContact
import CommandSupport
import ControlProtocol
import Fetching
import FileValues
package import PhotoModel
import Renditions
package import Reporting
import Settings

/// The standing of one rendition of a photo.
package struct RenditionStanding: Hashable, JSONRepresentable {
    package enum State: String, Sendable {
        case made
        /// Not made yet, or not wanted any more.
        case missing
        case failed
    }

    package let kind: RenditionKind
    package let state: State
    var path: BytePath?
    var likeness: UInt64?
    package internal(set) var reason: String?
    /// Whether renditions are off by configuration.
    var isOff = false

    /// The requested and the existing renditions of a photo; none for files that have none. Without a configuration it is
    /// unknown whether any are made.
    package static func all(
        of stored: StoredPhoto, in catalogue: CatalogueFile, _ places: Places
    ) throws(CatalogueError) -> [RenditionStanding] {
        let records = try catalogue.renditions(ofPhoto: stored.id)
        let work = ThumbnailWork(places.settings, state: places.state)
        guard work.isConcerned(stored.photo) else { return [] }
        let wanted = RenditionPlan(wanted: work.kinds(for: stored.photo.inbox)).states
        let plan = work.plan(for: stored, known: records)
        let failure = work.store.failure(of: stored.photo.sha256)?.reason
        return RenditionKind.allCases.compactMap { kind in
            let record = records.first { $0.kind == kind.rawValue }
            if let word = work.word(of: kind), work.store.has(stored.photo.sha256, word) {
                return RenditionStanding(
                    kind: kind, state: .made, path: work.store.path(of: stored.photo.sha256, word))
            }
            if kind == .hash, let likeness = record?.likeness {
                return RenditionStanding(kind: kind, state: .made, likeness: likeness)
            }
            guard wanted[kind] != nil || record != nil else { return nil }
            let reason = plan.reason(against: kind) ?? record?.reason ?? (kind.needs.isEmpty ? failure : nil)
            return RenditionStanding(
                kind: kind, state: reason == nil ? .missing : .failed, reason: reason,
                isOff: !work.settings.isEnabled && places.settings != nil)
        }
    }

    package var name: String { kind.rawValue }

    /// `…/ab/abcd…-2048.jpg`, `0x0f3c…`, `none yet`, `none: it shows no pair of eyes`,
    /// `none: [pictures] is not enabled`.
    package var text: String {
        switch state {
        case .made: path?.escaped ?? likeness.map { "0x" + padded($0, 16, radix: 16) } ?? "made"
        case .missing: isOff ? "none: [pictures] is not enabled" : "none yet"
        case .failed: "none: \(printable(reason ?? "unknown"))"
        }
    }

    package var json: JSONValue {
        .object([
            JSONField("kind", kind.rawValue), JSONField("state", state.rawValue), JSONField("path", path?.escaped),
            JSONField("likeness", likeness.map { padded($0, 16, radix: 16) }), JSONField("reason", reason),
        ])
    }
}

/// The progress of a file of links, for `explain`.
enum LinkStanding: JSONRepresentable {
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

    func text(now: Int64) -> String {
        switch self {
        case .off: return "not fetched: set links = \"yes\" in [fetch], then copy it into the inbox again"
        case .known(let file):
            let since = FileTime(rfc3339: file.since).map { shortTime($0, now: now) } ?? printable(file.since)
            return "\(printable(file.what)) (\(since))"
        }
    }

    package var json: JSONValue {
        switch self {
        case .off: .object([JSONField("phase", "off")])
        case .known(let file): file.json
        }
    }
}
