import Catalogue
import FileValues
import Filing
import LinuxKernel
import PhotoFormats
import PhotoModel

/// Results of arrivals, by their keys.
typealias Outcomes = [ArrivalKey: Conclusion]

/// What is filed as one on its way into the library; a photo that is alone is a set of one.
///
/// ``run()`` has the order that the promise depends on (ARCHITECTURE.md). Before the commit a failure undoes everything;
/// after it all is filed, whatever happens to the sources. What cannot be undone or finished now is left to recovery: its
/// intents stay until that has done it. On the inbox's queue.
struct FilingTransaction {
    /// Members that would get the name of another: they are not of this transaction.
    private(set) var left: [ReadyMember] = []
    private var members: [PlannedMember] = []
    private let filed: [StoredPhoto]
    private let library: DestinationRoot
    private let inbox: InboxContext
    private let work: FileWork

    nonisolated(nonsending) func run() async throws -> Outcomes {
        if members.isEmpty { return [:] }
        // What is about to happen is recorded, before the first byte is copied. Refused if the library has one of them.
        let intents = try await begin()
        // Copies are written, synced and read again; each gets its name; directories are synced.
        let placed = try placeCopies(intents)
        // The commit. From here on they are filed, whatever happens to their sources.
        let recorded = try await record(placed, intents)
        // Each source is examined again, and removed; directories are synced.
        let sources = removeSources(placed)
        // What needs nothing more is closed.
        let refusal = await close(intents, recorded, sources)
        return outcomes(placed, recorded, sources, refusal)
    }

    /// The photo whose set they join.
    private var anchor: Int64? { filed.first { !$0.photo.part.isSidecar }?.id }

    // MARK: - Places

    /// Plans where each goes: into the directory of what was filed of the set, or that of the first one's date; under names
    /// by which they are found together.
    init(
        _ wanted: [HashedMember], beside filed: [StoredPhoto], in library: DestinationRoot, _ inbox: InboxContext,
        _ work: FileWork
    ) {
        (self.filed, self.library, self.inbox, self.work) = (filed, library, inbox, work)
        guard let first = wanted.first else { return }
        let photos = filed.filter { !$0.photo.part.isSidecar }
        var naming = SetNaming(
            filed: photos.map { (original: $0.photo.originalName, library: $0.photo.libraryPath.name) })
        let directory =
            photos.first?.photo.libraryPath.parent
            ?? inbox.places.layout.path(
                for: first.member.source.name, date: first.date.chosen?.local.date,
                camera: first.member.report.cameraModel
            ).parent
        let place = library.trial?.fitting(path: directory) ?? directory
        func isPlanned(_ name: BytePath) -> Bool { members.contains { library.isOneName($0.plan.name, name) } }
        for hashed in wanted {
            let member = hashed.member
            let name =
                member.role.isSidecar
                ? naming.name(sidecar: member.name) { name in
                    let name = library.fitting(name)
                    return isPlanned(name)
                        || (try? library.descriptor.openDirectoryBeneath(place).isFree(name)) == false
                } : naming.name(photo: member.name)
            guard !isPlanned(library.fitting(name.name)) else {
                left.append(member)
                continue
            }
            let plan = PlacementPlan(
                directory: place, name: library.fitting(name.name), hash: hashed.hash, numberAfter: name.stem)
            members.append(PlannedMember(hashed: hashed, plan: plan))
        }
    }

    /// By which the files of this transaction are known to recovery.
    var tokens: [String] { members.map(\.plan.token) }

    nonisolated(nonsending) private func begin() async throws(CatalogueError) -> [Int64] {
        let now = Moment.now.wall
        let intents = members.map { member in
            NewIntent(
                token: member.plan.token,
                temporary: member.plan.directory.appending(FileNames.temporary(member.plan.token)),
                photo: record(of: member), since: now, supersedes: member.hashed.replacing?.id,
                setToken: members.count > 1 ? tokens.first : nil, joins: anchor, numberAfter: member.plan.numberAfter)
        }
        do throws(CatalogueError) { return try await inbox.catalogue.begin(intents) } catch {
            throw inbox.recordingFailed(error)
        }
    }

