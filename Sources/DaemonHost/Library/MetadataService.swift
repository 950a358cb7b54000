import Catalogue
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
/// of place names is there. Nothing waits for it; its queue is its own, and may hang with the library.
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
    private nonisolated let library = Locked<LibrarySettings?>(nil)
    private nonisolated let stopping = Locked(false)
    private nonisolated let isWaiting = Locked(false)
    /// Whether the last reading stopped early, to be resumed on a tick.
    private nonisolated let isInterrupted = Locked(false)
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
        library.withLock { $0 = settings.library }
        readSoon()
    }

    nonisolated func outcomesRecorded() { readSoon() }

    nonisolated func tick() { if isInterrupted.withLock({ $0 }) { readSoon() } }

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
        guard let library = library.withLock({ $0 })?.path, !stopping.withLock({ $0 }) else { return }
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
        subsystem.enter("reading metadata of photos in \(library.escaped)")
        defer { subsystem.idle() }
        let work = FileWork(shouldStop: { [stopping] in stopping.withLock { $0 } })
        do {
            placeNames.refresh()
            try catalogue.file.renewMetadata(placeNames: placeNames.version)
            // A library that hangs is left alone as long as there is nothing to read.
            if try !catalogue.file.photosToRead(in: library, after: 0, limit: 1).isEmpty {
                let reading = try MetadataReading(
                    of: library, for: catalogue.file, placeNames: placeNames, work: work,
                    requireLibrary: { [libraryGuard] in
                        _ = try libraryGuard.check(try openDirectory(library), at: library)
                    })
                var last: Int64 = 0
                while let batch = try reading.next(after: &last, limit: Self.page) {
                    if !batch.isEmpty { try await catalogue.record(batch) }
                    // After a reload.
                    guard self.library.withLock({ $0 })?.path == library else { break }
                }
            }
            isInterrupted.withLock { $0 = false }
        } catch {
            // The library or the catalogue is away, which others report.
            if !stopping.withLock({ $0 }) { log.logger.debug("metadata is read later: \(error)") }
            isInterrupted.withLock { $0 = true }
        }
    }
}
