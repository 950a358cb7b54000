import Catalogue
import FileValues
import Filing
import FleetRules
import Glibc
import LinuxKernel

/// An inbox, library and catalogue below one directory.
final class Fixture {
    let inbox: OwnedDescriptor
    let library: DestinationRoot
    let catalogue: CatalogueFile
    let probe = WriterProbe()

    init(_ root: String, named: Bool) throws {
        inbox = try openDirectory(BytePath("\(root)/inbox"))
        var means = PlacementMeans.all
        if named { means.remove(.anonymousTemporary) }
        library = try DestinationRoot(BytePath("\(root)/library"), means: means)
        catalogue = try CatalogueFile.openForWriting("\(root)/catalogue.db", now: now())
    }

    /// Files one file with all steps in order.
    func file(_ name: String, killAt: String?, saveAt: String? = nil) throws {
        var writer: OwnedDescriptor?
        if saveAt != nil { writer = try inbox.openBeneath(BytePath(name), .write) }
        let work = FileWork(willEnter: { step in
            if step.rawValue == killAt { kill(getpid(), SIGKILL) }
            if step.rawValue == saveAt, let file = writer.take() { try? file.write([7], at: 0) }
        })
        let source = try SourceFile(BytePath(name), beneath: inbox)
        let hash = try source.hash(work)
        let plan = PlacementPlan(directory: "2026/11", name: source.name, hash: hash)
        var photo = record(of: source, plan)
        let intent = try catalogue.beginIntent(
            token: plan.token, temporary: plan.directory.appending(FileNames.temporary(plan.token)), photo: photo,
            since: now())
        let placed = try place(source, by: plan, in: library, work: work)
        photo.libraryPath = placed.path
        work.willEnter(.record)
        _ = try catalogue.commitFiling(FilingCommit(intent: intent, photo: photo, filedAt: now(), reason: "test"))
        let copy = RecordedCopy(
            root: library.path, path: placed.path, hash: hash, size: source.identity.size, lastRead: placed.status)
        guard case .removed = try source.remove(token: plan.token, seeing: [.recorded(copy)], probe: probe, work: work)
        else { exit(3) }
        try catalogue.closeIntent(intent)
    }

    /// Recovers each pending filing and returns the results.
    func recover() throws -> [String] {
        try catalogue.pendingIntents().map { intent in
            var recovered = try recover(intent)
            if case .placed(let path) = recovered {
                var photo = intent.photo
                photo.libraryPath = path
                _ = try catalogue.commitFiling(
                    FilingCommit(intent: intent.id, photo: photo, filedAt: now(), reason: "recovered"))
                guard let again = try catalogue.pendingIntents().first(where: { $0.id == intent.id }) else { exit(4) }
                recovered = try recover(again)
            }
            try catalogue.closeIntent(intent.id)
            return "\(recovered)"
        }
    }

    private func recover(_ intent: StoredIntent) throws -> Recovered {
        guard let hash = ContentHash(intent.photo.sha256) else { exit(5) }
        let pending = PendingFiling(
            token: intent.token, source: intent.photo.sourcePath, identity: intent.photo.sourceIdentity, hash: hash,
            destination: intent.photo.libraryPath, isRecorded: intent.step == .recorded)
        return try Recovery(probe: probe).recover(pending, inbox: inbox, library: library)
    }

    private func record(of source: SourceFile, _ plan: PlacementPlan) -> PhotoRecord {
        PhotoRecord(
            sha256: plan.hash.bytes, size: source.identity.size, library: library.path, libraryPath: plan.path,
            inbox: "test", sourcePath: source.path, originalName: source.name, format: "jpeg", proof: "test",
            sourceIdentity: source.identity)
    }
}

func now() -> FileTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return FileTime(seconds: Int64(time.tv_sec), nanoseconds: UInt32(time.tv_nsec))
}