    // MARK: - Copies

    private func placeCopies(_ intents: [Int64]) throws -> [PlacedFile] {
        do { try inbox.directories.checkMounts(toward: members[0].plan.directory, in: library) } catch {
            inbox.closeSoon(intents)
            throw error
        }
        do throws(FilingError) {
            if members.count == 1, let only = members.first {
                return [try place(only.hashed.member.source, by: only.plan, in: library, work: work)]
            }
            return try place(
                members.map { SetMember(source: $0.hashed.member.source, plan: $0.plan) }, in: library, work: work)
        } catch {
            // Another sync may succeed though this one has lost a name.
            if library.isShared, error.step == .syncDestination { inbox.distrusted.formUnion(tokens) }
            // Their intents stay until recovery has seen that nothing of them is left, which the failure may have kept us
            // from removing.
            inbox.requireRecovery(after: error)
            throw error
        }
    }

    // MARK: - The commit

    /// The operations' numbers, and what was found to be missing.
    private struct Recorded {
        let operations: [Int64]
        let losses: [Symptom]
    }

    nonisolated(nonsending) private func record(
        _ placed: [PlacedFile], _ intents: [Int64]
    ) async throws -> Recorded {
        work.willEnter(.record)
        let now = Moment.now.wall
        do {
            return try await commit(
                members.indices.map { index in
                    var photo = record(of: members[index])
                    photo.libraryPath = placed[index].path
                    return FilingCommit(
                        intent: intents[index], photo: photo, filedAt: now, reason: reason(for: index),
                        keepsSource: !inbox.spec.removesSources,
                        supersedes: members[index].hashed.replacing.map { [$0.id] } ?? [])
                })
        } catch let error as CatalogueError where !error.leavesNothing {
            // It may be recorded all the same. Only reading the catalogue again can show that, so the copies stay until then.
            inbox.unanswered.formUnion(tokens)
            inbox.requireRecovery(after: error)
            throw error
        } catch let error as CatalogueError where inbox.catalogue.file.isShared {
            // Another daemon may have recorded them: they stay, and recovery finds out who has the content.
            inbox.unanswered.formUnion(tokens)
            inbox.requireRecovery(after: error)
            throw error
        } catch {
            // Unrecorded, they must not stay: the next try would find its name taken by nobody's photo. The sources are
            // whole.
            do {
                for (file, member) in zip(placed, members) {
                    let isTakenBack = try library.takeBack(
                        file, token: member.plan.token, hash: member.plan.hash, seeing: member.hashed.member.source,
                        probe: inbox.probe, work: work)
                    guard isTakenBack else { throw error }
                }
            } catch let failure {
                // Then the intents stay, so that recovery finds the copies. One whose source is gone is recorded by it.
                inbox.requireRecovery(after: failure)
                throw failure
            }
            inbox.closeSoon(intents)
            throw error
        }
    }

    /// Records the filings as one. Filing never replaces a file, so if another photo has one of the paths in the
    /// catalogue, that one's file is gone; the new photo takes its place there, and the loss is reported.
    nonisolated(nonsending) private func commit(_ wanted: [FilingCommit]) async throws -> Recorded {
        var filings = wanted
        var losses: [Symptom] = []
        while true {
            do throws(CatalogueError) {
                let ids = try await inbox.catalogue.commit(filings, set: anchor.map { .joining(photo: $0) } ?? .new)
                return Recorded(operations: ids.map(\.outcome), losses: losses)
            } catch {
                guard case .pathTaken(let lost) = error.code, losses.count < filings.count else { throw error }
                let path = try await inbox.catalogue.perform("looking up a photo") {
                    try $0.photo(id: lost)?.photo.libraryPath
                }
                guard let index = filings.firstIndex(where: { $0.photo.libraryPath == path }) else { throw error }
                filings[index].supersedes.append(lost)
                losses.append(
                    .damaged(filings[index].photo.libraryPath, reason: "photo \(lost) was filed there and is missing"))
            }
        }
    }

