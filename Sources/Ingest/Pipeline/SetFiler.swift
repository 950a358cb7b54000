import Catalogue
import FileValues
import Filing
import LinuxKernel
import PhotoFormats
import PhotoModel

/// A member whose bytes were read.
struct HashedMember {
    let member: ReadyMember
    let hash: ContentHash
    /// The photo with the same bytes whose library copy is missing or damaged.
    var replacing: StoredPhoto?

    var date: CaptureDateDecision { member.date }

    fileprivate var candidate: FilingDecision.Candidate {
        FilingDecision.Candidate(traits: member.traits, date: date.chosen, format: member.report.format)
    }
}

/// What the catalogue has of members: one round trip.
private struct KnownContent {
    /// The photos with their bytes, by hash; none for sidecars.
    var photos: [ContentHash: StoredPhoto] = [:]
    /// What was filed last of their set.
    var set: [StoredPhoto] = []
}

/// Decides with whom what is proven is filed, and beside what. On the inbox's queue.
final class SetFiler {
    private let inbox: InboxContext
    private let mover: Mover

    init(_ inbox: InboxContext, _ mover: Mover) {
        self.inbox = inbox
        self.mover = mover
    }

    /// Files proven arrivals: those whose bytes the library has are duplicates, each by itself; the others are filed as
    /// one, beside what was filed of their set. Where a step fails, what has its outcome keeps it.
    nonisolated(nonsending) func file(
        _ members: [ReadyMember], looksForSet: Bool, _ work: FileWork
    ) async -> Outcomes {
        do {
            let library = try inbox.directories.library()
            let hashed = try members.map { HashedMember(member: $0, hash: try $0.hash ?? $0.source.hash(work)) }
            // A photo that is alone is not looked up: its intent is refused if the library has it.
            if let only = hashed.first, hashed.count == 1, !looksForSet, !only.member.role.isSidecar {
                do { return try await place([only], beside: [], in: library, work) } catch let error as CatalogueError {
                    guard case .alreadyRecorded = error.code else { throw error }
                }
            }
            return await file(hashed, try await lookUp(hashed, looksForSet), in: library, work)
        } catch {
            return conclusions(of: error, members)
        }
    }

    private nonisolated(nonsending) func file(
        _ members: [HashedMember], _ known: KnownContent, in library: DestinationRoot, _ work: FileWork
    ) async -> Outcomes {
        var outcomes: Outcomes = [:]
        do {
            var (new, duplicates): ([HashedMember], [Duplicate]) = ([], [])
            for hashed in members {
                let isSidecar = hashed.member.role.isSidecar
                if !isSidecar, new.contains(where: { !$0.member.role.isSidecar && $0.hash == hashed.hash }) {
                    outcomes[hashed.member.key] = later(
                        hashed.member, "another of its set has the same bytes and is being filed")
                } else if !isSidecar, let stored = known.photos[hashed.hash] {
                    if let found = try copy(of: hashed, at: stored, in: library, work) {
                        duplicates.append(Duplicate(hashed: hashed, stored: stored, found: found))
                    } else {
                        // The library's copy is missing or damaged: the photo is filed again, and that is reported.
                        new.append(HashedMember(member: hashed.member, hash: hashed.hash, replacing: stored))
                    }
                } else {
                    new.append(hashed)
                }
            }
            // The set of a member that the library has comes first.
            var set = known.set
            if let stored = duplicates.first?.stored, !new.isEmpty {
                set = try await inbox.catalogue.perform("looking for a set") { try $0.photos(inSetOf: stored) }
            }
            let decision = FilingDecision(new.map(\.candidate), set: set, now: Moment.now.wall.seconds)
            for sidecar in decision.left.map({ new[$0].member }) {
                outcomes[sidecar.key] = inbox.ignored(
                    sidecar.arrival, sidecar.source,
                    "a sidecar (\(sidecar.role.name)) without its photo; it is filed when that comes")
            }
            for shot in decision.shots {
                let filed = shot.joins ? set : []
                var rest: [HashedMember] = []
                for hashed in shot.members.map({ new[$0] }) {
                    // Sidecars that the set has already are duplicates.
                    guard let stored = filed.first(where: { $0.photo.isSidecar(hashed) }) else {
                        rest.append(hashed)
                        continue
                    }
                    if let found = try copy(of: hashed, at: stored, in: library, work) {
                        duplicates.append(Duplicate(hashed: hashed, stored: stored, found: found))
                    } else {
                        rest.append(HashedMember(member: hashed.member, hash: hashed.hash, replacing: stored))
                    }
                }
                outcomes.merge(try await place(rest, beside: filed, in: library, work)) { $1 }
            }
            // After the rest: if that fails, they are asked again, and nothing was torn apart. Sidecars first, and photos only
            // once all of them are aside: a sidecar alone does not show to which photo it belongs.
            let sidecars = duplicates.filter(\.hashed.member.role.isSidecar)
            for one in sidecars + duplicates.filter({ !$0.hashed.member.role.isSidecar }) {
                let member = one.hashed.member
                do {
                    outcomes[member.key] = try await mover.setAsideDuplicate(
                        one.hashed, of: one.stored, one.found, work)
                } catch {
                    if member.role.isSidecar { throw error }
                    outcomes[member.key] = inbox.conclusion(of: error, member.arrival)
                }
            }
        } catch {
            outcomes.merge(conclusions(of: error, members.map(\.member))) { before, _ in before }
        }
        return outcomes
    }

