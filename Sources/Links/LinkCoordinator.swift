package import Catalogue
package import ControlProtocol
package import DaemonSupport
import Fetching
import FileValues
import Filing
package import Ingest
import LinuxKernel
import LogMessages
import Logging
package import QueueActors
import Reporting
package import Settings
import SystemMonitor
import Systemd

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

    /// Whether outcomes are being read, and are to be read once more after that.
    private enum Scanning { case none, running, runningAgain }

    private nonisolated let executor: QueueExecutor
    private nonisolated let subsystem = Subsystem(
        name: "links", queue: MonitorQueue(label: "photo-inbox.links"), isVital: false)
    private nonisolated let dependencies: LinkJob.Dependencies
    private let problems: ProblemReporter
    private var settings: Settings?
    private var store: LinkStore?
    private var ledger: LinkLedger?
    /// The place as it was written last.
    private var savedPlace: Int64 = 0
    /// Those in work, by their operations.
    private var jobs: [Int64: (job: LinkJob, task: Task<Void, Never>)] = [:]
    /// Those in work that no service fetches, by inbox.
    private var unserved: [String: Set<Int64>] = [:]
    /// One for the files of each inbox.
    private var disks: [String: MonitorQueue] = [:]
    private var isStopped = false
    private var scanning = Scanning.none
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
        executor = TaskQueue.executor(on: subsystem.queue)
        self.problems = problems
        dependencies = LinkJob.Dependencies(
            queue: subsystem.queue, catalogue: catalogue, log: log.logger, status: LinkStatus(), isManaged: isManaged,
            program: program, patience: patience)
    }

    nonisolated var status: LinkStatus { dependencies.status }
    private nonisolated var catalogue: Catalogue { dependencies.catalogue }
    private nonisolated var log: Logger { dependencies.log }

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
            for (job, _) in jobs.values { await job.configurationChanged(isCancelled: true) }
            store.removeAll(but: nil)
            return
        }
        if !wasOn { await begin(store) }
        status.show(ledger)
        isListening.withLock { $0 = ledger != nil }
        for (job, _) in jobs.values { await job.configurationChanged(isCancelled: false) }
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
            log.warning("files of links are not processed: \(error), continuing")
        }
    }

    /// Scans for files of links if this arrival may be one. From any thread; cheap for others.
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
        let all = Array(jobs.values)
        for (job, _) in all { await job.stop(hurrying: hurrying) }
        for (_, task) in all { await task.value }
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
        if scanning != .none { return scanning = .runningAgain }
        scanning = .runningAgain
        defer { scanning = .none }
        while scanning == .runningAgain, !isStopped, var ledger {
            scanning = .running
            do {
                var isNew = false
                while ledger.open.count < Self.most {
                    let page = try await catalogue.perform("looking for files of links") { [place = ledger.place] in
                        try $0.outcomes(after: place, limit: Int(Self.stride), own: true)
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
        subsystem.waiting(max(0, ledger.open.count - jobs.count))
        for item in ledger.open where jobs.count < Self.width && jobs[item.operation] == nil {
            let job = LinkJob(item, dependencies, for: self)
            jobs[item.operation] = (job, TaskQueue.start { await self.run(job) })
        }
    }

    private func run(_ job: LinkJob) async {
        let result = await job.process()
        let item = job.item
        jobs[item.operation] = nil
        if let others = unserved[item.inbox]?.subtracting([item.operation]) {
            unserved[item.inbox] = others
            if others.isEmpty { served(item) }
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
    func unserved(_ item: LinkItem, _ reason: String) {
        if isStopped { return }
        unserved[item.inbox, default: []].insert(item.operation)
        problems.set(
            .downloadsWait, subject: item.inbox, [.inbox: .text(item.inbox), .reason: .text(reason)])
    }

    func served(_ item: LinkItem) {
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

    /// The queue for the files of an inbox.
    func diskQueue(of inbox: String) -> MonitorQueue {
        let queue = disks[inbox] ?? MonitorQueue(label: "photo-inbox.links.\(inbox)")
        disks[inbox] = queue
        return queue
    }

    // MARK: - The log

    private func logEnd(_ result: LinkResult) {
        let key = result.item.key
        let fields: Logger.Metadata = [
            "inbox": "\(key.inbox)", "file": "\(key.path.escaped)", "operation": "\(result.item.operation)",
            "result": "\(result.what.rawValue)", "addresses": "\(result.addresses)", "arrived": "\(result.arrived)",
            "failed": "\(result.failed)", "reason": "\(result.words)",
        ]
        switch result.what {
        case .done:
            log.log(
                result.failed == 0 ? .info : .notice, .linksFetched,
                "links \(key): \(result.arrived) arrived, \(result.failed) failed; \(result.words)", metadata: fields)
        case .refused:
            log.log(.notice, .linksRefused, "links \(key): nothing is fetched: \(result.words)", metadata: fields)
        case .dropped:
            log.notice("links \(key): let go: \(result.words), continuing", metadata: fields)
        }
    }
}
