import Catalogue
import FileValues
import Filing
import LinuxKernel
import Logging
import Settings
import SystemMonitor

/// Compares the library with the catalogue, and counts what waits in quarantine: slow looks at the disk, on a queue of
/// their own, for which nothing waits. Reads only.
actor LibraryAuditor {
    /// What one look at a slice reads at most, in bytes.
    private static let slice: UInt64 = 256 << 20
    private static let page = 500

    private nonisolated let executor: QueueExecutor
    private let catalogue: Catalogue
    private let libraryGuard: LibraryGuard
    private let subsystem: Subsystem
    private let log: InboxLog
    private let problems: ProblemDesk
    private let measures: MeasureBoard
    private let remember: @Sendable (KnownLibrary) async -> Void
    /// Photos below this number come next; nil begins at the newest.
    private var cursor: Int64?
    private nonisolated let stopping = Locked(false)
    private nonisolated let isLookWaiting = Locked(false)

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        catalogue: Catalogue, libraryGuard: LibraryGuard, subsystem: Subsystem, log: InboxLog, problems: ProblemDesk,
        measures: MeasureBoard, remember: @escaping @Sendable (KnownLibrary) async -> Void
    ) {
        self.catalogue = catalogue
        self.libraryGuard = libraryGuard
        self.subsystem = subsystem
        self.log = log
        self.problems = problems
        self.measures = measures
        self.remember = remember
        executor = QueueExecutor(queue: subsystem.queue)
    }

    /// Tells what is under way to end at its next photo, from any thread; ``finished()`` waits for that.
    nonisolated func stop() { stopping.withLock { $0 = true } }

    /// Returns when nothing is under way.
    func finished() {}

    /// Looks at quarantine and its like, once, however often it is asked before it begins. From any thread; nobody
    /// waits for it.
    nonisolated func lookSoon(at library: LibrarySettings?) {
        let isNew = isLookWaiting.withLock { isWaiting in
            defer { isWaiting = true }
            return !isWaiting
        }
        guard isNew else { return }
        TaskQueue.start {
            self.isLookWaiting.withLock { $0 = false }
            await self.look(at: library)
        }
    }

    /// Quarantine, and whether it and its like are on their file systems: what status tells.
    private func look(at library: LibrarySettings?) {
        guard let library else { return }
        subsystem.enter("looking at \(library.path.escaped)")
        defer { subsystem.idle() }
        for path in library.besides {
            do {
                if let found = try libraryGuard.checkPlace(path, toBeMadeBeside: nil) {
                    TaskQueue.start { [remember] in await remember(found) }
                }
                problems.place(path, away: nil)
            } catch let away as LibraryGuard.PlaceAway {
                problems.place(path, away: away.reason)
            } catch { continue }
        }
        let (count, last) = Self.quarantined(below: library.quarantine)
        problems.quarantine(holds: count, last: last)
    }

    /// Whether each photo of the catalogue is in the library with its size.
    func audit(_ library: LibrarySettings?) {
        guard let library else { return }
        look(at: library)
        subsystem.enter("auditing \(library.path.escaped)")
        defer { subsystem.idle() }
        var seen = 0
        var damaged: [BytePath: String] = [:]
        var before: Int64?
        do {
            let root = try openDirectory(library.path)
            try libraryGuard.check(root, at: library.path)
            while let photos = try nextPage(before), !photos.isEmpty {
                for stored in photos where stored.photo.library == library.path {
                    if stopping.withLock({ $0 }) { return }
                    seen += 1
                    let path = stored.photo.libraryPath
                    let status = try? FileStatus(of: path, beneath: root)
                    if status?.identity.size == stored.photo.size, status?.kind == .regular { continue }
                    let reason = status == nil ? "it is missing" : "it has another size"
                    damaged[path] = reason
                    problems.symptom(.damaged(path, reason: reason))
                }
                before = photos.last?.id
            }
            problems.audited(damaged)
        } catch {
            log.logger.warning("the audit stopped: \(error), continuing")
        }
        log.audited(seen, damaged.count)
    }

    /// Reads and hashes the next part of the library, and begins anew at its end.
    func verifySlice(_ library: LibrarySettings?) {
        guard let library else { return }
        subsystem.enter("verifying a part of \(library.path.escaped)")
        defer { subsystem.idle() }
        var bytes: UInt64 = 0
        var seen = 0
        var damaged = 0
        do {
            let root = try DestinationRoot(library.path)
            try libraryGuard.check(root.descriptor, at: library.path)
            while bytes < Self.slice, let photos = try nextPage(cursor) {
                if photos.isEmpty {
                    cursor = nil
                    break
                }
                for stored in photos where bytes < Self.slice {
                    if stopping.withLock({ $0 }) { return }
                    cursor = stored.id
                    guard stored.photo.library == library.path, let hash = ContentHash(stored.photo.sha256) else {
                        continue
                    }
                    seen += 1
                    bytes += stored.photo.size
                    let path = stored.photo.libraryPath
                    if try root.holds(path, hash: hash, size: stored.photo.size) {
                        problems.verified(path, nil)
                        continue
                    }
                    damaged += 1
                    let reason = "missing, or not what was filed"
                    problems.verified(path, reason)
                    problems.symptom(.damaged(path, reason: reason))
                }
            }
            measures.verified(at: Moment.now.wall)
        } catch {
            log.logger.warning("verifying stopped: \(error), continuing")
        }
        log.verified(seen, bytes: bytes, damaged: damaged)
    }

    /// Takes the library's photos into a catalogue that was begun anew, since the one before it was lost: without them
    /// every photo that comes again would be filed again. Returns when that is done, or all is to stop.
    func rebuild(_ library: LibrarySettings?) async {
        guard let library else { return }
        problems.rebuilding(catalogue: catalogue.path)
        while !stopping.withLock({ $0 }) {
            do {
                try rebuildNow(library.path)
                return problems.rebuilding(catalogue: nil)
            } catch {
                log.logger.warning("making the catalogue anew: \(error); trying again, continuing")
            }
            // The library may be away, or the catalogue's disk full.
            await withCheckedContinuation { next in subsystem.queue.after(.seconds(5)) { next.resume() } }
        }
    }

    private func rebuildNow(_ library: BytePath) throws {
        subsystem.enter("making the catalogue anew from \(library.escaped)")
        defer { subsystem.idle() }
        let tree = try LibraryTree(library)
        try libraryGuard.check(tree.root, at: library)
        let work = FileWork(shouldStop: { [stopping] in stopping.withLock { $0 } })
        let summary = try LibraryAdoption(of: tree, into: catalogue, work: work).run { _ in
        } tell: { [log] finding in
            if case .unreadable(let path, let reason) = finding {
                log.logger.warning("\(path.escaped) is not in the new catalogue: \(reason), continuing")
            }
        }
        try catalogue.endRebuilding()
        log.logger.notice("the catalogue is made anew: \(summary.adopted) photos recorded, \(summary.known) before")
    }

    private func nextPage(_ before: Int64?) throws(CatalogueError) -> [StoredPhoto]? {
        var filter = PhotoFilter()
        filter.before = before
        return try catalogue.photos(matching: filter, limit: Self.page)
    }

    /// How many files lie in the quarantine's directories, their notes not counted, and one of them.
    private static func quarantined(below path: BytePath) -> (Int, BytePath?) {
        guard let root = try? openDirectory(path), let inboxes = try? root.entries() else { return (0, nil) }
        var count = 0
        var last: BytePath?
        for inbox in inboxes.map(\.name) {
            guard let directory = try? root.openDirectoryBeneath(inbox), let files = try? directory.entries() else {
                continue
            }
            for name in files.map(\.name) where !name.bytes.suffix(4).elementsEqual(".txt".utf8) {
                count += 1
                last = inbox.appending(name)
            }
        }
        return (count, last)
    }
}
