import Catalogue
import DaemonSupport
import FileValues
import Filing
import Ingest
import LibraryCare
import LinuxKernel
import Logging
import QueueActors
import Reporting
import Settings
import SystemMonitor
import SystemPackage

/// Compares the library with the catalogue, and counts what waits in quarantine: slow reads of the disk, on a queue of
/// their own, for which nothing waits. Reads only.
actor LibraryAuditor: DaemonPart {
    /// The most bytes of a slice.
    private static let slice: UInt64 = 256 << 20
    private static let page = 500
    /// How many damaged photos are checked on one tick.
    private static let rechecked = 100

    private nonisolated let executor: QueueExecutor
    private let catalogue: CatalogueFile
    private let libraryGuard: LibraryGuard
    private nonisolated let subsystem = Subsystem(
        name: "library audit", queue: MonitorQueue(label: "photo-inbox.audit"), isVital: false)
    private let log: DaemonLog
    private let problems: StorageProblems
    private let writer: Catalogue
    /// Damaged photos as their files were when they were last read, by identifier; nil for those that were missing.
    private var lastRead: [Int64: FileIdentity?] = [:]
    /// Damaged photos above this identifier are checked next.
    private var recheckCursor: Int64 = 0
    private nonisolated let stopping = Locked(false)
    private nonisolated let pending: Locked<Pending>

    /// What any thread asks for.
    private struct Pending: Sendable {
        /// Of the configuration in force.
        var library: LibrarySettings?
        var hasBegun = false
        var isCheckWaiting = false
        var isRecheckWaiting = false
        /// Photos that a command has found damaged, or whole again: they are read before anything else.
        var reported: Set<Int64> = []
        /// All photos were read again by a command, and that is not recorded yet.
        var wasReadWhole = false
    }

    nonisolated var subsystems: [Subsystem] { [subsystem] }
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(
        catalogue: Catalogue, libraryGuard: LibraryGuard, log: DaemonLog, problems: StorageProblems, settings: Settings
    ) {
        self.catalogue = catalogue.file
        self.libraryGuard = libraryGuard
        pending = Locked(Pending(library: settings.library))
        self.log = log
        self.problems = problems
        writer = catalogue
        executor = TaskQueue.executor(on: subsystem.queue)
    }

    /// Reports what is known of the library. Filing does not wait for it: an audit or a quarantine that hangs may be before
    /// it on the queue.
    nonisolated func prepare(_ settings: Settings) async {
        let isFirst = pending.withLock { pending in
            pending.library = settings.library
            return pending.hasBegun.set()
        }
        if isFirst, let library = settings.library { TaskQueue.start { await self.show(library.path) } }
    }

    nonisolated func adopt(_ settings: Settings) async { checkPlacesSoon() }
    nonisolated func mounted(_ table: MountTable) { checkPlacesSoon() }
    nonisolated func tick() { recheckSoon() }
    nonisolated func ended(_ arrival: EndedArrival) { if arrival.outcome == .quarantined { checkPlacesSoon() } }

    nonisolated func perform(_ action: Action, asker: String) {
        switch action {
        case .reconcile: checkPlacesSoon()
        case .audit: TaskQueue.start { await self.audit() }
        case .verifySlice: TaskQueue.start { await self.verifySlice() }
        case .dump, .hook, .reload, .stop: break
        }
    }

    /// What is under way ends at its next photo.
    nonisolated func end(hurrying: Bool) async -> @Sendable () async -> Void {
        stopping.withLock { $0 = true }
        return { await self.finished() }
    }

    /// Returns when nothing is under way.
    private func finished() {}

    /// Checks quarantine and its like, once, however often it is called before it begins. From any thread; it waits for
    /// nothing.
    nonisolated func checkPlacesSoon() {
        guard pending.withLock({ $0.isCheckWaiting.set() }) else { return }
        TaskQueue.start {
            self.pending.withLock { $0.isCheckWaiting = false }
            await self.checkPlaces()
        }
    }

    /// Counts quarantine, and reports whether it and its like are on their file systems.
    private func checkPlaces() {
        guard let library = pending.withLock({ $0.library }) else { return }
        subsystem.enter("looking at \(library.path.escaped)")
        defer { subsystem.idle() }
        for path in library.besides {
            do {
                writer.rememberSoon(try libraryGuard.checkPlace(path, toBeMadeBeside: nil))
                problems.place(path, away: nil)
            } catch let away as LibraryGuard.PlaceAway {
                problems.place(path, away: away.reason)
            } catch { continue }
        }
        let (count, last) = Self.quarantined(below: library.quarantine)
        problems.quarantine(holds: count, last: last)
    }

    /// Whether each photo of the catalogue is in the library with its size.
    private func audit() {
        guard let library = pending.withLock({ $0.library }) else { return }
        checkPlaces()
        subsystem.enter("auditing \(library.path.escaped)")
        defer { subsystem.idle() }
        var seen = 0
        var damaged = 0
        var before: Int64?
        do {
            let root = try openDirectory(library.path)
            try libraryGuard.check(root, at: library.path)
            while let photos = try nextPage(before), !photos.isEmpty {
                var found: [Int64: (path: BytePath, reason: String?)] = [:]
                for stored in photos where stored.photo.library == library.path {
                    if stopping.withLock({ $0 }) { return }
                    seen += 1
                    let path = stored.photo.libraryPath
                    let status = try? FileStatus(of: path, beneath: root)
                    // People and programs write to sidecars.
                    let mayDiffer = stored.photo.part.isSidecar
                    if let status, status.kind == .regular, mayDiffer || status.identity.size == stored.photo.size {
                        continue
                    }
                    found[stored.id] = (path, status == nil ? "it is missing" : "it has another size")
                }
                damaged += found.count
                try record(found)
                before = photos.last?.id
            }
        } catch {
            log.logger.warning("the audit stopped: \(error), continuing")
        }
        show(library.path)
        log.audited(seen, damaged)
    }

    /// Reads and hashes the next part of the library, and begins anew at its end.
    private func verifySlice() {
        guard let library = pending.withLock({ $0.library }) else { return }
        subsystem.enter("verifying a part of \(library.path.escaped)")
        defer { subsystem.idle() }
        var bytes: UInt64 = 0
        var seen = 0
        var found: [Int64: (path: BytePath, reason: String?)] = [:]
        do {
            let reading = try LibraryReading(library.path, libraryGuard)
            let last = try catalogue.verification(of: library.path)
            var state = VerificationState(cursor: last?.cursor, at: Moment.now.wall, wholeAt: last?.wholeAt)
            // Also where the library goes away in the middle.
            defer { note(found, state, of: library.path) }
            while bytes < Self.slice, let photos = try nextPage(state.cursor) {
                if photos.isEmpty {
                    state.cursor = nil
                    state.wholeAt = Moment.now.wall
                    break
                }
                for stored in photos where bytes < Self.slice {
                    if stopping.withLock({ $0 }) { return }
                    if reading.concerns(stored) {
                        found[stored.id] = (
                            stored.photo.libraryPath, try reading.damage(of: stored)?.description
                        )
                        seen += 1
                        bytes += stored.photo.size
                    }
                    state.cursor = stored.id
                }
            }
            state.at = Moment.now.wall
        } catch {
            log.logger.warning("verifying stopped: \(error), continuing")
        }
        log.verified(seen, bytes: bytes, damaged: found.values.count { $0.reason != nil })
    }

    private func note(
        _ found: [Int64: (path: BytePath, reason: String?)], _ state: VerificationState, of library: BytePath
    ) {
        do {
            try record(found)
            try catalogue.setVerification(state, of: library)
        } catch {
            log.logger.warning("what was verified is not recorded: \(error), continuing")
        }
        show(library)
    }

    // MARK: - What is damaged

    /// A command has found these photos damaged, or whole again: reads them soon. From any thread; it waits for nothing.
    nonisolated func recheck(_ photos: [Int64], wasReadWhole: Bool) {
        pending.withLock { pending in
            if wasReadWhole { pending.wasReadWhole = true }
            pending.reported.formUnion(photos)
        }
        recheckSoon()
    }

    /// Checks, once however often it is called before that begins, whether damaged photos are whole again: reads those
    /// whose files have changed since they were last read. From any thread; it waits for nothing.
    private nonisolated func recheckSoon() {
        guard pending.withLock({ $0.isRecheckWaiting.set() }) else { return }
        TaskQueue.start {
            self.pending.withLock { $0.isRecheckWaiting = false }
            await self.recheck()
        }
    }

    private func recheck() {
        guard let library = pending.withLock({ $0.library }) else { return }
        // What is not read now stays reported.
        var unread = pending.withLock { $0.reported.takeAll() }
        defer { pending.withLock { $0.reported.formUnion(unread) } }
        do {
            let wasReadWhole = pending.withLock { pending in
                defer { pending.wasReadWhole = false }
                return pending.wasReadWhole
            }
            if wasReadWhole { try catalogue.noteVerified(library.path, at: Moment.now.wall) }
            var photos = try unread.sorted().compactMap { (id) throws(CatalogueError) in try catalogue.photo(id: id) }
            for photo in photos { lastRead[photo.id] = nil }
            let known = try catalogue.damagedPhotos(in: library.path, after: recheckCursor, limit: Self.rechecked)
            recheckCursor = known.count < Self.rechecked ? 0 : known.last?.stored.id ?? 0
            photos += known.map(\.stored)
            defer { show(library.path) }
            if photos.isEmpty { return lastRead.removeAll() }
            subsystem.enter("reading damaged photos of \(library.path.escaped) again")
            defer { subsystem.idle() }
            let reading = try LibraryReading(library.path, libraryGuard)
            unread.formIntersection(photos.map(\.id))
            var bytes: UInt64 = 0
            // The rest has its turn on the next tick.
            for stored in photos where bytes < Self.slice {
                if stopping.withLock({ $0 }) { return }
                let now = reading.identity(of: stored)
                if !reading.concerns(stored) || lastRead[stored.id] == .some(now) {
                    unread.remove(stored.id)
                    continue
                }
                bytes += now == nil ? 0 : stored.photo.size
                let damage = try reading.damage(of: stored)
                // What the disk does not give out is tried on each tick.
                if case .notFiled = damage { lastRead[stored.id] = .some(now) } else { lastRead[stored.id] = nil }
                try record([stored.id: (stored.photo.libraryPath, damage?.description)])
                unread.remove(stored.id)
            }
        } catch {
            // The library or the catalogue is away, which others report.
            log.logger.debug("damaged photos are not read again: \(error)")
        }
    }

    /// Writes down which photos are damaged, and which are whole (nil); logs those that were not known to be damaged.
    private func record(_ found: [Int64: (path: BytePath, reason: String?)]) throws(CatalogueError) {
        let new = try catalogue.record(damage: found.mapValues(\.reason), at: Moment.now.wall)
        for id in new.sorted() {
            guard let one = found[id], let reason = one.reason else { continue }
            problems.symptom(.damaged(one.path, reason: reason))
        }
    }

    /// Reports how many photos are damaged and how far the library was read, as the catalogue has it: others write there,
    /// too.
    private func show(_ library: BytePath) {
        do {
            problems.verified(try catalogue.verification(of: library))
            let first = try catalogue.damagedPhotos(in: library, limit: 1).first
            problems.damaged(
                first == nil ? 0 : try catalogue.damagedCount(in: library), first?.stored.photo.libraryPath,
                first?.reason)
        } catch {
            // The catalogue is away or being closed, which others report.
        }
    }

    /// Takes the library's photos into a catalogue that was begun anew, since the one before it was lost: without them
    /// every photo that comes again would be filed again. Returns when that is done, or not due, or all is to stop.
    func rebuild(_ settings: Settings) async {
        guard let library = settings.library else { return }
        while !stopping.withLock({ $0 }) {
            do {
                if try catalogue.isRebuilding() {
                    problems.rebuilding(catalogue: catalogue.path)
                    try rebuildNow(library, settings.inboxes)
                    problems.rebuilding(catalogue: nil)
                }
                return
            } catch let error as CatalogueError where error.isAway || error.code == .anotherHost {
                problems.symptom(.catalogue(failure: error))
            } catch {
                log.logger.warning("making the catalogue anew: \(error); trying again, continuing")
            }
            // The library may be away, or the catalogue's disk full.
            await withCheckedContinuation { next in subsystem.queue.after(.seconds(5)) { next.resume() } }
        }
    }

    private func rebuildNow(_ settings: LibrarySettings, _ inboxes: [InboxSettings]) throws {
        let library = settings.path
        subsystem.enter("making the catalogue anew from \(library.escaped)")
        defer { subsystem.idle() }
        let tree = try LibraryTree(library)
        try libraryGuard.check(tree.root, at: library)
        let work = FileWork(shouldStop: { [stopping] in stopping.withLock { $0 } })
        // Before the photos, which are recorded now and are newer. Of other hosts' inboxes nothing is here.
        let restoring = QuarantineRestoring(
            of: settings.quarantine, inboxes: Dictionary(inboxes.map { ($0.name, $0.path) }) { $1 }, into: catalogue,
            isConfiguredOnly: catalogue.isShared, work: work)
        let quarantined = try restoring.run { [log] path, reason in
            log.logger.warning("\(path.escaped) is quarantined, and not in the new catalogue: \(reason), continuing")
        }
        let old = try catalogue.setAsidePath().flatMap { try? CatalogueFile.openForReading($0) }
        defer { old?.close() }
        let former = old.map { FormerCatalogue($0, of: library, at: tree.root) }
        let summary = try LibraryAdoption(of: tree, into: catalogue, former: former, work: work).run { _ in
        } report: { [log] finding in
            switch finding {
            case .unreadable(let path, let reason):
                log.logger.warning("\(path.escaped) is not in the new catalogue: \(reason), continuing")
            case .sidecar(let path, let reason): log.logger.warning("\(path.escaped): \(reason), continuing")
            case .noPhoto(let path):
                log.logger.warning("\(path.escaped) is not in the new catalogue: no photo by its content, continuing")
            case .differs(let path):
                log.logger.warning("\(path.escaped) is not what was filed; it counts as damaged, continuing")
            case .adopted, .moved, .sameContent, .replaced: break
            }
        }
        // Another directory may have come in its place meanwhile, whose photos are not recorded.
        let (read, now) = (try FileStatus(of: tree.root), try FileStatus(at: library, followingLinks: true))
        guard read.device == now.device, read.identity.inode == now.identity.inode else {
            throw SystemCallError("stat", .noSuchFileOrDirectory, path: library)
        }
        // Once more, for sets of which a part is in the library.
        var loss: CatalogueError?
        do throws(CatalogueError) { loss = try catalogue.keepMovedOfSetAside() } catch {
            if error.isTransient { throw error }
            loss = error
        }
        if let loss {
            log.logger.warning(
                "the damaged catalogue cannot be read, or not whole; photos in a bucket that it alone knew are not recorded: \(loss), continuing"
            )
        }
        if let former { try keep(former, summary.damaged, beneath: tree.root) }
        try catalogue.endRebuilding()
        let recorded = HumanText.count(summary.adopted, "photo", "photos")
        let sidecars = HumanText.count(summary.restored, "sidecar", "sidecars")
        let files = HumanText.count(quarantined, "quarantined file", "quarantined files")
        log.logger.notice(
            """
            the catalogue is made anew: \(recorded) recorded, \(HumanText.count(summary.known)) before, \
            \(sidecars) read, \(files)
            """)
    }

    /// Keeps what the damaged catalogue knows of photos that are damaged or were not found, and titles and keywords, as far as it
    /// can be read.
    private func keep(
        _ former: FormerCatalogue, _ damaged: [PhotoRecord], beneath root: borrowing OwnedDescriptor
    ) throws(CatalogueError) {
        try former.keepDamaged(damaged, in: catalogue, beneath: root, at: Moment.now.wall) { [log] path, isThere in
            let what = isThere ? "could not be read" : "is missing"
            log.logger.warning("\(path.escaped) \(what); it stays recorded, and counts as damaged, continuing")
        }
        var failure = former.failure
        if let path = try catalogue.setAsidePath() {
            do throws(CatalogueError) { _ = try catalogue.copyDescriptions(from: BytePath(path)) } catch {
                failure = failure ?? error
            }
        }
        guard let failure else { return }
        log.logger.warning(
            "the damaged catalogue cannot be read whole; photos that are missing, or titles, may be forgotten: \(failure), continuing"
        )
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
