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
import QueueActors
package import Settings
import SystemMonitor
import SystemPackage
package import Systemd
import Thumbnails

/// The daemon as a whole: starts, reloads and stops generations, and does what signals, timers and command FIFOs ask.
///
/// Its own queue orders these; what must answer at any moment (signals, the dump, the watchdog) has queues of its own
/// and waits for nobody.
package actor Daemon {
    /// What `main` has prepared before there were threads.
    package struct Launch: Sendable {
        package var version: String
        package var options: DaemonOptions
        package var settings: Settings
        package var service: ServiceManager
        package var sink: any LogSink
        package var log: InboxLog
        /// Why the log goes where it goes.
        package var logReason: String

        package init(
            version: String, options: DaemonOptions, settings: Settings, service: ServiceManager, sink: any LogSink,
            log: InboxLog, logReason: String
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

    nonisolated let log: InboxLog
    nonisolated let service: ServiceManager
    nonisolated let state: LiveState
    nonisolated let problems: ProblemDesk
    private nonisolated let executor: QueueExecutor
    nonisolated let options: DaemonOptions
    private nonisolated let controlQueue: MonitorQueue
    private nonisolated let dumper: DumpWriter
    private nonisolated let hooks: HookDesk
    private nonisolated let cards: CardDesk
    private nonisolated let links: LinkDesk
    private nonisolated let signals: SignalDesk
    private let watchdog: Watchdog
    private nonisolated let metrics: MetricsWriter
    private nonisolated let auditor: LibraryAuditor
    private nonisolated let libraryWatch: LibraryWatch
    private nonisolated let isKeeping = Locked(false)
    private nonisolated let thumbnails: ThumbnailDesk
    private nonisolated let libraryGuard: LibraryGuard
    private nonisolated let settled: SettledFiles
    private let lock: StateLock
    /// Where our process identifier was written; a reload may name another directory.
    private let runtime: BytePath
    private let logReason: String
    private nonisolated let catalogue: Catalogue
    private nonisolated let checks = MonitorQueue(label: "photo-inbox.check")
    private let exit: @Sendable (Int32) -> Void
    /// The generation that runs, where other threads must reach it: the watchdog's tick, a hurried stop.
    nonisolated let generation = Locked<Generation?>(nil)
    private nonisolated let desk: ControlDesk
    private let clients: Subsystem
    private var control: ControlServer?
    /// The control socket's path, if it was made here and not by the service manager.
    private var socket: BytePath?
    private var machine: MachineWatch?
    var isStopping = false
    /// A reload is asked for and has not read anything yet: asking again changes nothing.
    var isReloadWaiting = false
    /// Those who asked again, and wait for what comes of it.
    var reloadWaiters: [CheckedContinuation<ReloadOutcome?, Never>] = []
    /// Starting, reloading or stopping, whatever began last.
    private var transition: Task<Void, Never>?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the catalogue and sets everything up; nothing runs before ``start()``. `exit` is called at the very end
    /// with the process's exit status. Throws what `main` tells and ends with.
    package init(_ launch: Launch, exit: @escaping @Sendable (Int32) -> Void) throws {
        log = launch.log
        service = launch.service
        options = launch.options
        logReason = launch.logReason
        self.exit = exit
        runtime = launch.settings.runtime
        lock = try StateLock(launch.settings.state)
        linkRuntime(of: launch.settings)
        RuntimeFile.removeHalfWritten([RuntimeFile.state.name, RuntimeFile.pid.name], in: runtime)
        RuntimeFile.removeHalfWritten([SettledFiles.name], in: launch.settings.state)
        let file = try CatalogueFile.openForWriting(
            String(decoding: launch.settings.catalogue.bytes, as: UTF8.self), now: Moment.now.wall,
            isLost: lock.hadCatalogue)
        lock.noteCatalogue()
        libraryGuard = LibraryGuard(file)
        try allowGroupToRead(launch.settings.catalogue)
        let queue = MonitorQueue(label: "photo-inbox.daemon")
        executor = TaskQueue.executor(on: queue)
        controlQueue = MonitorQueue(label: "photo-inbox.control")
        let signalQueue = MonitorQueue(label: "photo-inbox.signals")
        let watchdogQueue = MonitorQueue(label: "photo-inbox.watchdog")
        let hookQueue = MonitorQueue(label: "photo-inbox.hooks")
        let catalogueSubsystem = Subsystem(
            name: "catalogue", queue: MonitorQueue(label: "photo-inbox.catalogue"), isVital: true)
        let auditSubsystem = Subsystem(
            name: "library audit", queue: MonitorQueue(label: "photo-inbox.audit"), isVital: false)
        let thumbnailSubsystem = Subsystem(
            name: "thumbnails", queue: MonitorQueue(label: "photo-inbox.thumbnails"), isVital: false)
        let cardSubsystem = Subsystem(
            name: "cards", queue: MonitorQueue(label: "photo-inbox.cards"), isVital: false)
        let metricsSubsystem = Subsystem(
            name: "metrics", queue: MonitorQueue(label: "photo-inbox.metrics"), isVital: false)
        let linkSubsystem = Subsystem(name: "links", queue: MonitorQueue(label: "photo-inbox.links"), isVital: false)
        catalogue = Catalogue(file, subsystem: catalogueSubsystem)
        settled = SettledFiles(
            in: launch.settings.state, catalogue: file, version: launch.version, log: launch.log)
        clients = Subsystem(name: "clients", queue: MonitorQueue(label: "photo-inbox.clients"), isVital: false)
        let pauses = try PauseKeeper(in: launch.settings.state, queue: settled.subsystem.queue)
        problems = ProblemDesk(log: launch.log)
        libraryWatch = LibraryWatch(libraryGuard, catalogue: catalogue, problems: problems)
        state = LiveState(
            version: launch.version, settings: launch.settings, configuration: launch.options.effectiveFile,
            sink: launch.sink, problems: problems, pauses: pauses,
            lasting: [
                Subsystem(name: "daemon", queue: queue, isVital: true),
                Subsystem(name: "signals", queue: signalQueue, isVital: true),
                Subsystem(name: "control", queue: controlQueue, isVital: true), catalogueSubsystem, auditSubsystem,
                libraryWatch.subsystem,
                Subsystem(name: "hooks", queue: hookQueue, isVital: false), settled.subsystem,
                clients, thumbnailSubsystem, metricsSubsystem, cardSubsystem, linkSubsystem,
            ])
        dumper = DumpWriter(queue: MonitorQueue(label: "photo-inbox.dump"), state: state, log: launch.log)
        hooks = HookDesk(
            queue: hookQueue, catalogue: catalogue, log: launch.log, problems: problems, board: state.hooks,
            isManaged: launch.service.isPresent)
        cards = CardDesk(subsystem: cardSubsystem, log: launch.log, problems: problems, board: state.cards)
        links = LinkDesk(
            subsystem: linkSubsystem, catalogue: catalogue, log: launch.log, problems: problems, board: state.links,
            isManaged: launch.service.isPresent)
        catalogue.whenOutcomesAreRecorded { [hooks] in hooks.wake() }
        auditor = LibraryAuditor(
            catalogue: catalogue, libraryGuard: libraryGuard, subsystem: auditSubsystem, log: launch.log,
            problems: problems)
        thumbnails = ThumbnailDesk(
            catalogue: file, subsystem: thumbnailSubsystem, log: launch.log, problems: problems)
        problems.whenShown { [service = launch.service, weak state] in
            // What the service manager shows must not look well for longer than `photoinbox status` does.
            if let state, state.isRunning { try? service.status(state.capture(inFull: false).program.status) }
        }
        state.describePictures { [thumbnails] in thumbnails.describe() }
        desk = ControlDesk(
            state: state, catalogue: catalogue, generation: generation, log: launch.log,
            onChange: { [auditor, state] in auditor.lookSoon(at: state.settings.library) },
            refresh: { [libraryWatch, state] in await libraryWatch.readFree(of: state.settings.library) },
            recheck: { [auditor, state] photos, isComplete in
                auditor.recheck(photos, of: state.settings.library, wasReadWhole: isComplete)
            })
        signals = try SignalDesk(queue: signalQueue, settings: launch.settings)
        metrics = MetricsWriter(subsystem: metricsSubsystem, bell: controlQueue, state: state, log: launch.log)
        watchdog = try Watchdog(queue: watchdogQueue, service: launch.service, state: state, metrics: metrics)
    }

    /// Starting, reloading and stopping must not overlap, but each waits for queues in between, where this actor lets
    /// the next one in. So each begins when the one before has ended.
    func transit(_ body: @escaping @Sendable () async -> Void) async {
        let before = transition
        let own = TaskQueue.start {
            await before?.value
            await body()
        }
        transition = own
        await own.value
    }

    /// Starts everything, and tells the service manager when every monitor is registered and the first reconciliation
    /// has begun.
    package func start() async { await transit { await self.startNow() } }

    private func startNow() async {
        MonitorRegistry.shared.setHandlerErrorSink { [problems] monitor, error in
            problems.monitorDisabled(monitor, error: error)
        }
        if let setAside = catalogue.file.setAside { problems.catalogueSetAside(setAside.path, reason: setAside.reason) }
        await signals.start { [weak self] action, event in self?.asked(action, by: event) }
        log.configuration(state.settings, from: options.effectiveFile, logReason: logReason)
        await auditor.begin(state.settings.library)
        do {
            // From here on signals are served, so whoever finds it may send one.
            try RuntimeFile.pid.write(Array("\(getpid())\n".utf8), in: state.settings.runtime)
            try await run(state.settings, after: Generation.Remains(memory: settled.load()))
        } catch {
            log.logger.error("cannot start: \(error)")
            return await end(status: EX_OSERR)
        }
        serveControl()
        watchdog.start()
        machine = MachineWatch(
            queue: controlQueue, log: log,
            onMounts: { [auditor, libraryWatch, state, cards, generation] table in
                libraryWatch.lookSoon(at: state.settings.library)
                auditor.lookSoon(at: state.settings.library)
                libraryWatch.lookForNesting(in: state.settings) {
                    await generation.withLock { $0 }?.pipeline.admissionChanged()
                }
                cards.mounted(table)
            },
            onClock: { [generation] in generation.withLock { $0 }?.clockChanged() })
        // Told to stop meanwhile: that follows, and has told the service manager.
        if isStopping { return }
        state.enter(.running)
        log.ready(state.settings)
        try? service.ready(status: state.capture().program.status)
        ProgramCode.giveBackWhatIsUnused()
        if catalogue.file.isUnchecked { checkCatalogue() }
    }

    /// A large catalogue is checked while photos are filed. One that is damaged can only be set aside by a start, so this
    /// ends the daemon: a service manager starts it again.
    private nonisolated func checkCatalogue() {
        checks.async { [self] in
            do throws(CatalogueError) { try catalogue.file.check() } catch {
                problems.symptom(.catalogue(failure: error))
                guard error.code == .corrupt else { return }
                guard catalogue.file.isMarkedDamaged else {
                    // Without the mark the next start would find the damage late again, and so on.
                    return log.logger.error("\(error); no file can be made beside it, continuing")
                }
                log.logger.error("\(error); ending, since the next start sets it aside and makes another one")
                TaskQueue.start { await self.stop(asked: "the check of the catalogue", status: EX_IOERR) }
            }
        }
    }

    /// Opens the control socket, or takes the one that the service manager has opened. Photos are filed without it, too.
    private func serveControl() {
        do {
            let handed = service.activatedDescriptors.first { $0.name == "control" }?.take()
            if handed == nil { socket = state.settings.runtime.appending("control") }
            let listening: OwnedDescriptor
            if let handed {
                listening = handed
            } else {
                // Who may connect may look, so it is for operators alone unless a socket unit says otherwise.
                listening = try makeSocket(at: state.settings.runtime.appending("control"))
            }
            desk.reload(
                by: ControlDesk.Reloader { [weak self] asker, isDryRun in
                    guard let self else { return nil }
                    if isDryRun { return await self.checkConfiguration() }
                    self.log.logger.notice("reading the configuration again, asked by \(asker.words)")
                    return await self.reload(asked: asker.words)
                })
            let server = try ControlServer(owning: listening, subsystem: clients) { [desk] request, peer in
                await desk.carryOut(request, for: peer)
            }
            server.start()
            control = server
        } catch {
            socket = nil
            log.logger.warning("nobody can give commands: the control socket cannot be opened: \(error), continuing")
        }
    }

    private nonisolated func makeSocket(at path: BytePath) throws(SystemCallError) -> OwnedDescriptor {
        // What is made here has our group already, and the unit's filter forbids chown(2), even to what is so.
        guard let operators = desk.operatorGroup else { return try listen(at: path, mode: 0o600) }
        let group = operators == getegid() ? nil : operators
        do { return try listen(at: path, mode: 0o660, group: group) } catch {
            guard error.code == .notPermitted, group != nil else { throw error }
            log.logger.warning(
                "the control socket cannot be given to the group of operators, so only ours may connect, continuing"
            )
            return try listen(at: path, mode: 0o660)
        }
    }

    /// Does what was asked, from any thread; what must answer at once does not pass through this queue.
    private nonisolated func asked(_ action: Action, by asker: String) {
        switch action {
        case .dump: dumper.dump(asked: asker)
        case .hook(let name):
            guard state.settings.hook(named: name) != nil else {
                log.logger.warning("there is no hook named \(name), asked for by \(asker), continuing")
                return
            }
            hooks.run(name, asked: asker)
        case .reconcile:
            generation.withLock { $0 }?.reconcile()
            libraryWatch.lookSoon(at: state.settings.library, inFull: true)
            auditor.lookSoon(at: state.settings.library)
        case .audit: TaskQueue.start { await self.auditor.audit(self.state.settings.library) }
        case .verifySlice: TaskQueue.start { await self.auditor.verifySlice(self.state.settings.library) }
        case .reload: TaskQueue.start { await self.reload(asked: asker) }
        case .stop:
            // Already stopping: whoever asks again is in a hurry.
            if signals.isSecondStop() {
                generation.withLock { $0 }?.hurry()
                TaskQueue.start { await self.hooks.stop(hurrying: true) }
                TaskQueue.start { await self.links.stop(hurrying: true) }
            }
            TaskQueue.start { await self.stop(asked: asker) }
        }
    }

    func run(_ settings: Settings, after remains: Generation.Remains) async throws {
        try makeDirectories(of: settings)
        libraryGuard.locks.release(
            allBut: Set(settings.inboxes.map(\.path) + [settings.library?.path].compactMap { $0 }))
        var prepare: (@Sendable () async -> Void)?
        if try catalogue.file.isRebuilding() {
            prepare = { [auditor] in await auditor.rebuild(settings.library) }
        }
        let next = try Generation(
            settings, after: remains,
            Generation.Surroundings(
                catalogue: catalogue, libraryGuard: libraryGuard, settled: settled, state: state, listener: listener(),
                control: controlQueue, prepare: prepare,
                lookAround: { [weak self, libraryWatch, auditor] library in
                    libraryWatch.lookSoon(at: library)
                    auditor.recheckSoon(library)
                    self?.keepCatalogueSoon()
                },
                act: { [weak self] action, asker in self?.asked(action, by: asker) },
                complain: { [log] text in log.logger.warning("\(text)") }))
        generation.withLock { $0 = next }
        problems.adopt(settings)
        desk.adopt(settings)
        // Before anything is filed: a hook that is new is told of all that comes from now on.
        await hooks.adopt(settings)
        await links.adopt(settings)
        await next.start()
        problems.paused(state)
        libraryWatch.lookSoon(at: settings.library, inFull: true)
        // Where they met, the new configuration may have parted them.
        if problems.mayBeNested { libraryWatch.lookForNesting(in: settings) { await next.pipeline.admissionChanged() } }
        auditor.lookSoon(at: settings.library)
        cards.adopt(settings)
        await thumbnails.adopt(settings)
        metrics.adopt(settings.metrics)
    }

    /// Has the catalogue written anew if its file was removed or replaced; from any thread, waits for nobody.
    private nonisolated func keepCatalogueSoon() {
        let isNew = isKeeping.withLock { isKeeping in
            defer { isKeeping = true }
            return !isKeeping
        }
        guard isNew else { return }
        TaskQueue.start {
            await self.keepCatalogue()
            self.isKeeping.withLock { $0 = false }
        }
    }

    private nonisolated func keepCatalogue() async {
        let step = "looking at its file"
        guard let loss = try? await catalogue.perform(step, { $0.loss() }) else { return }
        problems.symptom(.catalogue(failure: loss))
        do throws(CatalogueError) {
            let aside = try await catalogue.perform("writing it anew") { try $0.restore(at: Moment.now.wall) }
            let found = aside.map { "; what lay there is \(escapeForDisplay($0.utf8)) now" } ?? ""
            log.logger.warning(
                "catalogue: \(loss.message); it was still open and is written to \(catalogue.file.path) again\(found)")
            problems.symptom(.catalogue(failure: nil))
        } catch { problems.symptom(.catalogue(failure: error)) }
    }

    private func listener() -> Pipeline.Listener {
        let (state, log, problems, service, auditor) = (state, log, problems, service, auditor)
        let (thumbnails, links) = (thumbnails, links)
        return Pipeline.Listener(
            ended: { ended in
                links.ended(ended)
                state.recent.add(ended)
                state.measures.add(ended)
                log.outcome(ended)
                if ended.outcome == .filed { thumbnails.filed(ended) }
                if ended.outcome == .quarantined { auditor.lookSoon(at: state.settings.library) }
            },
            deferred: { key, reason, attempt, seconds in
                log.deferred(key, reason: reason, attempt: attempt, seconds: seconds)
            },
            symptom: { symptom in
                let waiting = state.current.pipeline?.book.withLock { $0.arrivals.count }
                if let waiting { problems.waiting.withLock { $0 = waiting } }
                problems.symptom(symptom)
            },
            activity: { activity in
                try? service.status(state.capture().program.status)
                if activity == .idle { log.logger.debug("nothing to do") }
            })
    }

    private func stop(asked by: String, status: Int32 = 0) async {
        guard !isStopping else { return }
        isStopping = true
        try? service.stopping(status: "finishing what is in hand")
        log.logger.notice("stopping, asked by \(by)")
        await transit { await self.end(status: status) }
    }

    /// Lets go of everything, in the order in which work comes in.
    func end(status: Int32) async {
        state.enter(.stopping)
        auditor.stop()
        catalogue.file.stopChecking()
        // They have a few seconds to end, while other things do; what they were told of is told again at the next start.
        let hooksEnd = hooks.end(hurrying: signals.isSecondStop())
        await cards.stop()
        let linksEnd = links.end(hurrying: signals.isSecondStop())
        if let socket { try? openDirectory(socket.parent).unlink(socket.name) }
        await control?.stop()
        if let last = generation.withLock({ $0 }) { _ = await last.stop(hurrying: signals.isSecondStop()) }
        generation.withLock { $0 = nil }
        await auditor.finished()
        await thumbnails.stop()
        await hooksEnd()
        await linksEnd()
        await watchdog.stop()
        await metrics.stop()
        await machine?.stop()
        RuntimeFile.pid.remove(from: runtime)
        await signals.stop()
        await keepCatalogue()
        await catalogue.flush()
        catalogue.file.close()
        let left = MonitorRegistry.shared.descriptions().map { "\($0.kind) \"\($0.label)\"" }
        if !left.isEmpty { log.logger.error("monitors left alive: \(left.joined(separator: ", "))") }
        log.stopped(monitorsLeft: left.count)
        _ = state.sink.flush(within: .seconds(2))
        exit(left.isEmpty ? status : EX_SOFTWARE)
    }
}
