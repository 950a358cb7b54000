import Catalogue
import FileValues
import PhotoFormats
import PhotoModel

/// With what proven files are filed as one, and beside what: a value, decided without I/O.
struct FilingDecision: Equatable {
    /// What the decision needs to know of a file.
    struct Candidate {
        let traits: SetTraits
        /// The date that decides.
        let date: CaptureDate?
        let format: PhotoFormat?

        fileprivate var isSidecar: Bool { traits.role.isSidecar }

        /// Whose date decides: one that a device wrote before any other in a file or its name, before the file's modification
        /// time; among equals a picture's before a RAW's before a film's.
        fileprivate var rank: Int {
            let kind =
                switch traits.role {
                case .picture: 0
                case .raw: 1
                case .film: 2
                case .sidecar: 3
                }
            let trust = date.map { date in DateTrust.allCases.firstIndex { $0.accepts(date.provenance) } ?? 0 }
            return (trust ?? DateTrust.allCases.count) * 4 + kind
        }
    }

    /// Photos of one moment and the sidecars with them, all filed or none.
    struct Shot: Equatable {
        /// By their places among the candidates; the one whose date and name count stands first.
        var members: [Int]
        /// Whether it is put beside what was filed of the set.
        let joins: Bool
    }

    private(set) var shots: [Shot] = []
    /// Sidecars without a photo: they stay where they are.
    private(set) var left: [Int] = []

    /// Seconds after its filing within which a set is joined by a photo without a time: cameras begin
    /// their numbers anew.
    private static let newness: Int64 = 3_600

    /// Decides for `candidates`, of whose set `filed` was filed before, at the second `now`.
    init(_ candidates: [Candidate], set filed: [StoredPhoto], now: Int64) {
        var sidecars = candidates.indices.filter { candidates[$0].isSidecar }
        var photos = candidates.indices.filter { !candidates[$0].isSidecar }
        photos.sort { (candidates[$0].rank, $0) < (candidates[$1].rank, $1) }
        if photos.isEmpty {
            if !filed.contains(where: { !$0.photo.part.isSidecar }) {
                left = sidecars
            } else if !sidecars.isEmpty {
                shots = [Shot(members: sidecars, joins: true)]
            }
            return
        }
        while let first = photos.first {
            let shot = photos.filter { SetRules.agree(candidates[first].date, candidates[$0].date) }
            photos.removeAll { shot.contains($0) }
            // They go to the shot that bears their name; those that belong to none go with the last.
            let own = sidecars.filter { sidecar in
                photos.isEmpty
                    || shot.contains { SetRules.belong(candidates[$0].traits, candidates[sidecar].traits) }
            }
            sidecars.removeAll { own.contains($0) }
            let joins = !filed.isEmpty && shot.allSatisfy { Self.joins(candidates[$0], filed, now: now) }
            shots.append(Shot(members: shot + own, joins: joins))
        }
    }

    /// Whether a photo that comes late is one of the set that was filed under its name.
    private static func joins(_ late: Candidate, _ filed: [StoredPhoto], now: Int64) -> Bool {
        let photos = filed.map(\.photo).filter { !$0.part.isSidecar }
        if let identifier = late.traits.contentIdentifier {
            let identifiers = photos.compactMap(\.part.contentIdentifier)
            if identifiers.contains(identifier) { return true }
            if !identifiers.isEmpty { return false }
        }
        if photos.contains(where: { $0.part.role == late.traits.role.code && $0.format == late.format?.rawValue }) {
            return false
        }
        let pairs = photos.contains { PhotoFormat(rawValue: $0.format)?.comesInPairs ?? false }
        guard pairs, late.format?.comesInPairs ?? false else { return false }
        let verdicts = photos.compactMap(\.captured).compactMap {
            SetRules.agree(late.date, filed: $0.local, provenance: $0.provenance)
        }
        if !verdicts.isEmpty { return verdicts.allSatisfy { $0 } }
        return now - (filed.map(\.filedAt.seconds).max() ?? 0) <= newness
    }
}
