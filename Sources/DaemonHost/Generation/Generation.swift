import Catalogue
import DaemonSupport
import DirectoryWatch
import FileValues
import Filing
import Ingest
import LibraryCare
import LinuxKernel
import Logging
import PhotoModel
import QueueActors
import Settings
import SystemMonitor

/// Everything that one configuration sets up: the watch, the pipeline with its workers, timers and command FIFOs. A
/// reload ends one and starts the next; nothing of it is ever changed.
final class Generation: Sendable {
    /// What a generation needs of the daemon.
    struct Dependencies: Sendable {
        let catalogue: CatalogueCare
        let libraryGuard: LibraryGuard
        let keptFiles: KeptFiles
        let state: LiveState
        let listener: Pipeline.Listener
        let control: MonitorQueue
        let log: DaemonLog
        /// Records the photos of a library in a catalogue that was begun anew.
        let rebuild: @Sendable (Settings) async -> Void
    }

    let settings: Settings
    private let watch: DirectoryWatch
    private let watchQueue: MonitorQueue
    /// When to check the trash, in nanoseconds of CLOCK_BOOTTIME: at once after the start.
    private let trashDue = Locked(Int64.min)
    let pipeline: Pipeline
    private let timers: ActionTimers
    private let fifos: [CommandFIFO]
    private let dependencies: Dependencies
    /// What must be done before anything is filed, if there is such.
    private let prepare: (@Sendable () async -> Void)?

    /// What one leaves to the next.
    struct Handover: Sendable {
        var arrivals = ArrivalTable()
        /// Which files need nothing more as they are.
        var memory = WatchMemory()
    }

    /// `act` does what timers and command FIFOs ask for.
    init(
        _ settings: Settings, after handover: Handover, _ dependencies: Dependencies,
        act: @escaping @Sendable (Action, _ askedBy: String) -> Void
    ) throws {
        self.settings = settings
        self.dependencies = dependencies
        // Unknown while the catalogue's server is away: then that is found out before anything is filed.
        var mustPrepare = true
        do throws(CatalogueError) { mustPrepare = try dependencies.catalogue.file.isRebuilding() } catch {
            guard error.isAway else { throw error }
        }
        if mustPrepare {
            prepare = { await dependencies.rebuild(settings) }
        } else {
            prepare = nil
        }
        let workers = try settings.inboxes.map { inbox in
            guard let library = settings.library else { throw SetupError("an inbox without a library") }
            return InboxWorker(
                spec: InboxSpec(inbox, sets: settings.sets),
                places: Places(library),
                attributes: FiledAttributes(library), catalogue: dependencies.catalogue.catalogue,
                libraryGuard: dependencies.libraryGuard,
                subsystem: Subsystem(
                    name: Subsystem.files(of: inbox.name),
                    queue: MonitorQueue(label: "photo-inbox.files.\(inbox.name)"),
                    isVital: false), measures: dependencies.state.measures)
        }
        let subsystem = Subsystem(
            name: "pipeline", queue: MonitorQueue(label: "photo-inbox.pipeline"), isVital: true)
        watchQueue = MonitorQueue(label: "photo-inbox.watch")
        let roots = settings.inboxes.map { inbox in
            WatchRoot(
                id: inbox.name, path: inbox.path, queue: MonitorQueue(label: "photo-inbox.scan.\(inbox.name)"),
                exclude: { path, kind in Self.isExcluded(path, kind, by: inbox) })
        }
        pipeline = try Pipeline(
            workers: workers, subsystem: subsystem, arrivals: handover.arrivals, listener: dependencies.listener,
            isPaused: { [state = dependencies.state] name in
                state.storage.mayBeNested || state.pauses.pause(of: name) != nil
            })
        watch = try DirectoryWatch(
            label: "inboxes", queue: watchQueue, roots: roots, memory: handover.memory, tick: nil,
            policy: ComparePolicy(settings.watch), livenessDirectory: settings.runtime)
        timers = try ActionTimers(settings.timers, queue: dependencies.control, act: act)
        fifos = try settings.descriptors.map { descriptor in
            try CommandFIFO(descriptor, queue: dependencies.control) { result, line in
                switch result {
                case .success(let action): act(action, "command FIFO \(descriptor.name)")
                case .failure(let mistake):
                    dependencies.log.logger.warning(
                        "command FIFO \(descriptor.name): \"\(line)\": \(mistake.message), continuing")
                }
            }
        }
        let watchSubsystem = Subsystem(name: "watch", queue: watchQueue, isVital: true)
        let scans = roots.map { root in
            Subsystem(name: Subsystem.scan(of: root.id), queue: root.queue, isVital: false) { [weak watch] in
                watch?.step(ofRoot: root.id).map { ($0.name, $0.since) }
            }
        }
        let storage = dependencies.state.storage
        dependencies.state.replace(
            LiveState.Setup(
                settings: settings, watch: watch, pipeline: pipeline,
                inboxSubsystems: [subsystem, watchSubsystem] + scans + workers.map { $0.subsystem },
                tick: {
                    [
                        weak self, watchQueue, watch, pipeline, keptFiles = dependencies.keptFiles, storage,
                        catalogue = dependencies.catalogue
                    ] in
                    catalogue.restoreSoon()
                    if !storage.mayBeNested { self?.expireTrashWhenDue() }
                    pipeline.tick(failing: storage.failing)
                    watchQueue.async {
                        watch.tick()
                        keptFiles.saveIfDue(watch)
                    }
                }))
    }

