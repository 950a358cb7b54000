import Catalogue
import FileValues
import Filing
import LinuxKernel
import PhotoModel

/// The way of what is filed as one into the library, in the order that the promise depends on: see ARCHITECTURE.md.
extension InboxWorker {
    /// Intents, copies, names, sync, commit; then each source: look again, remove; then all intents are closed. A photo
    /// that is alone is a set of one.
    ///
    /// Before the commit a failure takes back everything; after it all is filed, whatever becomes of the sources. What
    /// cannot be taken back or finished now is owed: its intents stay until recovery has done it.
    func place(
        _ wanted: [HashedMember], beside filed: [StoredPhoto], _ library: DestinationRoot, _ work: FileWork,
        _ done: inout [ArrivalKey: Conclusion]
    ) async throws {
        let members = try await plan(wanted, beside: filed, library, work, &done)
        guard let directory = members.first?.plan.directory else { return }
        for found in try libraryGuard.checkMounts(toward: directory, in: library.descriptor, of: library.path) {
            remember(found)
        }
        let anchor = filed.first { !$0.photo.part.isSidecar }?.id
        for member in members { underWay.updateValue(nil, forKey: member.plan.token) }
        defer { for member in members { underWay[member.plan.token] = nil } }
        let intents = try await catalogue.begin(
            members.map { PlannedFiling(plan: $0.plan, photo: record(of: $0), superseding: $0.hashed.replacing) },
            joining: anchor)
        let placed: [PlacedFile]
        do { placed = try place(members, in: library, work) } catch {
            // Their intents stay until recovery has seen that nothing of them is left, which the failure may have kept us
            // from taking away.
            owe(error)
            throw error
        }
        work.willEnter(.record)
        let recorded: Recorded
        let reasons = members.map { reason(for: $0, of: members, beside: filed) }
        do {
            var filings: [CompletedFiling] = []
            for (index, intent) in intents.enumerated() {
                filings.append(CompletedFiling(intent: intent, path: placed[index].path, reason: reasons[index]))
            }
            recorded = try await commit(filings, joining: anchor)
        } catch let error as CatalogueError where !error.leavesNothing {
            // It may be recorded for all that. Only reading the catalogue again can tell, so the copies stay until then.
            owe(error)
            throw error
        } catch {
            // Unrecorded, they must not stay: the next try would find its name taken by nobody's photo. The sources are
            // whole.
            do {
                for (file, member) in zip(placed, members) {
                    let isTakenBack = try library.takeBack(
                        file, token: member.plan.token, hash: member.plan.hash, seeing: member.hashed.member.source,
                        probe: probe, work: work)
                    guard isTakenBack else { throw error }
                }
            } catch let failure {
                // Then the intents stay, so that recovery finds the copies. One whose source is gone is recorded by it.
                owe(failure)
                throw failure
            }
            await catalogue.abandon(intents)
            throw error
        }
        // From here on they are filed, whatever becomes of their sources.
        let kept =
            spec.removesSources
            ? remove(members, placed, work) : members.map { .kept("mode = \"copy\"", $0.hashed.member.source.identity) }
        let late = await close(intents, recorded, kept)

        for (index, one) in members.enumerated() {
            let member = one.hashed.member
            var ended = EndedArrival(
                key: member.key, outcome: .filed, reason: reasons[index], ended: .now,
                firstSeen: member.arrival.firstSeen)
            ended.destination = placed[index].path
            ended.sha256 = "\(one.hashed.hash)"
            ended.bytes = member.source.identity.size
            ended.proof = member.proof
            ended.operation = recorded.operations[index]
            var conclusion = Conclusion(.ended(.filed), ended)
            conclusion.settled = kept[index].identity.map { .opened($0) }
            conclusion.quiet = member.quiet
            if spec.removesSources, let reason = kept[index].reason {
                conclusion.symptoms.append(
                    .sourceKept(inbox: spec.name, directory: member.key.path.parent, reason: reason))
            }
            // One that was filed into another library is no loss of this one.
            if let damaged = one.hashed.replacing, damaged.library == places.library {
                conclusion.symptoms.append(
                    .damaged(damaged.path, reason: "not what was filed; filed again from \(member.key)"))
            }
            if index == 0 {
                conclusion.symptoms =
                    [.library(failure: nil), .catalogue(failure: nil)] + late + recorded.losses + conclusion.symptoms
                conclusion.pairing = Pairing(
                    roles: members.map(\.hashed.member.role),
                    beside: filed.compactMap { $0.photo.part.role.flatMap { SetRole(code: $0) } })
            }
            done[member.key] = conclusion
        }
    }

