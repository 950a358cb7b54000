import Cards
import Catalogue
import ControlProtocol
package import DaemonSupport
import DirectoryWatch
import FileValues
import Glibc
import Hooks
import Ingest
import LibraryCare
import Links
import LinuxKernel
import Logging
import PhotoModel
import QueueActors
package import Settings
import SystemMonitor
import SystemPackage
package import Systemd
import Thumbnails

/// The daemon as a whole: starts, reloads and stops generations, and does what signals, timers and command FIFOs ask.
///
/// Its own queue orders these; what must answer at any moment (signals, the dump, the watchdog) has queues of its own
/// and waits for nothing.
package actor Daemon {
    /// What `main` has prepared before there were threads.
    package struct Launch: Sendable {
        package var version: String
        package var options: DaemonOptions
        package var settings: Settings
        package var service: ServiceManager
        package var sink: any LogSink
        package var log: DaemonLog
        /// Why the log goes where it goes.
        package var logReason: String

        package init(
            version: String, options: DaemonOptions, settings: Settings, service: ServiceManager, sink: any LogSink,
            log: DaemonLog, logReason: String
        ) {
            self.version = version
            self.options = options
            self.settings = settings
            self.service = service
            self.sink = sink
            self.log = log
            self.logReason = logReason
        }
    }

    /// How far starting, reloading and stopping are, which must not overlap.
    struct Transitions {
        var isStopping = false
        /// Whatever began last.
        var last: Task<Void, Never>?
        /// A reload is asked for and has not read anything yet: asking again changes nothing.
        var isReloadWaiting = false
        /// Those who asked again, and wait for its outcome.
        var reloadWaiters: [CheckedContinuation<ReloadOutcome?, Never>] = []
    }

    nonisolated let launch: Launch
    nonisolated let state: LiveState
    /// The generation that runs, where other threads must reach it: the watchdog's tick, a hurried stop.
    nonisolated let generation = Locked<Generation?>(nil)
    var transitions = Transitions()
    private nonisolated let executor: QueueExecutor
    private nonisolated let signals: SignalActions
    private nonisolated let control: RequestHandler
    private nonisolated let dependencies: Generation.Dependencies
    private let exit: @Sendable (Int32) -> Void

    nonisolated var log: DaemonLog { launch.log }
    private nonisolated var catalogue: CatalogueCare { dependencies.catalogue }
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the catalogue and sets everything up; nothing runs before ``start()``. `exit` is called at the very end
    /// with the process's exit status. Throws what `main` reports and ends with.
    package init(_ launch: Launch, exit: @escaping @Sendable (Int32) -> Void) throws {
        self.launch = launch
        self.exit = exit
        let (settings, log, service) = (launch.settings, launch.log, launch.service)
        let lock = try StateLock(settings.state)
        linkRuntime(of: settings)
        RuntimeFile.removeHalfWritten([RuntimeFile.state, RuntimeFile.pid], in: settings.runtime)
        RuntimeFile.removeHalfWritten([KeptFiles.name], in: settings.state)
        let storage = StorageProblems(ProblemReporter(log: log))
        let problems = storage.reporter
        let care = try CatalogueCare(settings, under: lock, log: log, problems: storage)
        let catalogue = care.catalogue
        let libraryGuard = LibraryGuard(catalogue.file)
        let keptFiles = KeptFiles(in: settings.state, catalogue: catalogue.file, version: launch.version, log: log)
        let queue = MonitorQueue(label: "photo-inbox.daemon")
        executor = TaskQueue.executor(on: queue)
        let controlQueue = MonitorQueue(label: "photo-inbox.control")
        let signalQueue = MonitorQueue(label: "photo-inbox.signals")
        let state = LiveState(
            version: launch.version, settings: settings, configuration: launch.options.effectiveFile,
            sink: launch.sink, storage: storage,
            pauses: try PauseStore(in: settings.state, queue: keptFiles.subsystem.queue),
            lasting: [
                Subsystem(name: "daemon", queue: queue, isVital: true),
                Subsystem(name: "signals", queue: signalQueue, isVital: true),
                Subsystem(name: "control", queue: controlQueue, isVital: true), catalogue.subsystem,
                keptFiles.subsystem,
            ])
        self.state = state
        let libraryWatch = LibraryWatch(
            libraryGuard, catalogue: catalogue, problems: storage, settings: settings,
            admissionChanged: { [generation] in await generation.withLock { $0 }?.pipeline.admissionChanged() })
        let auditor = LibraryAuditor(
            catalogue: catalogue, libraryGuard: libraryGuard, log: log, problems: storage, settings: settings)
        control = RequestHandler(
            state: state, catalogue: catalogue, libraryGuard: libraryGuard, generation: generation, log: log,
            onChange: { auditor.checkPlacesSoon() }, refresh: { await libraryWatch.readFree() },
            recheck: { photos, isComplete in auditor.recheck(photos, wasReadWhole: isComplete) })
        let reporter = settings.catalogue.file == nil ? HostReporter(catalogue: catalogue, state: state) : nil
        // In this order they come into force, start and begin to end; what they began to end is waited for in it, too.
        let known: [(any DaemonPart)?] = [
            // First, so that nothing is filed from directories that a mount has joined.
            libraryWatch, auditor,
            // Hooks have seconds to end, while cards and links do.
            HookCoordinator(catalogue: catalogue, log: log, problems: problems, isManaged: service.isPresent),
            CardCoordinator(log: log, problems: problems),
            LinkCoordinator(catalogue: catalogue, log: log, problems: problems, isManaged: service.isPresent),
            MetadataService(
                catalogue: catalogue, libraryGuard: libraryGuard, placeNames: settings.placeNames, log: log),
            // Behind all that a reload must reach: it adopts when what it has in work has ended, which may hang with the
            // library.
            ThumbnailService(catalogue: catalogue.file, problems: problems),
            // Requests are refused before the generation ends that would carry them out.
            ControlSocket(control, service: service, state: state, log: log),
            reporter,
            // It pings until all that may take long has ended, and no tick writes metrics that have been removed.
            try Watchdog(service: service, state: state),
            MetricsWriter(state: state, log: log),
            MachineWatch(
                queue: controlQueue, log: log,
                onMounts: { [state] table in for part in state.parts { part.mounted(table) } },
                onClock: { [generation] in generation.withLock { $0 }?.clockChanged() }),
            DumpWriter(state: state, log: log),
        ]
        let parts = known.compactMap(\.self)
        state.set(parts)
        catalogue.whenOutcomesAreRecorded { for part in parts { part.outcomesRecorded() } }
        problems.whenShown { [weak state] in
            // The service manager must not show a good state for longer than `photoinbox status` does.
            if let state, state.isRunning { try? service.status(state.capture(inFull: false).program.status) }
        }
        dependencies = Generation.Dependencies(
            catalogue: care, libraryGuard: libraryGuard, keptFiles: keptFiles, state: state,
            listener: Self.listener(state, parts, launch), control: controlQueue, log: log,
            rebuild: { await auditor.rebuild($0) })
        signals = try SignalActions(queue: signalQueue, settings: settings)
    }

    private static func listener(
        _ state: LiveState, _ parts: [any DaemonPart], _ launch: Launch
    ) -> Pipeline.Listener {
        let (log, service) = (launch.log, launch.service)
        return Pipeline.Listener(
            ended: { ended in
                // Logged first, so that what parts log because of it comes after it.
                state.recent.add(ended)
                state.measures.add(ended)
                log.outcome(ended)
                for part in parts { part.ended(ended) }
            },
            deferred: { key, reason, attempt, seconds in
                log.deferred(key, reason: reason, attempt: attempt, seconds: seconds)
            },
            symptom: { symptom in
                let waiting = state.current.pipeline?.arrivals.withLock { $0.arrivals.count }
                if let waiting { state.problems.counted(waiting: waiting) }
                state.storage.symptom(symptom)
            },
            activity: { activity in
                try? service.status(state.capture().program.status)
                if activity == .idle { log.logger.debug("nothing to do") }
            })
    }

    /// Starting, reloading and stopping must not overlap, but each waits for queues in between, where this actor lets
    /// the next one in. So each begins when the one before has ended.
    func transit(_ body: @escaping @Sendable () async -> Void) async {
        let before = transitions.last
        let own = TaskQueue.start {
            await before?.value
            await body()
        }
        transitions.last = own
        await own.value
    }

    /// Starts everything, and notifies the service manager when every monitor is registered and the first reconciliation
    /// has begun.
    package func start() async { await transit { await self.startNow() } }

    private func startNow() async {
        MonitorRegistry.shared.setHandlerErrorSink { [problems = state.problems] monitor, error in
            problems.monitorDisabled(monitor, error: error)
        }
        if let setAside = catalogue.file.setAside {
            log.catalogueSetAside(setAside.path, reason: setAside.reason)
        }
        await signals.start { [weak self] action, event in self?.perform(action, by: event) }
        log.configuration(state.settings, from: launch.options.effectiveFile, logReason: launch.logReason)
        do {
            // From here on signals are handled, so that any process that reads it may send one.
            try openDirectory(state.settings.runtime).put(Array("\(getpid())\n".utf8), as: RuntimeFile.pid)
            try await run(state.settings, after: Generation.Handover(memory: dependencies.keptFiles.load()))
        } catch {
            log.logger.error("cannot start: \(error)")
            return await end(status: EX_OSERR)
        }
        control.reload(
            by: RequestHandler.Reloader { [weak self] asker, isDryRun in
                guard let self else { return nil }
                if isDryRun { return await self.checkConfiguration() }
                self.log.logger.notice("reading the configuration again, asked by \(asker.words)")
                return await self.reload(asked: asker.words)
            })
        for part in state.parts { part.start() }
        // Stopping was asked for meanwhile: that follows, and has notified the service manager.
        if transitions.isStopping { return }
        state.enter(.running)
        log.ready(state.settings)
        try? launch.service.ready(status: state.capture().program.status)
        ProgramCode.giveBackWhatIsUnused()
        catalogue.checkIfDue { await self.stop(asked: "the check of the catalogue", status: EX_IOERR) }
    }

    /// Does what was asked, from any thread; what must answer at once does not pass through this queue.
    private nonisolated func perform(_ action: Action, by asker: String) {
        switch action {
        case .dump, .audit, .verifySlice, .hook: break
        case .reconcile: generation.withLock { $0 }?.reconcile()
        case .reload: TaskQueue.start { await self.reload(asked: asker) }
        case .stop:
            // Already stopping: a second request means a hurry.
            if signals.isSecondStop() {
                generation.withLock { $0 }?.hurry()
                for part in state.parts { part.hurry() }
            }
            TaskQueue.start { await self.stop(asked: asker) }
        }
        for part in state.parts { part.perform(action, asker: asker) }
    }

    func run(_ settings: Settings, after handover: Generation.Handover) async throws {
        try makeDirectories(of: settings)
        dependencies.libraryGuard.locks.release(
            allBut: Set(settings.inboxes.map(\.path) + [settings.library?.path].compactMap { $0 }))
        let next = try Generation(settings, after: handover, dependencies) { [weak self] action, asker in
            self?.perform(action, by: asker)
        }
        generation.withLock { $0 = next }
        state.problems.adopt(settings)
        // Who may command is in force before anything is waited for.
        control.adopt(settings)
        for part in state.parts { await part.prepare(settings) }
        await next.start()
        state.problems.paused(state)
        for part in state.parts { await part.adopt(settings) }
    }

    private func stop(asked by: String, status: Int32 = 0) async {
        guard !transitions.isStopping else { return }
        transitions.isStopping = true
        try? launch.service.stopping(status: "finishing what is in hand")
        log.logger.notice("stopping, asked by \(by)")
        await transit { await self.end(status: status) }
    }

    /// Ends everything, in the order in which work comes in.
    func end(status: Int32) async {
        state.enter(.stopping)
        catalogue.file.stopChecking()
        var ends: [@Sendable () async -> Void] = []
        for part in state.parts { ends.append(await part.end(hurrying: signals.isSecondStop())) }
        if let last = generation.withLock({ $0 }) { _ = await last.stop(hurrying: signals.isSecondStop()) }
        generation.withLock { $0 = nil }
        for end in ends { await end() }
        // Where it was written at the start; a reload may have named another directory.
        RuntimeFile.remove(RuntimeFile.pid, from: launch.settings.runtime)
        await signals.stop()
        await catalogue.close()
        let left = MonitorRegistry.shared.descriptions().map { "\($0.kind) \"\($0.label)\"" }
        if !left.isEmpty { log.logger.error("monitors left alive: \(left.joined(separator: ", "))") }
        log.stopped(monitorsLeft: left.count)
        _ = state.sink.flush(within: .seconds(2))
        exit(left.isEmpty ? status : EX_SOFTWARE)
    }
}
