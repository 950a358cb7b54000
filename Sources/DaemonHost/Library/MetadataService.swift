import Catalogue
import ControlProtocol
import DaemonSupport
import FileValues
import Filing
import LibraryCare
import LinuxKernel
import Logging
import QueueActors
import Settings
import SystemMonitor

/// Reads the metadata of photos after they were filed, and of all photos once readers find more in them or another table
/// of place names is there; then writes what people say of photos beside them, if that is configured. Nothing waits for
/// it; its queue is its own, and may hang with the library.
actor MetadataService: DaemonPart {
    /// Few, since the metadata of one photo can take a megabyte.
    private static let page = 20

    private nonisolated let executor: QueueExecutor
    private let catalogue: Catalogue
    private let libraryGuard: LibraryGuard
    private let log: DaemonLog
    private nonisolated let subsystem = Subsystem(
        name: "metadata", queue: MonitorQueue(label: "photo-inbox.metadata"), isVital: false)
    /// Of the configuration in force.
    private nonisolated let settings = Locked<Settings?>(nil)
    private nonisolated let stopping = Locked(false)
    private nonisolated let isWaiting = Locked(false)
    /// `isInterrupted`: the last reading stopped early, and is resumed on a tick. `isRenewing`: a configuration came into force,
    /// so sidecars that were left are looked at again. `rest`: sidecars in directories that are full, read-only or failing are
    /// tried again after so many `ticks`, twice as many each time, of which `left` are to come; 0 while there are none. `batches`
    /// were recorded since the start.
    private nonisolated let progress = Locked(
        (isInterrupted: false, isRenewing: false, rest: (ticks: 0, left: 0), batches: 0))
    private let placeNames: PlaceNames
    private var reading: Task<Void, Never>?
    /// Whether more was recorded since ``reading`` began.
    private var isAsked = false

    nonisolated var subsystems: [Subsystem] { [subsystem] }
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(catalogue: Catalogue, libraryGuard: LibraryGuard, placeNames: [BytePath], log: DaemonLog) {
        self.catalogue = catalogue
        self.libraryGuard = libraryGuard
        self.log = log
        self.placeNames = PlaceNames(placeNames) { log.logger.warning("\($0), continuing") }
        executor = TaskQueue.executor(on: subsystem.queue)
    }

    nonisolated func adopt(_ settings: Settings) async {
        self.settings.withLock { $0 = settings }
        progress.withLock { ($0.isRenewing, $0.rest) = (true, (0, 0)) }
        readSoon()
    }

    nonisolated func outcomesRecorded() { readSoon() }

    /// An import of descriptions says nothing to the daemon.
    nonisolated func tick() {
        progress.withLock { $0.rest.left = max($0.rest.left - 1, 0) }
        if progress.withLock({ $0.isInterrupted }) || writesSidecars { readSoon() }
    }

    nonisolated func describe(in state: inout DaemonState) {
        state.changes = (state.changes ?? 0) + progress.withLock { $0.batches }
    }

    private nonisolated var library: BytePath? { settings.withLock { $0?.library?.path } }
    private nonisolated var writesSidecars: Bool { settings.withLock { $0?.writesSidecars == true } }

    /// What is under way ends at its next photo.
    nonisolated func end(hurrying: Bool) async -> @Sendable () async -> Void {
        stopping.withLock { $0 = true }
        return { await self.finished() }
    }

    /// Returns when nothing is under way.
    private func finished() async { await reading?.value }

    /// Reads what was not read yet, once however often it is called before that begins. From any thread.
    private nonisolated func readSoon() {
        guard isWaiting.withLock({ $0.set() }) else { return }
        subsystem.queue.async {
            self.isWaiting.withLock { $0 = false }
            self.assumeIsolated { $0.begin() }
        }
    }

    private func begin() {
        // What came meanwhile may be behind the last page that is read now.
        if reading != nil { return isAsked = true }
        guard let library, !stopping.withLock({ $0 }) else { return }
        isAsked = false
        reading = TaskQueue.start {
            await self.read(library)
            await self.ended()
        }
    }

    private func ended() {
        reading = nil
        if isAsked { begin() }
    }

    private func read(_ library: BytePath) async {
        defer { subsystem.idle() }
        let work = FileWork(shouldStop: { [stopping] in stopping.withLock { $0 } })
        do {
            placeNames.refresh()
            try catalogue.file.renewMetadata(placeNames: placeNames.version)
            try await readMetadata(in: library, work)
            try await writeSidecars(in: library, work)
            progress.withLock { $0.isInterrupted = false }
        } catch {
            // The library or the catalogue is away, which others report.
            if !stopping.withLock({ $0 }) { log.logger.debug("metadata is read later: \(error)") }
            progress.withLock { $0.isInterrupted = true }
        }
    }

    private func readMetadata(in library: BytePath, _ work: FileWork) async throws {
        // A library that hangs is left alone as long as there is nothing to read.
        if try catalogue.file.photosToRead(in: library, after: 0, limit: 1).isEmpty { return }
        subsystem.enter("reading metadata of photos in \(library.escaped)")
        let reading = try MetadataReading(
            of: library, for: catalogue.file, placeNames: placeNames, work: work,
            requireLibrary: { [libraryGuard] in
                _ = try libraryGuard.check(try openDirectory(library), at: library)
            })
        var last: Int64 = 0
        // After a reload it is another library.
        while self.library == library, let batch = try reading.next(after: &last, limit: Self.page) {
            if batch.isEmpty { continue }
            try await catalogue.record(batch)
            progress.withLock { $0.batches += 1 }
        }
    }

    /// Writes the sidecars that are due; what was filed meanwhile is read first. One that changes just now stays due.
    private func writeSidecars(in library: BytePath, _ work: FileWork) async throws {
        guard writesSidecars else { return }
        let isRetrying = progress.withLock { $0.rest.ticks > 0 && $0.rest.left == 0 }
        if progress.withLock({ $0.isRenewing }) {
            try catalogue.file.renewSidecars(in: library, .left)
            progress.withLock { $0.isRenewing = false }
        } else if isRetrying {
            try catalogue.file.renewSidecars(in: library, .later)
        }
        if try catalogue.file.sidecarsToWrite(in: library, after: 0, limit: 1).isEmpty {
            if isRetrying { progress.withLock { $0.rest = (0, 0) } }
            return
        }
        let writing = try SidecarWriting(of: library, for: catalogue.file, work: work) { [libraryGuard] in
            let root = try openDirectory(library)
            try libraryGuard.check(root, at: library)
            try libraryGuard.hold(root, at: library)
        }
        var (last, lines) = (Int64(0), Self.page)
        while self.library == library, writesSidecars {
            subsystem.enter("writing sidecars in \(library.escaped)")
            guard let outcomes = try writing.next(after: &last, limit: Self.page) else { break }
            if !outcomes.isEmpty {
                try await catalogue.perform("recording which sidecars are written") { try $0.record(outcomes) }
            }
            for case (let sidecar, _, let reason?, false) in outcomes {
                // A library that cannot be written must not fill the journal.
                lines -= 1
                let level: Logger.Level = lines >= 0 ? .notice : .debug
                let path = sidecar.stored.photo.libraryPath.escaped
                log.logger.log(level: level, "the sidecar of \(path) is left as it is: \(reason), continuing")
            }
            try await readMetadata(in: library, work)
        }
        let isFirst = progress.withLock {
            if writing.failure == nil {
                if isRetrying { $0.rest = (0, 0) }
            } else if isRetrying || $0.rest.ticks == 0 {
                let ticks = min(max(2 * $0.rest.ticks, 1), 64)
                $0.rest = (ticks, ticks)
            }
            return $0.rest.ticks == 1
        }
        if isFirst, let failure = writing.failure {
            log.logger.notice("some sidecars are written later: \(failure), continuing")
        }
    }
}