    /// Closes the intents of what is filed and needs nothing more; those of sources that are still to be removed stay.
    private func close(_ intents: [OpenIntent], _ recorded: Recorded, _ kept: [SourceEnd]) async -> [Symptom] {
        var closing: [ClosedFiling] = []
        for (index, intent) in intents.enumerated() {
            if case .owed(let error) = kept[index] {
                // Its intent says so until recovery has done it.
                owe(error)
                continue
            }
            closing.append(
                ClosedFiling(
                    intent: intent, operation: recorded.operations[index], kept: kept[index].reason,
                    identity: kept[index].identity))
        }
        guard !closing.isEmpty else { return [] }
        do throws(CatalogueError) {
            try await catalogue.close(closing)
            return []
        } catch {
            owe(error)
            return [.catalogue(failure: error)]
        }
    }

    /// Where each goes: into the directory of what was filed of the set, or that of the first one's date; under names by
    /// which they are found together. Sidecars that the set has already are duplicates.
    private func plan(
        _ wanted: [HashedMember], beside filed: [StoredPhoto], _ library: DestinationRoot, _ work: FileWork,
        _ done: inout [ArrivalKey: Conclusion]
    ) async throws -> [PlannedMember] {
        guard let first = wanted.first else { return [] }
        let photos = filed.filter { !$0.photo.part.isSidecar }
        var naming = SetNaming(
            filed: photos.map { (original: $0.photo.originalName, library: $0.photo.libraryPath.name) })
        let directory =
            photos.first?.photo.libraryPath.parent
            ?? places.layout.path(
                for: first.member.source.name, date: first.date.chosen?.local.date,
                camera: first.member.report.cameraModel
            ).parent
        var planned: [PlannedMember] = []
        for hashed in wanted {
            let member = hashed.member
            let name: SetMemberName
            if member.role.isSidecar {
                let same = filed.first { $0.photo.isSame(as: hashed) }
                if let same,
                    let found = try library.file(
                        same.photo.libraryPath, hash: hashed.hash, size: member.source.identity.size, work: work)
                {
                    done[member.key] = try await setAsideDuplicate(hashed, of: same, found, work)
                    continue
                }
                name = naming.name(sidecar: member.name)
            } else {
                name = naming.name(photo: member.name)
            }
            guard !planned.contains(where: { library.isOneName($0.plan.name, library.fitting(name.name)) }) else {
                done[member.key] = later(member, "another of its set gets the same name")
                continue
            }
            let plan = PlacementPlan(
                directory: library.trial?.fitting(path: directory) ?? directory, name: library.fitting(name.name),
                hash: hashed.hash, numberAfter: name.stem)
            planned.append(PlannedMember(hashed: hashed, plan: plan))
        }
        return planned
    }

    private func place(
        _ members: [PlannedMember], in library: DestinationRoot, _ work: FileWork
    ) throws -> [PlacedFile] {
        if members.count == 1, let only = members.first {
            return [try Filing.place(only.hashed.member.source, by: only.plan, in: library, work: work)]
        }
        return try Filing.place(
            members.map { SetMember(source: $0.hashed.member.source, plan: $0.plan) }, in: library, work: work)
    }

    /// Why it was filed so, and with what.
    private func reason(
        for one: PlannedMember, of members: [PlannedMember], beside filed: [StoredPhoto]
    ) -> String {
        let member = one.hashed.member
        let others = members.filter { $0.plan.token != one.plan.token }.map(\.hashed.member.source.name.escaped)
        let before = filed.filter { !$0.photo.part.isSidecar }.map(\.photo.libraryPath.escaped)
        var clauses = member.role.isSidecar ? ["\(member.role.name)"] : [one.hashed.date.words]
        if !others.isEmpty { clauses.append("filed as one with \(others.prefix(4).joined(separator: ", "))") }
        if !before.isEmpty { clauses.append("put beside \(before.prefix(2).joined(separator: ", "))") }
        return clauses.joined(separator: "; ")
    }