    // MARK: - Sources

    /// What happened to the source of a filed photo.
    private enum SourceEnd {
        case removed
        /// It stays, in this state.
        case kept(String, FileIdentity)
        /// It is still to be removed: what failed may work another time.
        case pending(FilingError)

        var reason: String? { if case .kept(let reason, _) = self { reason } else { nil } }
        var identity: FileIdentity? { if case .kept(_, let identity) = self { identity } else { nil } }
    }

    /// Removes the sources of what is filed; the directories are synced once, after the last.
    private func removeSources(_ placed: [PlacedFile]) -> [SourceEnd] {
        guard inbox.spec.removesSources else {
            return members.map { .kept("mode = \"copy\"", $0.hashed.member.source.identity) }
        }
        var ends = zip(members, placed).map { removeSource($0, seeing: $1, syncing: members.count == 1) }
        defer {
            for member in members {
                ImportInbox.removeEmptied(by: member.hashed.member.key.path, of: inbox.spec.path)
            }
        }
        guard members.count > 1 else { return ends }
        var synced: Set<BytePath> = []
        for (index, member) in members.enumerated() {
            guard case .removed = ends[index], synced.insert(member.hashed.member.key.path.parent).inserted else {
                continue
            }
            // Recovery finds the source gone, and syncs.
            do throws(FilingError) { try member.hashed.member.source.syncDirectory(work: work) } catch {
                ends[index] = .pending(error)
            }
        }
        return ends
    }

    private func removeSource(_ member: PlannedMember, seeing file: PlacedFile, syncing: Bool) -> SourceEnd {
        let (source, plan) = (member.hashed.member.source, member.plan)
        let copy = inbox.directories.libraryCopy(
            file.path, plan.hash, size: source.identity.size, lastRead: file.status)
        do throws(FilingError) {
            switch try source.remove(
                token: plan.token, hash: plan.hash, seeing: [.recorded(copy)], probe: inbox.probe, work: work,
                syncing: syncing)
            {
            case .removed: return .removed
            case .kept(let error):
                return .kept("it cannot be removed: \(error)", try source.identityWhenKept())
            }
        } catch {
            // Recovery finds out whether something else lies there now, which is an arrival of its own, or whether the same
            // photo does, opened by another program for a moment.
            return .pending(error)
        }
    }

    /// Closes the intents of what is filed and needs nothing more; those of sources that are still to be removed stay.
    nonisolated(nonsending) private func close(
        _ intents: [Int64], _ recorded: Recorded, _ sources: [SourceEnd]
    ) async -> [Symptom] {
        var (complete, kept): ([Int64], [(intent: Int64, source: KeptSource)]) = ([], [])
        for (index, intent) in intents.enumerated() {
            switch sources[index] {
            case .removed: complete.append(intent)
            // Its intent stays until recovery has done it.
            case .pending(let error): inbox.requireRecovery(after: error)
            case .kept(let reason, let identity):
                let hashed = members[index].hashed
                let source = KeptSource(
                    inbox: inbox.spec.name, path: hashed.member.key.path, identity: identity, since: Moment.now.wall,
                    why: reason, sha256: hashed.hash.bytes, outcomeID: recorded.operations[index])
                kept.append((intent, source))
            }
        }
        if !complete.isEmpty { inbox.closeSoon(complete) }
        if kept.isEmpty { return [] }
        do throws(CatalogueError) {
            // Waited for: the file stays, and is not to be filed again.
            try await inbox.catalogue.close(kept.map(\.intent), kept: kept.map(\.source))
            return []
        } catch {
            inbox.requireRecovery(after: error)
            return [.catalogue(failure: error)]
        }
    }

    // MARK: - Outcomes

