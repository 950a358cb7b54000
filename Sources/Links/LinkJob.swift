import Catalogue
import ControlProtocol
import Fetching
import FileValues
import Filing
import HTTPValues
import Ingest
import LinuxKernel
import Logging
import QueueActors
import Settings
import SystemMonitor

/// Has one file of links fetched, from the first reading to its end. On the queue of links; what may wait for the inbox's
/// disk is done on a queue of that inbox.
actor LinkJob {
    /// What all jobs share.
    struct Dependencies: Sendable {
        let queue: MonitorQueue
        let catalogue: Catalogue
        let log: Logger
        let status: LinkStatus
        let probe = WriterProbe()
        let isManaged: Bool
        let program: BytePath
        /// Seconds before what failed is tried again; twice as many each time.
        let patience: Double
    }

    /// How long to wait after trouble, and how often a run was lost.
    private struct Trouble {
        var tries = 0
        var lost = 0
        /// Why it has to wait, as it was logged last.
        var logged: String?

        /// Seconds: twice as long each time, five minutes at most.
        mutating func pause(_ first: Double) -> Double {
            tries += 1
            return min(first * Double(1 << min(tries - 1, 10)), 300)
        }
    }

    private nonisolated let executor: QueueExecutor
    nonisolated let item: LinkItem
    private let dependencies: Dependencies
    private let coordinator: LinkCoordinator
    /// Of the current pause.
    private var sleeper: Sleeper
    private var store: LinkStore?
    private var run: LinkRun?
    private var progress: LinkProgress?
    private var trouble = Trouble()
    private var isStopped = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ item: LinkItem, _ dependencies: Dependencies, for coordinator: LinkCoordinator) {
        self.item = item
        self.dependencies = dependencies
        self.coordinator = coordinator
        executor = TaskQueue.executor(on: dependencies.queue)
        sleeper = Sleeper("links, pause", queue: dependencies.queue)
    }

    /// The daemon ends: what is left is fetched after the next start.
    func stop(hurrying: Bool) {
        isStopped = true
        run?.stop(hurrying: hurrying)
        sleeper.wake()
    }

    /// The configuration has changed; `isCancelled` where links are not enabled any more.
    func configurationChanged(isCancelled: Bool) {
        if isCancelled { run?.stop(hurrying: false) }
        sleeper.wake()
    }

    /// Has it fetched; nil where that is to continue after the next start.
    func process() async -> LinkResult? {
        while !isStopped, let (settings, inbox, store) = await coordinator.configuration(of: item) {
            self.store = store
            guard let inbox else { return result(.dropped, "its inbox is configured no more") }
            let words: String
            do {
                dependencies.status.change(item.operation) { $0.what = "is read" }
                let reading = try await onDisk(inbox) { [item, probe = dependencies.probe] in
                    try LinkReading.read(item.key.path, in: inbox.path, probe: probe)
                }
                switch reading {
                case .gone(let why): return try gone(why, store)
                case .busy:
                    await pause(seconds: dependencies.patience, "a program still writes it")
                    continue
                case .refused(let reason, let identity):
                    guard try await isSame(identity) else { return changed() }
                    return await refuse(inbox, LinkNote(refusing: item.key.path.name, reason), reason)
                case .order(let order):
                    guard try await isSame(order.identity) else { return changed() }
                    guard !order.addresses.isEmpty else {
                        let reason = "it holds no address that can be fetched"
                        let note = LinkNote(refusing: item.key.path.name, reason, order.refusals)
                        let first = order.refusals.first.map { "; line \($0.line): \($0.reason)" } ?? ""
                        return await refuse(inbox, note, reason + first, lines: order.refusals.count)
                    }
                    try resumeProgress(order, store)
                    switch await fetch(order, settings, inbox) {
                    case .over: await coordinator.served(item)
                    case .refused(let reason):
                        await coordinator.unserved(item, reason)
                        logWait(reason)
                    case .lost(let reason):
                        trouble.lost += 1
                        if trouble.lost >= LinkCoordinator.mostLost, !isStopped { giveUp(order, reason) }
                        logWait(reason)
                    }
                    if progress?.isComplete == true { return await finish(order, inbox) }
                    words = trouble.logged ?? "some of it was cancelled"
                }
            } catch {
                words = "\(error)"
                logWait(words)
            }
            await pause(seconds: trouble.pause(dependencies.patience), words)
        }
        return nil
    }

    /// Does what may wait for an inbox's disk on a queue that no other inbox needs.
    private func onDisk<R: Sendable>(
        _ inbox: InboxSettings, _ body: @escaping @Sendable () throws -> R
    ) async throws -> R {
        let queue = await coordinator.diskQueue(of: inbox.name)
        return try await withCheckedThrowingContinuation { done in
            queue.async { done.resume(with: Result(catching: body)) }
        }
    }

    /// Returns when the time is over, or it is woken.
    private func pause(seconds: Double, _ words: String) async {
        if isStopped { return }
        dependencies.status.change(item.operation) { ($0.phase, $0.what) = ("waiting", words) }
        // A new one: a change of the configuration during a fetch ends no later pause.
        sleeper = Sleeper("links, pause", queue: dependencies.queue)
        await sleeper.rest(seconds: seconds)
    }

    // MARK: - Steps

    /// Whether the file is still that of this operation. Changed, it has another one, or soon will.
    private func isSame(_ identity: FileIdentity) async throws -> Bool {
        try await dependencies.catalogue.perform("looking up a file of links") { [item] in
            let kept = try $0.keptSource(like: identity, inbox: item.inbox)
            return kept?.identity == identity && kept?.outcomeID == item.operation
        }
    }

    private func changed() -> LinkResult {
        result(.dropped, "it was changed; what it is now counts")
    }

    /// It may have gone by our own hand, right before a crash.
    private func gone(_ why: String, _ store: LinkStore) throws -> LinkResult {
        guard let progress = try store.progress(item.operation), progress.isComplete else {
            return result(.dropped, why)
        }
        return result(
            .done, "ended before a restart", addresses: progress.total, arrived: progress.arrived,
            failed: progress.failed)
    }

    /// Finds out what has ended of it in an earlier life.
    private func resumeProgress(_ order: LinkOrder, _ store: LinkStore) throws(SystemCallError) {
        guard progress == nil else { return }
        if let known = try store.progress(item.operation), known.identity == order.identity,
            known.total == order.addresses.count
        {
            progress = known
        } else {
            let new = LinkProgress(identity: order.identity, total: order.addresses.count)
            try store.begin(item.operation, new)
            progress = new
        }
    }

    private func fetch(
        _ order: LinkOrder, _ settings: Settings, _ inbox: InboxSettings
    ) async -> LinkRun.Ending {
        let known = progress
        let left = order.addresses.indices.filter { known?.ends[$0] == nil }
        guard !left.isEmpty, !isStopped else { return .over(FetchOutcome()) }
        dependencies.status.change(item.operation) {
            ($0.phase, $0.what) = ("fetching", "downloads run")
            ($0.addresses, $0.arrived, $0.failed) = (order.addresses.count, known?.arrived ?? 0, known?.failed ?? 0)
        }
        dependencies.log.info(
            "links \(item.key): fetching \(left.count) of \(order.addresses.count) addresses",
            metadata: ["inbox": "\(item.inbox)", "file": "\(item.key.path.escaped)"])
        // One after the other at the worst, each for as long as it may take.
        let rounds = Int64(left.count / max(1, settings.fetch.atOnce) + 1)
        let run = LinkRun.Order(
            request: FetchRequest(inbox: item.inbox, addresses: left.map { order.addresses[$0].text }),
            place: FetchPlace(
                path: inbox.path.bytes, limits: settings.fetch, minFree: settings.library?.minFree ?? 0),
            socket: settings.runtime.appending("fetch"), mayHaveChild: !dependencies.isManaged,
            deadline: .seconds(settings.fetch.deadline * rounds + 120), program: dependencies.program)
        let ending = await withCheckedContinuation { end in
            do {
                self.run = try LinkRun(run, queue: dependencies.queue) { ends in
                    self.assumeIsolated { $0.addEnds(left, ends) }
                } done: {
                    end.resume(returning: $0)
                }
            } catch { end.resume(returning: LinkRun.Ending.refused("\(error)")) }
        }
        self.run = nil
        return ending
    }

    /// Some have ended: `left` says which address of the file each number of the request is.
    private func addEnds(_ left: [Int], _ ends: [(Int, FetchEnd)]) {
        guard var progress else { return }
        var lines: [UInt8] = []
        for (number, end) in ends where left.indices.contains(number) { lines += progress.note(left[number], end) }
        self.progress = progress
        write(lines)
        dependencies.status.change(item.operation) { ($0.arrived, $0.failed) = (progress.arrived, progress.failed) }
        dependencies.log.debug("links \(item.key): \(progress.ends.count) of \(progress.total) have ended")
    }

    /// Gives up the remaining addresses, after which the service ended each time.
    private func giveUp(_ order: LinkOrder, _ reason: String) {
        guard var progress else { return }
        var lines: [UInt8] = []
        for number in order.addresses.indices where progress.ends[number] == nil {
            lines += progress.note(number, FetchEnd(.failed, "given up, \(LinkCoordinator.mostLost) times: \(reason)"))
        }
        self.progress = progress
        write(lines)
    }

    private func write(_ lines: [UInt8]) {
        guard !lines.isEmpty else { return }
        do throws(SystemCallError) { try store?.add(lines, to: item.operation) } catch {
            // After a crash these are fetched once more, and found to be in the library.
            dependencies.log.warning("links \(item.key): \(error), continuing")
        }
    }

    // MARK: - Ends

    private func finish(_ order: LinkOrder, _ inbox: InboxSettings) async -> LinkResult {
        let path = item.key.path
        var failed: [(address: WebAddress, reason: String)] = []
        for (number, address) in order.addresses.enumerated() {
            guard case .failed(let reason) = progress?.ends[number] else { continue }
            failed.append((address, reason))
            if failed.count <= 20 { dependencies.log.notice("links \(item.key): failed \(address): \(reason)") }
        }
        var words: [String] = []
        if !failed.isEmpty || !order.refusals.isEmpty {
            words.append(await write(LinkNote(path.name, failed: failed, order.refusals), inbox))
        }
        if inbox.mode == .move {
            do {
                let place = try await onDisk(inbox) {
                    try LinkEnd.setAside(path, as: order.identity, in: inbox.path)
                }
                words.append(place.map { "it lies in \($0.escaped) now" } ?? "it was changed meanwhile, and stays")
            } catch { words.append("it stays, since it cannot be moved: \(error)") }
        } else {
            words.append("it stays, as all files of that inbox do")
        }
        return result(
            .done, words.joined(separator: "; "), addresses: order.addresses.count + order.refusals.count,
            arrived: progress?.arrived ?? 0, failed: failed.count + order.refusals.count)
    }

    private func refuse(
        _ inbox: InboxSettings, _ note: LinkNote, _ reason: String, lines: Int = 0
    ) async -> LinkResult {
        result(.refused, "\(reason); \(await write(note, inbox))", failed: lines)
    }

    /// Where the note is, in words.
    private func write(_ note: LinkNote, _ inbox: InboxSettings) async -> String {
        do {
            let place = try await onDisk(inbox) { [item] in
                try LinkEnd.write(note, besides: item.key.path, in: inbox.path)
            }
            return "\(place.escaped) says what to do"
        } catch { return "a note about that cannot be written: \(error)" }
    }

    private func result(
        _ what: LinkResult.What, _ words: String, addresses: Int = 0, arrived: Int = 0,
        failed: Int = 0
    ) -> LinkResult {
        LinkResult(
            item: item, what: what, addresses: addresses, arrived: arrived, failed: failed, words: words,
            at: Moment.now.wall.seconds)
    }

    // MARK: - The log

    /// Logs once why it has to wait.
    private func logWait(_ reason: String) {
        if trouble.logged != reason, !isStopped {
            dependencies.log.warning("links \(item.key) have to wait: \(reason), continuing")
        }
        trouble.logged = reason
    }
}
