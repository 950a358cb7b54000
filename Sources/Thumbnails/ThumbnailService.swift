package import Catalogue
package import ControlProtocol
package import DaemonSupport
import Decoding
import FileValues
package import Ingest
import LinuxKernel
import Logging
import PhotoModel
package import QueueActors
import Renditions
import Reporting
package import Settings
import SystemMonitor
import SystemPackage

/// Makes the small pictures of what is filed: new arrivals first, then what was filed before, with as many decoders at
/// once as the configuration allows. Nothing waits for it; its queue is its own, and may hang with the library.
package actor ThumbnailService: DaemonPart {
    /// Records that wait for the catalogue; of more, the oldest are given up.
    private static let mostRecords = 10_000
    /// From one try without a decoder to the next.
    private static let pause = Duration.seconds(300)
    private static let recordsAtOnce = 64

    private nonisolated let executor: QueueExecutor
    private let catalogue: CatalogueFile
    private nonisolated let subsystem: Subsystem
    private let problems: ProblemReporter

    private var work: ThumbnailWork?
    /// One for each decoder that may run; empty while none may.
    private var clients: [DecoderClient] = []
    /// What each client does, by its place in `clients`; the one before all others is asked first, so that a second
    /// decoder is started only when the first one is busy.
    private var running: [Int: Task<Void, Never>] = [:]
    private var queue = PhotoQueue()
    /// What is still to be recorded in the catalogue; many at once, since each time costs a sync.
    private var records: [RenditionRecord] = []
    /// The adoption of the newest settings.
    private var adopting: Task<Void, Never>?
    private var pace = Pace.working
    private nonisolated let counts = Locked(Counts())

    private enum Pace { case working, pausing, stopped }

    private struct Counts {
        /// By the newest settings, whose clients may come later.
        var isEnabled = false
        /// Whether a decoder is not to be waited for.
        var isStopping = false
        var clients: [DecoderClient] = []
        var made = 0
        var failed = 0
        var kinds: [RenditionKind: DaemonState.Rendition] = [:]
        var trouble: String?
    }

    package nonisolated var subsystems: [Subsystem] { [subsystem] }
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(catalogue: CatalogueFile, problems: ProblemReporter) {
        self.catalogue = catalogue
        subsystem = Subsystem(
            name: "thumbnails", queue: MonitorQueue(label: "photo-inbox.thumbnails"), isVital: false)
        self.problems = problems
        executor = TaskQueue.executor(on: subsystem.queue)
    }

    /// Returns before the settings are in force: the decoder identifies itself first, and its libraries may load slowly.
    package func adopt(_ settings: Settings) {
        counts.withLock { $0.isEnabled = settings.pictures.isEnabled }
        adopting = TaskQueue.start { [adopting] in
            await adopting?.value
            await self.begin(settings)
        }
    }

    private func begin(_ settings: Settings) async {
        guard pace != .stopped else { return }
        pace = .working
        // The pages read them, also those of before.
        ThumbnailStore(state: settings.state).openToGroup()
        var next = settings.pictures.isEnabled ? ThumbnailWork(settings, state: settings.state) : nil
        if next != nil { subsystem.enter("identifying the decoder") }
        let shouldStop = { [counts] in counts.withLock { $0.isStopping } }
        next?.identifyDecoder(shouldStop: shouldStop)
        if shouldStop() { return }
        if next == work { return resume() }
        await endWork()
        work = next
        guard let next else { return }
        do {
            let clients = try next.clients()
            self.clients = clients
            counts.withLock { ($0.clients, $0.made, $0.failed, $0.kinds, $0.trouble) = (clients, 0, 0, [:], nil) }
            let mark = "\(next.key) \(Self.identity(ofCatalogue: catalogue.path))"
            queue.begin(after: next.store.doneUpTo(mark), mark)
            let faceless = next.programWithoutFaces(shouldStop: shouldStop)
            problems.set(.decoderWithoutFaces, faceless.map { [.path: .path($0)] })
            resume()
        } catch {
            subsystem.idle()
            trouble(.cannotStart(reason: "\(error)"))
        }
    }

    /// What is filed until the end gets its pictures, too.
    package nonisolated func end(hurrying: Bool) async -> @Sendable () async -> Void {
        {
            self.counts.withLock { $0.isStopping = true }
            await self.stop()
        }
    }

    /// Ends the decoders, and returns when nothing is under way.
    private func stop() async {
        pace = .stopped
        await adopting?.value
        await endWork()
    }

    private func endWork() async {
        let clients = self.clients
        self.clients = []
        for client in clients { await client.stop() }
        for task in running.values { await task.value }
        keepRecords()
        counts.withLock { $0.clients = [] }
        problems.set(.decoderUnavailable, nil)
        problems.set(.decoderUnconfined, nil)
        problems.set(.decoderWithoutFaces, nil)
    }

    package nonisolated func ended(_ arrival: EndedArrival) {
        guard arrival.outcome == .filed, counts.withLock({ !$0.clients.isEmpty }),
            let hash = arrival.sha256.flatMap({ bytes(ofHexadecimal: $0.utf8) }), hash.count == 32
        else { return }
        subsystem.queue.async { self.assumeIsolated { $0.enqueue(hash) } }
    }

    private func enqueue(_ hash: [UInt8]) {
        queue.add(hash)
        resume()
    }

    private func resume() {
        for (place, client) in clients.enumerated() where running[place] == nil {
            guard pace == .working, let work, let stored = queue.next(in: catalogue) else { break }
            running[place] = TaskQueue.start { await self.run(place, client, work, from: stored) }
        }
        finishIfIdle()
    }

    /// One client's life until there is nothing to do.
    private func run(_ place: Int, _ client: DecoderClient, _ work: ThumbnailWork, from first: StoredPhoto) async {
        var stored: StoredPhoto? = first
        while let photo = stored {
            subsystem.waiting(queue.waiting)
            guard await make(photo, client, work), pace == .working, !clients.isEmpty else { break }
            stored = queue.next(in: catalogue)
        }
        running[place] = nil
        finishIfIdle()
    }

    private func finishIfIdle() {
        guard running.isEmpty else { return }
        keepRecords()
        subsystem.waiting(0)
        subsystem.idle()
        if !clients.isEmpty, pace == .working, records.isEmpty { markDone() }
    }

    /// Whether it makes sense to go on.
    private func make(_ stored: StoredPhoto, _ client: DecoderClient, _ work: ThumbnailWork) async -> Bool {
        let path = stored.photo.libraryPath.escaped
        let known = work.isConcerned(stored.photo) ? (try? catalogue.renditions(ofPhoto: stored.id)) ?? [] : []
        let made = await work.make(stored, known: known, by: client) { [subsystem] plan in
            let (done, all) = plan.progress
            subsystem.enter("making renditions of \(path), \(done) of \(all) done")
        }
        count(made, of: path)
        switch made.result {
        case .nothingToDo: break
        case .made:
            counts.withLock { $0.made += 1 }
            problems.log.logger.debug("thumbnails of \(path) made")
            if made.ignoresProfile {
                problems.log.logger.info("the colour profile of \(path) cannot be used, ignoring it")
            }
        case .failed(let reason):
            counts.withLock { $0.failed += 1 }
            problems.log.logger.notice("no thumbnail of \(path): \(reason), continuing")
        case .unsupported(let reason), .photoUnreadable(let reason):
            problems.log.logger.info("no thumbnail of \(path): \(reason), continuing")
        case .unavailable(.stopped): return false
        case .unavailable(let trouble):
            queue.putBack(stored)
            self.trouble(trouble)
            return false
        }
        queue.tried(stored)
        if pace == .working, counts.withLock({ $0.trouble }) != nil { recovered() }
        let gaps = client.snapshot().gaps
        problems.set(.decoderUnconfined, gaps.isEmpty ? nil : [.reason: .text(gaps)])
        return true
    }

    /// Counts the results of each kind, and keeps what is to be recorded.
    private func count(_ made: ThumbnailWork.Made, of path: String) {
        records += made.records
        if records.count >= Self.recordsAtOnce { keepRecords() }
        counts.withLock { counts in
            for kind in made.new {
                var count = counts.kinds[kind] ?? DaemonState.Rendition(kind: kind.rawValue, made: 0, failed: 0)
                if made.plan.states[kind] == .made { count.made += 1 } else { count.failed += 1 }
                counts.kinds[kind] = count
            }
        }
        for kind in made.new where !kind.needs.isEmpty {
            guard let reason = made.plan.reason(against: kind) else { continue }
            problems.log.logger.info("no \(kind.rawValue) of \(path): \(reason), continuing")
        }
    }

    /// Records go on waiting where the catalogue takes none now; of more than the least, the oldest are given up, and
    /// are found again at the next start.
    private func keepRecords() {
        guard !records.isEmpty else { return }
        do {
            try catalogue.record(records)
            records = []
        } catch {
            problems.log.logger.notice("what photos look like cannot be recorded now: \(error), continuing")
            if records.count > Self.mostRecords {
                records.removeFirst(records.count - Self.mostRecords)
            }
        }
    }

    /// Everything up to the newest was tried: the next start need not go through it.
    private func markDone() {
        guard let work, let done = queue.allTried() else { return }
        try? work.store.keep(doneUpTo: done, queue.mark)
    }

    /// A catalogue that is made anew counts anew, and knows of no rendition: it lies in another file. The number of a
    /// file that is gone may be given again at once, the moment of its birth is not. Asked by name: to open and close the
    /// file would give up SQLite's locks on it.
    private static func identity(ofCatalogue path: String) -> String {
        let path = BytePath(path)
        guard let directory = try? openDirectory(path.parent),
            let status = try? path.name.withCString({ name throws(SystemCallError) in
                try DirectoryStatus(ofName: name, in: directory)
            })
        else { return "" }
        return "\(status.inode)" + (status.born.map { "@\($0.seconds).\($0.nanoseconds)" } ?? "")
    }

    private func trouble(_ trouble: DecoderTrouble) {
        counts.withLock { $0.trouble = "\(trouble)" }
        problems.set(.decoderUnavailable, [.reason: .text("\(trouble)")])
        // Another client may have met it just before.
        guard pace == .working else { return }
        pace = .pausing
        subsystem.queue.after(Self.pause) { [weak self] in self?.assumeIsolated { $0.endPause() } }
    }

    private func endPause() {
        if pace == .pausing { pace = .working }
        resume()
    }

    private func recovered() {
        counts.withLock { $0.trouble = nil }
        problems.set(.decoderUnavailable, nil)
    }

    package nonisolated func describe(in state: inout DaemonState) {
        let counts = counts.withLock { $0 }
        guard counts.isEnabled else { return }
        let snapshots = counts.clients.map { $0.snapshot() }
        let processes = snapshots.compactMap { $0.process.map { Int($0) } }
        let own = subsystem.snapshot()
        var pictures = DaemonState.Pictures()
        (pictures.decoder, pictures.decoders) = (processes.first, processes.count)
        (pictures.step, pictures.waiting) = (own.step ?? "idle", own.waiting)
        (pictures.made, pictures.failed, pictures.trouble) = (counts.made, counts.failed, counts.trouble)
        pictures.decodersStarted = snapshots.reduce(0) { $0 + $1.started }
        pictures.decodersLost = snapshots.reduce(0) { $0 + $1.lost }
        pictures.unconfined = snapshots.first { !$0.gaps.isEmpty }?.gaps
        pictures.renditions = RenditionKind.allCases.compactMap { counts.kinds[$0] }
        state.pictures = pictures
    }
}