    private func outcomes(
        _ placed: [PlacedFile], _ recorded: Recorded, _ sources: [SourceEnd], _ refusal: [Symptom]
    ) -> Outcomes {
        var outcomes: Outcomes = [:]
        for (index, one) in members.enumerated() {
            let member = one.hashed.member
            var ended = EndedArrival(
                key: member.key, outcome: .filed, reason: reason(for: index), ended: .now,
                firstSeen: member.arrival.firstSeen)
            ended.destination = placed[index].path
            ended.sha256 = "\(one.hashed.hash)"
            ended.bytes = member.source.identity.size
            ended.proof = member.proof
            ended.operation = recorded.operations[index]
            var conclusion = Conclusion(.ended(.filed), ended)
            conclusion.kept = sources[index].identity.map { .opened($0) }
            conclusion.quiet = member.quiet
            if inbox.spec.removesSources, let reason = sources[index].reason {
                conclusion.symptoms.append(
                    .sourceKept(inbox: inbox.spec.name, directory: member.key.path.parent, reason: reason))
            }
            // One that was filed into another library is no loss of this one.
            if let damaged = one.hashed.replacing?.photo, damaged.library == inbox.places.library {
                conclusion.symptoms.append(
                    .damaged(
                        damaged.libraryPath, reason: "missing, or not what was filed; filed again from \(member.key)"))
            }
            if index == 0 {
                conclusion.symptoms = refusal + recorded.losses + conclusion.symptoms
                conclusion.pairing = Pairing(
                    roles: members.map(\.hashed.member.role),
                    beside: filed.compactMap { $0.photo.part.role.flatMap { SetRole(code: $0) } })
            }
            outcomes[member.key] = conclusion
        }
        return outcomes
    }

    /// Why it was filed so, and with what.
    private func reason(for index: Int) -> String {
        let one = members[index].hashed
        let others = members.indices.filter { $0 != index }.map { members[$0].hashed.member.source.name.escaped }
        let before = filed.filter { !$0.photo.part.isSidecar }.map(\.photo.libraryPath.escaped)
        var clauses = one.member.role.isSidecar ? ["\(one.member.role.name)"] : [one.date.words]
        if index > 0, one.date.chosen != members[0].hashed.date.chosen, !one.member.role.isSidecar {
            clauses.append("filed by the date of \(members[0].hashed.member.source.name.escaped)")
        }
        if !others.isEmpty { clauses.append("filed as one with \(others.prefix(4).joined(separator: ", "))") }
        if !before.isEmpty { clauses.append("put beside \(before.prefix(2).joined(separator: ", "))") }
        return clauses.joined(separator: "; ")
    }

    /// The catalogue's row of a file that is to be filed.
    private func record(of planned: PlannedMember) -> PhotoRecord {
        let member = planned.hashed.member
        let report = member.report
        let date = member.role.isSidecar ? nil : planned.hashed.date.chosen
        let format: String =
            if case .sidecar(let kind) = member.role { kind.rawValue } else { report.format?.rawValue ?? "unknown" }
        return PhotoRecord(
            sha256: planned.hashed.hash.bytes, size: member.source.identity.size, library: inbox.places.library,
            libraryPath: planned.plan.path, inbox: member.key.inbox, sourcePath: member.key.path,
            originalName: member.source.name, format: format,
            captured: date.map {
                RecordedCaptureDate(local: $0.localText, offset: $0.offset, provenance: $0.provenance.rawValue)
            },
            width: report.width, height: report.height, orientation: report.orientation,
            camera: report.camera, proof: member.proof, sourceIdentity: member.source.identity,
            part: SetPart(
                role: member.role.code, contentIdentifier: report.contentIdentifier, key: member.name.key.bytes,
                shortKey: member.name.shortKeys.first?.bytes), origin: member.source.origin)
    }
}

/// A member and where it goes.
private struct PlannedMember {
    let hashed: HashedMember
    let plan: PlacementPlan
}

extension CaptureDate {
    /// The clock's time without its offset, as the catalogue sorts it.
    fileprivate var localText: String { hasTime ? String(text.prefix(19)) : text }
}