    /// Files members as one.
    private nonisolated(nonsending) func place(
        _ members: [HashedMember], beside filed: [StoredPhoto], in library: DestinationRoot, _ work: FileWork
    ) async throws -> Outcomes {
        let transaction = FilingTransaction(members, beside: filed, in: library, inbox, work)
        for token in transaction.tokens { inbox.underWay.updateValue(nil, forKey: token) }
        defer { for token in transaction.tokens { inbox.underWay[token] = nil } }
        var outcomes = try await transaction.run()
        for member in transaction.left { outcomes[member.key] = later(member, "another of its set gets the same name") }
        return outcomes
    }

    private func conclusions(of error: any Error, _ members: [ReadyMember]) -> Outcomes {
        Dictionary(uniqueKeysWithValues: members.map { ($0.key, inbox.conclusion(of: error, $0.arrival)) })
    }

    private nonisolated(nonsending) func lookUp(
        _ members: [HashedMember], _ looksForSet: Bool
    ) async throws -> KnownContent {
        let hashes = members.filter { !$0.member.role.isSidecar }.map(\.hash)
        let query = looksForSet ? setQuery(members.map(\.member)) : nil
        let found = try await inbox.catalogue.lookUp(hashes.map(\.bytes), query)
        var known = KnownContent(set: found.set)
        for (hash, photo) in zip(hashes, found.photos) where photo?.photo.part.isSidecar == false {
            known.photos[hash] = photo
        }
        return known
    }

    private func setQuery(_ members: [ReadyMember]) -> SetQuery {
        var query = SetQuery(inbox: inbox.spec.name, keys: [])
        for member in members {
            for key in member.name.keys where !query.keys.contains(key.bytes) { query.keys.append(key.bytes) }
            query.contentIdentifier = query.contentIdentifier ?? member.report.contentIdentifier
            guard member.role.isSidecar else { continue }
            let directory = member.key.path.parent
            query.paths += SetRules.likelyCompanions(of: member.name).map { directory.appending($0) }
        }
        return query
    }

    /// The library's file with these bytes, which is read again; nil if it is missing or damaged, or in another library.
    private func copy(
        of hashed: HashedMember, at stored: StoredPhoto, in library: DestinationRoot, _ work: FileWork
    ) throws -> FileStatus? {
        guard stored.photo.library == inbox.places.library else { return nil }
        work.willEnter(.verifyCopy)
        return try library.file(
            stored.photo.libraryPath, hash: hashed.hash, size: hashed.member.source.identity.size, work: work)
    }

    /// It waits until the rest of its set has its outcome, and is then examined by itself.
    private func later(_ member: ReadyMember, _ reason: String) -> Conclusion {
        var conclusion = Conclusion(.waitForQuiet(reason: reason, seconds: 0.5))
        conclusion.quiet = member.quiet
        return conclusion
    }
}

/// A member whose bytes the library has, as `stored`, in the file `found` that was read again.
private struct Duplicate {
    let hashed: HashedMember
    let stored: StoredPhoto
    let found: FileStatus
}

extension PhotoRecord {
    /// Whether this sidecar of a set is that one come again: `IMG_1.xmp` and `IMG_1.CR3.xmp` may have the same bytes, and
    /// are two.
    fileprivate func isSidecar(_ hashed: HashedMember) -> Bool {
        hashed.member.role.isSidecar && part.isSidecar && sha256 == hashed.hash.bytes
            && SetKey.folded(originalName.bytes) == SetKey.folded(hashed.member.source.name.bytes)
    }
}
