import Catalogue
import CommandContact
import CommandSupport
import FileValues
import PhotoModel
import Renditions
import Reporting
import Settings

/// The standing of one rendition of a photo.
struct RenditionStanding: Hashable {
    enum State: String {
        case made
        /// Not made yet, or not wanted any more.
        case missing
        case failed
    }

    let kind: RenditionKind
    let state: State
    /// Its file.
    var path: BytePath?
    var likeness: UInt64?
    var reason: String?
    /// Whether renditions are off by configuration.
    var isOff = false

    /// The requested and the existing renditions of a photo; none for files that have none. Without `isConfigured` it is
    /// unknown whether any are made.
    static func all(
        of stored: StoredPhoto, _ work: ThumbnailWork, records: [RenditionRecord], isConfigured: Bool
    ) -> [RenditionStanding] {
        guard work.isConcerned(stored.photo) else { return [] }
        let wanted = RenditionPlan(wanted: work.kinds(for: stored.photo.inbox)).states
        let plan = work.plan(for: stored, known: records)
        let failure = work.store.failure(of: stored.photo.sha256)
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
                isOff: !work.settings.isEnabled && isConfigured)
        }
    }

    /// Its name: `tilt-shift`.
    var name: String { kind.rawValue }

    /// `…/ab/abcd…-2048.jpg`, `0x0f3c…`, `none yet`, `none: it shows no pair of eyes`,
    /// `none: [pictures] is not enabled`.
    var words: String {
        switch state {
        case .made: path?.escaped ?? likeness.map { "0x" + Self.hexadecimal($0) } ?? "made"
        case .missing: isOff ? "none: [pictures] is not enabled" : "none yet"
        case .failed: "none: \(shown(reason ?? "unknown"))"
        }
    }

    func json() -> JSONValue {
        .object([
            JSONField("kind", .string(kind.rawValue)), JSONField("state", .string(state.rawValue)),
            JSONField("path", path.map { .string($0.escaped) } ?? .null),
            JSONField("likeness", likeness.map { .string(Self.hexadecimal($0)) } ?? .null),
            JSONField("reason", reason.map { .string($0) } ?? .null),
        ])
    }

    private static func hexadecimal(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension Records {
    /// The standing of a photo's renditions.
    func renditions(of photo: StoredPhoto, _ places: Places) throws(CommandFailure) -> [RenditionStanding] {
        let known = try ask { (catalogue) throws(CatalogueError) in try catalogue.renditions(ofPhoto: photo.id) }
        return RenditionStanding.all(
            of: photo, ThumbnailWork(places.settings, state: places.state), records: known,
            isConfigured: places.settings != nil)
    }
}