    /// Records the filings as one. Filing never replaces a file, so if another photo has one of the paths in the
    /// catalogue, that one's file is gone; the new photo takes its place there, and the loss is told.
    private func commit(_ filings: [CompletedFiling], joining anchor: Int64?) async throws -> Recorded {
        var filings = filings
        var losses: [Symptom] = []
        for _ in filings.indices {
            let taken: CatalogueError
            switch await record(filings, joining: anchor) {
            case .success(let operations): return Recorded(operations: operations, losses: losses)
            case .failure(let error): taken = error
            }
            guard case .pathTaken(let lost) = taken.code else { throw taken }
            let path = try await catalogue.photo(id: lost)?.photo.libraryPath
            guard let index = filings.firstIndex(where: { $0.path == path && $0.replacing == nil }) else { throw taken }
            filings[index].replacing = lost
            losses.append(.damaged(filings[index].path, reason: "photo \(lost) was filed there and is missing"))
        }
        return Recorded(operations: try await record(filings, joining: anchor).get(), losses: losses)
    }

    private func record(
        _ filings: [CompletedFiling], joining anchor: Int64?
    ) async -> Result<[Int64], CatalogueError> {
        do throws(CatalogueError) {
            return .success(
                try await catalogue.commit(filings, joining: anchor, keepsSource: !spec.removesSources))
        } catch { return .failure(error) }
    }

    /// The operations' numbers, and what was found to be missing.
    private struct Recorded {
        let operations: [Int64]
        let losses: [Symptom]
    }

    /// What became of the source of a filed photo.
    private enum SourceEnd {
        case removed
        /// It stays, in this state.
        case kept(String, FileIdentity)
        /// It is still to be removed: what failed may work another time.
        case owed(FilingError)

        var reason: String? {
            if case .kept(let reason, _) = self { return reason }
            return nil
        }

        var identity: FileIdentity? {
            if case .kept(_, let identity) = self { return identity }
            return nil
        }
    }

    /// Removes the sources of what is filed; the directories are synced once, after the last.
    private func remove(_ members: [PlannedMember], _ placed: [PlacedFile], _ work: FileWork) -> [SourceEnd] {
        var ends: [SourceEnd] = []
        for (member, file) in zip(members, placed) {
            let source = member.hashed.member.source
            let copy = libraryCopy(file.path, member.plan.hash, size: source.identity.size, lastRead: file.status)
            ends.append(remove(source, member.plan, seeing: copy, work, syncing: members.count == 1))
        }
        defer {
            for member in members { ImportInbox.removeEmptied(by: member.hashed.member.key.path, of: spec.path) }
        }
        guard members.count > 1 else { return ends }
        var synced: Set<BytePath> = []
        for (index, member) in members.enumerated() {
            guard case .removed = ends[index], synced.insert(member.hashed.member.key.path.parent).inserted else {
                continue
            }
            // Recovery finds the source gone, and syncs.
            do throws(FilingError) { try member.hashed.member.source.syncDirectory(work: work) } catch {
                ends[index] = .owed(error)
            }
        }
        return ends
    }

    private func remove(
        _ source: SourceFile, _ plan: PlacementPlan, seeing copy: RecordedCopy, _ work: FileWork, syncing: Bool
    ) -> SourceEnd {
        do throws(FilingError) {
            switch try source.remove(
                token: plan.token, hash: plan.hash, seeing: [.recorded(copy)], probe: probe, work: work,
                syncing: syncing)
            {
            case .removed: return .removed
            case .kept(let error):
                return .kept("it cannot be removed: \(error)", try source.identityWhenKept())
            }
        } catch {
            // Recovery tells whether something else lies there now, which is an arrival of its own, or whether the same
            // photo does, opened by somebody for a moment.
            return .owed(error)
        }
    }

    /// The catalogue's row of a file that is to be filed.
    private func record(of planned: PlannedMember) -> PhotoRecord {
        let member = planned.hashed.member
        let report = member.report
        let date = member.role.isSidecar ? nil : planned.hashed.date.chosen
        let format: String =
            if case .sidecar(let kind) = member.role { kind.rawValue } else { report.format?.rawValue ?? "unknown" }
        return PhotoRecord(
            sha256: planned.hashed.hash.bytes, size: member.source.identity.size, library: places.library,
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

extension PhotoRecord {
    /// Whether this sidecar of a set is that one come again: `IMG_1.xmp` and `IMG_1.CR3.xmp` may have the same bytes, and
    /// are two.
    fileprivate func isSame(as hashed: HashedMember) -> Bool {
        part.isSidecar && sha256 == hashed.hash.bytes
            && SetKey.folded(originalName.bytes) == SetKey.folded(hashed.member.source.name.bytes)
    }
}

/// A member and where it goes.
struct PlannedMember: Sendable {
    let hashed: HashedMember
    let plan: PlacementPlan
}

extension PhotoModel.CaptureDate {
    /// The clock's time without its offset, as the catalogue sorts it.
    fileprivate var localText: String { hasTime ? String(text.prefix(19)) : text }
}
