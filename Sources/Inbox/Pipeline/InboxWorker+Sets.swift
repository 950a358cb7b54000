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

    fileprivate var candidate: FilingDecision.Candidate {
        FilingDecision.Candidate(traits: member.traits, date: date.chosen, format: member.report.format)
    }
}

/// A member whose bytes the library has, as `stored`, in the file `found` that was read again.
private struct KnownMember {
    let hashed: HashedMember
    let stored: StoredPhoto
    let found: FileStatus
}

/// With whom what is proven is filed, and beside what.
extension InboxWorker {
    /// Files proven arrivals: those whose bytes the library has are duplicates, each by itself; the others are filed as
    /// one, beside what was filed of their set. Where a step fails, what has its outcome keeps it.
    func file(_ members: [ReadyMember], looksForSet: Bool, _ work: FileWork) async -> Outcomes {
        var outcomes: Outcomes = [:]
        do {
            let library = try root(places.library)
            var (new, known): ([HashedMember], [KnownMember]) = ([], [])
            for member in members {
                let hashed = HashedMember(member: member, hash: try member.hash ?? member.source.hash(work))
                if member.role.isSidecar {
                    new.append(hashed)
                } else if new.contains(where: { !$0.member.role.isSidecar && $0.hash == hashed.hash }) {
                    outcomes[member.key] = later(member, "another of its set has the same bytes and is being filed")
                } else if let stored = try await catalogue.photo(withHash: hashed.hash), !stored.photo.part.isSidecar {
                    if let found = try copy(of: hashed, at: stored, in: library, work) {
                        known.append(KnownMember(hashed: hashed, stored: stored, found: found))
                    } else {
                        // The library's copy is missing or damaged: the photo is filed again, and that is told.
                        new.append(HashedMember(member: member, hash: hashed.hash, replacing: KnownPhoto(stored)))
                    }
                } else {
                    new.append(hashed)
                }
            }
            let set = new.isEmpty ? [] : try await set(of: new, known, looksForSet)
            let decision = FilingDecision(new.map(\.candidate), set: set, now: Moment.now.wall.seconds)
            for sidecar in decision.left.map({ new[$0].member }) {
                outcomes[sidecar.key] = leave(
                    sidecar.arrival, sidecar.source,
                    alone: "a sidecar (\(sidecar.role.name)) without its photo; it is taken when that comes")
            }
            for shot in decision.shots {
                let filed = shot.joins ? set : []
                var rest: [HashedMember] = []
                for hashed in shot.members.map({ new[$0] }) {
                    // Sidecars that the set has already are duplicates.
                    if let stored = filed.first(where: { $0.photo.isSidecar(hashed) }),
                        let found = try copy(of: hashed, at: stored, in: library, work)
                    {
                        known.append(KnownMember(hashed: hashed, stored: stored, found: found))
                    } else {
                        rest.append(hashed)
                    }
                }
                let transaction = FilingTransaction(rest, beside: filed, in: library, of: self, work) { self.owe($0) }
                for member in transaction.left {
                    outcomes[member.key] = later(member, "another of its set gets the same name")
                }
                for token in transaction.tokens { underWay.updateValue(nil, forKey: token) }
                defer { for token in transaction.tokens { underWay[token] = nil } }
                outcomes.merge(try await transaction.run()) { $1 }
            }
            // After the rest: if that fails, they are asked again, and nothing was torn apart.
            for one in known {
                let member = one.hashed.member
                do {
                    outcomes[member.key] = try await setAsideDuplicate(one.hashed, of: one.stored, one.found, work)
                } catch { outcomes[member.key] = conclusion(of: error, member.arrival) }
            }
        } catch {
            for member in members where outcomes[member.key] == nil {
                outcomes[member.key] = conclusion(of: error, member.arrival)
            }
        }
        return outcomes
    }

    /// The library's file with these bytes, which is read again; nil if it is missing or damaged, or in another library.
    private func copy(
        of hashed: HashedMember, at stored: StoredPhoto, in library: DestinationRoot, _ work: FileWork
    ) throws -> FileStatus? {
        guard stored.photo.library == places.library else { return nil }
        work.willEnter(.verifyCopy)
        return try library.file(
            stored.photo.libraryPath, hash: hashed.hash, size: hashed.member.source.identity.size, work: work)
    }

    /// What was filed of the set of new members, if anything: that of a member that the library has comes first.
    private func set(
        of new: [HashedMember], _ known: [KnownMember], _ looksForSet: Bool
    ) async throws -> [StoredPhoto] {
        if let stored = known.first?.stored { return try await catalogue.set(of: stored) }
        guard looksForSet else { return [] }
        var query = SetQuery(inbox: spec.name, keys: [])
        for member in new.map(\.member) {
            for key in member.name.keys where !query.keys.contains(key.bytes) { query.keys.append(key.bytes) }
            query.contentIdentifier = query.contentIdentifier ?? member.report.contentIdentifier
            guard member.role.isSidecar else { continue }
            let directory = member.key.path.parent
            query.paths += SetRules.likelyCompanions(of: member.name).map { directory.appending($0) }
        }
        return try await catalogue.filedSet(query)
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

extension PhotoRecord {
    /// Whether this sidecar of a set is that one come again: `IMG_1.xmp` and `IMG_1.CR3.xmp` may have the same bytes, and
    /// are two.
    fileprivate func isSidecar(_ hashed: HashedMember) -> Bool {
        hashed.member.role.isSidecar && part.isSidecar && sha256 == hashed.hash.bytes
            && SetKey.folded(originalName.bytes) == SetKey.folded(hashed.member.source.name.bytes)
    }
}