    /// Starts everything; returns when every monitor is registered and the first reconciliation has begun.
    func start() async {
        dependencies.keptFiles.watchBegan()
        let (watch, pipeline, watchQueue) = (watch, pipeline, watchQueue)
        await pipeline.start(after: prepare) { key, identity, isLeftAlone in
            watchQueue.async {
                watch.acknowledge(root: key.inbox, path: key.path, identity: identity, isLeftAlone: isLeftAlone)
            }
        }
        let problems = WatchProblems(reporter: dependencies.state.problems)
        await withCheckedContinuation { done in
            watchQueue.async {
                watch.setHandler { notices in
                    pipeline.receive(notices)
                    problems.noticed(notices)
                }
                watch.activate(onWatching: { done.resume() })
            }
        }
        await withCheckedContinuation { done in
            dependencies.control.async {
                self.timers.activate()
                for fifo in self.fifos { fifo.activate() }
                done.resume()
            }
        }
    }

    /// Ends everything, first what brings work, then the work; returns what is left when every monitor is invalidated and
    /// what is kept is written down.
    func stop(hurrying: Bool) async -> Handover {
        await withCheckedContinuation { done in
            dependencies.control.async {
                let all = self.fifos.count + self.timers.count
                let count = Countdown(all, queue: self.dependencies.control) { done.resume() }
                for fifo in self.fifos { fifo.invalidate { count.down() } }
                self.timers.invalidate { count.down() }
            }
        }
        await withCheckedContinuation { done in
            watchQueue.async { self.watch.invalidate { done.resume() } }
        }
        let arrivals = await pipeline.stop(hurrying: hurrying)
        // Only now has the last that was in hand its outcome.
        let (memory, changes) = await withCheckedContinuation { done in
            watchQueue.async { done.resume(returning: (self.watch.memory(), self.watch.memoryChanges)) }
        }
        await dependencies.keptFiles.save(memory, changes: changes)
        return Handover(arrivals: arrivals, memory: memory)
    }

    /// Compares every inbox with what is known, and tries everything that waits for a time.
    func reconcile() {
        watchQueue.async { self.watch.reconcile(root: nil) { _ in } }
        TaskQueue.start { await self.pipeline.retryAll() }
    }

    /// The same for one inbox; what the comparison found.
    func rescan(_ inbox: String) async -> ReconcileReport? {
        await withCheckedContinuation { done in
            watchQueue.async { self.watch.reconcile(root: inbox) { done.resume(returning: $0.first) } }
        }
    }

    /// Something was put into the trash: its time begins when it is first seen there.
    func trashGrew() { trashDue.withLock { $0 = .min } }

    /// Deletes what has lain in the trash for long enough; from any thread, waits for nothing.
    private func expireTrashWhenDue() {
        let now = ClockReading.now
        let isDue = trashDue.withLock { due in
            defer { if due <= now.boottime { due = .max } }
            return due <= now.boottime
        }
        guard isDue else { return }
        TaskQueue.start {
            for inbox in self.settings.inboxes {
                // Where it is not admitting yet, the next tick asks again.
                let done = await self.pipeline.perform(inbox.name) { await $0.expireTrash(now: now) }
                self.trashDue.withLock { $0 = min($0, done?.next ?? now.boottime) }
                for path in done?.deleted ?? [] { self.dependencies.log.expired(path) }
                for kept in done?.kept ?? [] {
                    self.dependencies.log.logger.warning("\(kept.path.escaped) stays in the trash: \(kept.reason)")
                }
            }
        }
    }

    /// The wall clock was set; on the control queue.
    func clockChanged() { timers.clockChanged() }

    /// Long steps end at their next block; from any thread.
    func hurry() { pipeline.hurry() }

    /// Our own names, and what the configuration or a well-known rule leaves alone as a whole directory.
    private static func isExcluded(_ path: BytePath, _ kind: FileKind, by inbox: InboxSettings) -> Bool {
        if FileNames.isOurs(path.name) || inbox.exclusion(of: path) != nil { return true }
        return kind == .directory && NameRules.ruleIgnoring(directory: path.name) != nil
    }
}

extension ComparePolicy {
    /// As the configuration has it.
    init(_ settings: WatchSettings) {
        self.init(
            polling: CompareBounds(shortest: settings.fastest.duration, longest: settings.slowest.duration),
            audit: settings.audit.map { ComparePolicy.audit(every: $0.duration) })
    }
}
