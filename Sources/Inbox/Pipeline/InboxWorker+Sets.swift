import Catalogue
import FileValues
import Filing
import LinuxKernel
import PhotoModel

/// A member whose bytes were read.
struct HashedMember: Sendable {
    let member: ReadyMember
    let hash: ContentHash
    /// The photo with the same bytes whose library copy is missing or damaged.
    var replacing: KnownPhoto?

    var date: CaptureDateDecision { member.date }
}

/// With whom what is proven is filed, and beside what.
extension InboxWorker {
    /// Files proven arrivals: those whose bytes the library has are duplicates, each by itself; the others are filed as
    /// one, beside what was filed of their set. What has its outcome is put into `done`.
    func file(
        _ members: [ReadyMember], looksForSet: Bool, _ work: FileWork, _ done: inout [ArrivalKey: Conclusion]
    ) async throws {
        var new: [HashedMember] = []
        var known: [(HashedMember, StoredPhoto, FileStatus)] = []
        let library = try root(places.library)
        for member in members {
            let hash = try member.hash ?? member.source.hash(work)
            var hashed = HashedMember(member: member, hash: hash)
            if !member.role.isSidecar {
                if new.contains(where: { !$0.member.role.isSidecar && $0.hash == hash }) {
                    done[member.key] = later(member, "another of its set has the same bytes and is being filed")
                    continue
                }
                if let stored = try await catalogue.photo(withHash: hash), !stored.photo.part.isSidecar {
                    work.willEnter(.verifyCopy)
                    if stored.photo.library == places.library,
                        let found = try library.file(
                            stored.photo.libraryPath, hash: hash, size: member.source.identity.size, work: work)
                    {
                        known.append((hashed, stored, found))
                        continue
                    }
                    // The library's copy is missing or damaged: the photo is filed again, and that is told.
                    hashed.replacing = KnownPhoto(stored)
                }
            }
            new.append(hashed)
        }
        if !new.isEmpty {
            var set: [StoredPhoto] = []
            if let stored = known.first?.1 {
                set = try await catalogue.set(of: stored)
            } else if looksForSet {
                set = try await filedSet(new.map(\.member))
            }
            try await file(new, beside: set, library, work, &done)
        }
        // After the rest: if that fails, they are asked again, and nothing was torn apart.
        for (duplicate, stored, found) in known {
            done[duplicate.member.key] = try await setAsideDuplicate(duplicate, of: stored, found, work)
        }
    }

    /// Photos of one shot, and the sidecars with them, as one; what a clock says is another shot, after that.
    private func file(
        _ new: [HashedMember], beside filed: [StoredPhoto], _ library: DestinationRoot, _ work: FileWork,
        _ done: inout [ArrivalKey: Conclusion]
    ) async throws {
        let photos = new.filter { !$0.member.role.isSidecar }.sorted { $0.rank < $1.rank }
        var sidecars = new.filter(\.member.role.isSidecar)
        if photos.isEmpty {
            guard filed.contains(where: { !$0.photo.part.isSidecar }) else {
                for sidecar in sidecars {
                    done[sidecar.member.key] = leave(
                        sidecar.member.arrival, sidecar.member.source,
                        alone: "a sidecar (\(sidecar.member.role.name)) without its photo; it is taken when that comes")
                }
                return
            }
            try await place(sidecars, beside: filed, library, work, &done)
            return
        }
        var rest = photos
        while let first = rest.first {
            let shot = rest.filter { SetRules.agree(first.date.chosen, $0.date.chosen) }
            rest.removeAll { one in shot.contains { $0.member.key == one.member.key } }
            // They go to the shot that bears their name; what none of them does, with the first.
            let own = sidecars.filter { sidecar in
                rest.isEmpty || shot.contains { SetRules.belong($0.member.traits, sidecar.member.traits) }
            }
            sidecars.removeAll { one in own.contains { $0.member.key == one.member.key } }
            let mayJoin = !filed.isEmpty && shot.allSatisfy { joins($0, filed) }
            try await place(shot + own, beside: mayJoin ? filed : [], library, work, &done)
        }
    }

    /// What was filed of the set of `members`, if anything.
    private func filedSet(_ members: [ReadyMember]) async throws -> [StoredPhoto] {
        var query = SetQuery(inbox: spec.name, keys: [])
        for member in members {
            for key in member.name.keys where !query.keys.contains(key.bytes) { query.keys.append(key.bytes) }
            query.contentIdentifier = query.contentIdentifier ?? member.report.contentIdentifier
            guard member.role.isSidecar else { continue }
            let directory = member.key.path.parent
            query.paths += SetRules.likelyCompanions(of: member.name).map { directory.appending($0) }
        }
        return try await catalogue.filedSet(query)
    }

    /// Seconds after its filing within which a set is joined by a photo that says nothing of its time: cameras begin
    /// their numbers anew.
    private static let newness: Int64 = 3_600

    /// Whether a photo that comes late is one of the set that was filed under its name.
    private func joins(_ late: HashedMember, _ filed: [StoredPhoto]) -> Bool {
        let member = late.member
        let photos = filed.map(\.photo).filter { !$0.part.isSidecar }
        if let identifier = member.report.contentIdentifier {
            let identifiers = photos.compactMap(\.part.contentIdentifier)
            if identifiers.contains(identifier) { return true }
            if !identifiers.isEmpty { return false }
        }
        let format = member.report.format?.rawValue
        if photos.contains(where: { $0.part.role == member.role.code && $0.format == format }) { return false }
        let pairs = photos.contains { PhotoFormat(rawValue: $0.format)?.comesInPairs ?? false }
        guard pairs, member.report.format?.comesInPairs ?? false else { return false }
        let verdicts = photos.compactMap(\.captured).compactMap {
            SetRules.agree(late.date.chosen, filed: $0.local, provenance: $0.provenance)
        }
        if !verdicts.isEmpty { return verdicts.allSatisfy { $0 } }
        let newest = filed.map(\.filedAt.seconds).max() ?? 0
        return Moment.now.wall.seconds - newest <= Self.newness
    }

    func date(of source: SourceFile, _ report: PhotoReport) -> CaptureDateDecision {
        CaptureDateDecision(
            recorded: report.dates, name: source.name, modified: source.identity.modified,
            now: Moment.now.wall, trust: places.dates, zone: { LocalClock(at: $0).offset })
    }

    /// It waits until the rest of its set has its outcome, and is then looked at by itself.
    func later(_ member: ReadyMember, _ reason: String) -> Conclusion {
        var conclusion = Conclusion(.settle(reason: reason, seconds: 0.5))
        conclusion.quiet = member.quiet
        return conclusion
    }
}

extension HashedMember {
    /// Whose date decides: a picture's before a RAW's before a film's, and before all a date that a device wrote.
    fileprivate var rank: Int {
        let kind =
            switch member.role {
            case .picture: 0
            case .raw: 1
            case .film: 2
            case .sidecar: 3
            }
        return (date.chosen?.provenance.isSure ?? false) ? kind : kind + 4
    }
}
