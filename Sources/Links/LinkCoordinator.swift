package import Catalogue
package import ControlProtocol
package import DaemonSupport
import Fetching
import FileValues
import Filing
package import Ingest
import LinuxKernel
import Logging
package import QueueActors
import Reporting
package import Settings
import SystemMonitor

/// Has what files of links in the inboxes name downloaded, some files at a time.
///
/// The pipeline knows nothing of them: it leaves such a file alone once it is whole, with the outcome *ignored*, as any file
/// that is no photo. This reads these outcomes from the catalogue, as hooks do, from a position that it stores: so nothing
/// waits for it, nothing is lost however far it is behind, and it continues over restarts where it was. On its own queue;
/// what may wait for an inbox's disk is done on one for each inbox.
package final actor LinkCoordinator: DaemonPart {
    /// Files that are fetched at a time.
    static let width = 4
    /// Files that are known at a time; those that come after wait in the catalogue.
    static let most = 64
    /// Runs of a file that may end without an outcome in a row.
    static let mostLost = 5
    /// How many outcomes pass between two scans, where no file of links is among them.
    static let stride: Int64 = 1_024

    private nonisolated let executor: QueueExecutor
    nonisolated let subsystem: Subsystem
    let catalogue: Catalogue
    let log: Logger
    let problems: ProblemReporter
    nonisolated let status = LinkStatus()
    let probe = WriterProbe()
    let isManaged: Bool
    let program: BytePath
    /// Seconds before what failed is tried again; twice as many each time.
    let patience: Double
    private var settings: Settings?
    private(set) var store: LinkStore?
    private var ledger: LinkLedger?
    /// The place as it was written last.
    private var savedPlace: Int64 = 0
    /// Those in work, by their operations.
    private var lives: [Int64: Task<Void, Never>] = [:]
    var runs: [Int64: LinkRun] = [:]
    /// Of those in work.
    var progress: [Int64: LinkProgress] = [:]
    /// Those in work that no service fetches, by inbox.
    private var unserved: [String: Set<Int64>] = [:]
    /// One for the files of each inbox.
    private var disks: [String: MonitorQueue] = [:]
    private var sleepers: [Int64: Sleeper] = [:]
    private(set) var isStopped = false
    private var isScanning = false
    private var isAskedAgain = false
    /// Whether links are enabled; any thread may read it.
    private nonisolated let isListening = Locked(false)

    package nonisolated var subsystems: [Subsystem] { [subsystem] }
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(catalogue: Catalogue, log: DaemonLog, problems: ProblemReporter, isManaged: Bool) {
        self.init(
            catalogue: catalogue, log: log, problems: problems, isManaged: isManaged,
            program: LinkRun.standardProgram, patience: 5)
    }

    init(
        catalogue: Catalogue, log: DaemonLog, problems: ProblemReporter, isManaged: Bool, program: BytePath,
        patience: Double
    ) {
        subsystem = Subsystem(name: "links", queue: MonitorQueue(label: "photo-inbox.links"), isVital: false)
        executor = TaskQueue.executor(on: subsystem.queue)
        self.catalogue = catalogue
        self.log = log.logger
        self.problems = problems
        self.isManaged = isManaged
        self.program = program
        self.patience = patience
    }

    /// Returns when it is known from which outcome on files of links count; when links are enabled anew, from now on.
    package func prepare(_ settings: Settings) async {
        if isStopped { return }
        let wasOn = ledger != nil
        self.settings = settings
        let store = LinkStore(state: settings.state)
        self.store = store
        guard settings.takesLinks else {
            ledger = nil
            isListening.withLock { $0 = false }
            status.show(nil)
            for run in runs.values { run.stop(hurrying: false) }
            wakeSleepers()
            store.removeAll(but: nil)
            return
        }
        if !wasOn { await begin(store) }
        status.show(ledger)
        isListening.withLock { $0 = ledger != nil }
        wakeSleepers()
        await scan()
    }

    private func begin(_ store: LinkStore) async {
        do {
            let last = try await catalogue.perform("looking for the last outcome") {
                try $0.recentOutcomes(limit: 1).first?.id ?? 0
            }
            var ledger = try store.ledger() ?? LinkLedger(place: last)
            // A catalogue that was made anew counts from the beginning.
            if ledger.place > last { ledger = LinkLedger(place: last) }
            store.removeAll(but: ledger.open.map(\.operation))
            self.ledger = ledger
            try store.save(ledger)
            savedPlace = ledger.place
        } catch {
            log.warning("files of links are not taken up: \(error), continuing")
        }
    }

    /// An arrival has its outcome; from any thread, at no cost where it is none of ours.
    package nonisolated func ended(_ ended: EndedArrival) {
        guard isListening.withLock({ $0 }), let operation = ended.operation else { return }
        guard Self.isOurs(ended.outcome == .ignored, ended.key.path) || operation % Self.stride == 0 else { return }
        TaskQueue.start { await self.scan() }
    }

    /// What it returns waits no longer than ends should take, as that of hooks.
    package nonisolated func end(hurrying: Bool) -> @Sendable () async -> Void {
        boundedEnd(within: .seconds(15), label: "photo-inbox.links.end") { await self.stop(hurrying: hurrying) }
    }

    /// Ends all; what has not ended is fetched after the next start.
    func stop(hurrying: Bool) async {
        isStopped = true
        isListening.withLock { $0 = false }
        for run in runs.values { run.stop(hurrying: hurrying) }
        wakeSleepers()
        for life in lives.values { await life.value }
        if let ledger, ledger.place != savedPlace { save(ledger) }
    }

    package nonisolated func hurry() { TaskQueue.start { await self.stop(hurrying: true) } }

    package nonisolated func describe(in state: inout DaemonState) {
        state.links = status.all.map { $0.open + $0.past }
    }

    // MARK: - What there is to do

    private static func isOurs(_ isIgnored: Bool, _ path: BytePath) -> Bool { isIgnored && LinkFile(name: path) != nil }

    /// Looks for files of links after the place, as many as are known at a time, and begins what may begin.
    private func scan() async {
        isAskedAgain = true
        if isScanning { return }
        isScanning = true
        defer { isScanning = false }
        while isAskedAgain, !isStopped, var ledger {
            isAskedAgain = false
            do {
                var isNew = false
                while ledger.open.count < Self.most {
                    let page = try await catalogue.perform("looking for files of links") { [place = ledger.place] in
                        try $0.outcomes(after: place, limit: Int(Self.stride))
                    }
                    // Others may have ended while the catalogue was asked.
                    guard let now = self.ledger, !isStopped else { return }
                    ledger = now
                    for outcome in page where ledger.open.count < Self.most {
                        ledger.place = outcome.id
                        let record = outcome.outcome
                        guard Self.isOurs(record.outcome == .ignored, record.path) else { continue }
                        isNew = true
                        ledger.open.append(
                            LinkItem(operation: outcome.id, inbox: record.inbox, path: record.path.bytes))
                    }
                    self.ledger = ledger
                    if page.count < Self.stride { break }
                }
                if isNew || ledger.place - savedPlace >= Self.stride { save(ledger) }
            } catch {
                log.warning("files of links have to wait: \(error), continuing")
            }
            status.show(self.ledger)
            startNext()
        }
    }

    private func startNext() {
        guard !isStopped, let ledger else { return }
        subsystem.waiting(max(0, ledger.open.count - lives.count))
        for item in ledger.open where lives.count < Self.width && lives[item.operation] == nil {
            lives[item.operation] = TaskQueue.start { await self.live(item) }
        }
    }

    private func live(_ item: LinkItem) async {
        let result = await process(item)
        lives[item.operation] = nil
        progress[item.operation] = nil
        if let others = unserved[item.inbox]?.subtracting([item.operation]) {
            unserved[item.inbox] = others
            if others.isEmpty { somebodyFetches(for: item) }
        }
        if let result, var ledger {
            ledger.end(result)
            self.ledger = ledger
            save(ledger)
            store?.remove(item.operation)
            status.show(ledger)
            logEnd(result)
        }
        // There may be room for what waits in the catalogue.
        if !isStopped { await scan() }
    }

    /// No service fetches for an inbox: a problem until one does, or nothing waits for it.
    func nobodyFetches(for item: LinkItem, _ reason: String) {
        if isStopped { return }
        unserved[item.inbox, default: []].insert(item.operation)
        problems.set(
            .downloadsWait, subject: item.inbox, [.inbox: .text(item.inbox), .reason: .text(reason)])
    }

    func somebodyFetches(for item: LinkItem) {
        if unserved.removeValue(forKey: item.inbox) != nil {
            problems.set(.downloadsWait, subject: item.inbox, nil)
        }
    }

    /// Where it cannot be written, a file may be read once more after a crash: what it named is in the library then.
    private func save(_ ledger: LinkLedger) {
        do throws(SystemCallError) {
            try store?.save(ledger)
            savedPlace = ledger.place
        } catch { log.warning("files of links: \(error), continuing") }
    }

    // MARK: - What a file needs

    /// The configured inbox and the store, as long as links are enabled.
    func configuration(of item: LinkItem) -> (settings: Settings, inbox: InboxSettings?, store: LinkStore)? {
        guard !isStopped, ledger != nil, let settings, let store else { return nil }
        return (settings, settings.inboxes.first { $0.name == item.inbox }, store)
    }

    /// Does what may wait for an inbox's disk on a queue that no other inbox needs.
    func onDisk<R: Sendable>(_ inbox: InboxSettings, _ body: @escaping @Sendable () throws -> R) async throws -> R {
        let queue = disks[inbox.name] ?? MonitorQueue(label: "photo-inbox.links.\(inbox.name)")
        disks[inbox.name] = queue
        return try await withCheckedThrowingContinuation { done in
            queue.async { done.resume(with: Result(catching: body)) }
        }
    }

    /// Returns when the time is over, or everybody is woken.
    func pause(_ item: LinkItem, seconds: Double, _ words: String) async {
        if isStopped { return }
        status.change(item.operation) { ($0.phase, $0.what) = ("waiting", words) }
        let sleeper = Sleeper("links, pause", queue: subsystem.queue)
        sleepers[item.operation] = sleeper
        await sleeper.rest(seconds: seconds)
        sleepers[item.operation] = nil
    }

    private func wakeSleepers() { for sleeper in sleepers.values { sleeper.wake() } }
}
