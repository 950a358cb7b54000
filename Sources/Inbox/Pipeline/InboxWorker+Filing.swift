import Catalogue
import FileValues
import Filing
import LinuxKernel
import PhotoModel

/// The way of a proven arrival into the library, in the order that the promise depends on: see ARCHITECTURE.md.
extension InboxWorker {
    /// Known?, intent, copy, name, sync, commit, look again, remove.
    func file(
        _ arrival: Arrival, _ source: SourceFile, _ report: PhotoReport, _ hash: ContentHash, proof: String,
        _ work: FileWork
    ) async throws -> Conclusion {
        let library = try root(places.library)
        guard let known = try await catalogue.photo(withHash: hash) else {
            return try await place(arrival, source, report, hash, proof: proof, library, replacing: nil, work)
        }
        work.willEnter(.verifyCopy)
        if known.library == places.library,
            try library.holds(known.path, hash: hash, size: source.identity.size, work: work)
        {
            return try await setAsideDuplicate(arrival, source, hash, of: known, work)
        }
        // The library's copy is missing or damaged: the photo is filed again, and that is told.
        var conclusion = try await place(arrival, source, report, hash, proof: proof, library, replacing: known, work)
        conclusion.symptoms.append(.damaged(known.path, reason: "not what was filed; filed again from \(arrival.key)"))
        return conclusion
    }

    private func place(
        _ arrival: Arrival, _ source: SourceFile, _ report: PhotoReport, _ hash: ContentHash, proof: String,
        _ library: DestinationRoot, replacing damaged: KnownPhoto?, _ work: FileWork
    ) async throws -> Conclusion {
        let date = CaptureDateDecision(
            recorded: report.dates, name: source.name, modified: source.identity.modified, now: Moment.now.wall,
            trust: places.dates, zone: offsetOfLocalZone)
        let wanted = places.layout.path(
            for: source.name, date: date.chosen?.local.date, camera: report.cameraModel)
        let plan = PlacementPlan(directory: wanted.parent, name: wanted.name, hash: hash)
        let photo = PhotoRecord(
            arrival.key, source, report, date: date.chosen, proof: proof, hash: hash, library: places.library,
            path: wanted)
        underWay.updateValue(nil, forKey: plan.token)
        defer { underWay[plan.token] = nil }
        let intent = try await catalogue.begin(
            PlannedFiling(key: arrival.key, plan: plan, photo: photo, superseding: damaged))
        let placed: PlacedFile
        do { placed = try Filing.place(source, by: plan, in: library, work: work) } catch {
            // Its intent stays until recovery has seen that nothing of it is left, which the failure may have kept us
            // from taking away.
            owed.withLock { $0.owe() }
            throw error
        }
        work.willEnter(.record)
        let operation: Int64
        var symptoms: [Symptom] = [.library(failure: nil), .catalogue(failure: nil)]
        do {
            operation = try await commit(intent, at: placed.path, reason: date.words, &symptoms)
        } catch let error as CatalogueError where !error.leavesNothing {
            // It may be recorded for all that. Only reading the catalogue again can tell, so the copy stays until then.
            owed.withLock { $0.owe() }
            throw error
        } catch {
            // Unrecorded, it must not stay: the next try would find its name taken by nobody's photo. The source is whole.
            do { try withdraw(placed, from: library) } catch let failure {
                // Then the intent stays, so that recovery finds the copy.
                owed.withLock { $0.owe() }
                throw failure
            }
            await catalogue.abandon(intent)
            throw error
        }
        // From here on the photo is filed, whatever becomes of its source.
        let kept = spec.removesSources ? remove(source, plan, work) : .kept("mode = \"copy\"", source.identity)
        do {
            if case .owed = kept {
                // Its intent says so until recovery has done it.
                owed.withLock { $0.owe() }
            } else {
                try await catalogue.close(intent, operation: operation, kept: kept.reason, identity: kept.identity)
            }
        } catch {
            owed.withLock { $0.owe() }
            symptoms.append(.catalogue(failure: error))
        }

        var ended = EndedArrival(
            key: arrival.key, outcome: .filed, reason: date.words, ended: .now, firstSeen: arrival.firstSeen)
        ended.destination = placed.path
        ended.sha256 = "\(hash)"
        ended.bytes = source.identity.size
        ended.proof = proof
        ended.operation = operation
        var conclusion = Conclusion(.ended(.filed), ended)
        conclusion.settled = kept.identity.map { .opened($0) }
        if spec.removesSources, let reason = kept.reason {
            symptoms.append(.sourceKept(inbox: spec.name, reason: reason))
        }
        conclusion.symptoms = symptoms
        return conclusion
    }

    /// Records the filing. Filing never replaces a file, so if another photo has this path in the catalogue, that one's
    /// file is gone; the new photo takes its place there, and the loss is told.
    private func commit(
        _ intent: OpenIntent, at path: BytePath, reason: String, _ symptoms: inout [Symptom]
    ) async throws -> Int64 {
        do {
            return try await catalogue.commit(intent, at: path, reason: reason, keepsSource: !spec.removesSources)
        } catch {
            guard case .pathTaken(let lost) = error.code else { throw error }
            let operation = try await catalogue.commit(
                intent, at: path, reason: reason, keepsSource: !spec.removesSources, replacing: lost)
            symptoms.append(.damaged(path, reason: "photo \(lost) was filed there and is missing"))
            return operation
        }
    }

    /// What became of the source of a filed photo.
    private enum SourceEnd {
        case removed
        /// It stays, in this state.
        case kept(String, FileIdentity)
        /// It is still to be removed: what failed may work another time.
        case owed

        var reason: String? {
            if case .kept(let reason, _) = self { return reason }
            return nil
        }

        var identity: FileIdentity? {
            if case .kept(_, let identity) = self { return identity }
            return nil
        }
    }

    private func remove(_ source: SourceFile, _ plan: PlacementPlan, _ work: FileWork) -> SourceEnd {
        do throws(FilingError) {
            switch try source.remove(token: plan.token, hash: plan.hash, probe: probe, work: work) {
            case .removed: return .removed
            case .kept(let error):
                // Not as it was opened: a name that was given back has another time of change.
                guard let now = try? FileStatus(of: source.content) else { return .owed }
                return .kept("it cannot be removed: \(error)", now.identity)
            }
        } catch {
            // Recovery tells whether something else lies there now, which is an arrival of its own, or whether the same
            // photo does, opened by somebody for a moment.
            return .owed
        }
    }
}

extension PhotoRecord {
    /// The catalogue's row of a photo that is to be filed.
    fileprivate init(
        _ key: ArrivalKey, _ source: SourceFile, _ report: PhotoReport, date: PhotoModel.CaptureDate?, proof: String,
        hash: ContentHash, library: BytePath, path: BytePath
    ) {
        self.init(
            sha256: hash.bytes, size: source.identity.size, library: library, libraryPath: path, inbox: key.inbox,
            sourcePath: key.path, originalName: source.name, format: report.format?.rawValue ?? "unknown",
            captured: date.map {
                RecordedCaptureDate(local: $0.localText, offset: $0.offset, provenance: $0.provenance.rawValue)
            },
            width: report.width, height: report.height, orientation: report.orientation,
            camera: report.camera,
            proof: proof, sourceIdentity: source.identity)
    }
}

extension PhotoModel.CaptureDate {
    /// The clock's time without its offset, as the catalogue sorts it.
    fileprivate var localText: String { hasTime ? String(text.prefix(19)) : text }
}
