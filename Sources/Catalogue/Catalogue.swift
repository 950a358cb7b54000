package import FileValues
import LinuxKernel
package import QueueActors
import SystemMonitor

/// The catalogue as a daemon uses it: on a queue of its own, so that nobody else waits for its disk. Changes that come
/// together are made in one transaction, since each transaction waits for the disk once.
package actor Catalogue {
    package nonisolated let subsystem: Subsystem
    /// What it is stored in. Any thread may ask it directly, and waits for the disk then.
    package nonisolated let file: CatalogueFile
    private nonisolated let executor: QueueExecutor

    private struct Request {
        let change: CatalogueChange
        let answer: CheckedContinuation<Result<CatalogueAnswer, CatalogueError>, Never>
    }

    private var waiting: [Request] = []
    private struct Closing {
        let intents: [Int64]
        let failed: @Sendable (CatalogueError) -> Void
    }

    /// Closed with the next transaction.
    private var closing: [Closing] = []
    private var isScheduled = false
    /// How many transactions changes have needed so far.
    package private(set) var transactions = 0
    /// Contents that are being returned from the library.
    private var returning: Set<[UInt8]> = []
    private var outcomesRecorded: (@Sendable () -> Void)?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(_ file: CatalogueFile, subsystem: Subsystem) {
        self.file = file
        self.subsystem = subsystem
        executor = TaskQueue.executor(on: subsystem.queue)
    }

    /// Calls `handler` on this queue whenever outcomes were recorded; it must not wait. From any thread.
    package nonisolated func whenOutcomesAreRecorded(_ handler: @escaping @Sendable () -> Void) {
        subsystem.queue.async { self.assumeIsolated { $0.outcomesRecorded = handler } }
    }

    /// Runs `body` on this queue; the state shows `step` meanwhile.
    package func perform<R: Sendable>(
        _ step: String, _ body: @Sendable (CatalogueFile) throws -> R
    ) throws(CatalogueError) -> R {
        subsystem.enter(step)
        defer { subsystem.idle() }
        do { return try body(file) } catch { throw CatalogueError(error, step) }
    }

    /// The photos with these contents, nil for each that has none, and what was filed last of a set. Throws
    /// ``CatalogueError/beingReturned`` for a photo that is being returned from the library: it is neither there nor gone.
    package func lookUp(
        _ contents: [[UInt8]], _ set: SetQuery? = nil
    ) throws(CatalogueError) -> (photos: [StoredPhoto?], set: [StoredPhoto]) {
        if !returning.isDisjoint(with: contents) { throw .beingReturned }
        return try perform("looking up contents") { file in
            (try contents.map { try file.photo(withHash: $0) }, try set.map { try file.filedSet($0) } ?? [])
        }
    }

    /// Records which directory a library is, without waiting for it; from any thread. What cannot be recorded is found out
    /// again at the next start.
    package nonisolated func rememberSoon(_ found: KnownLibrary?) {
        guard let found else { return }
        TaskQueue.start {
            try? await self.perform("recording what the library is") { try $0.remember(found, at: Moment.now.wall) }
        }
    }

    // MARK: - Changes that share a transaction

    /// Records filings that are about to begin, see ``CatalogueFile/beginIntents(_:)``.
    package func begin(_ intents: [NewIntent]) async throws(CatalogueError) -> [Int64] {
        guard case .begun(let ids) = try await submit(.begin(intents)) else { return [] }
        return ids
    }

    /// Commits filings, see ``CatalogueFile/commitFilings(_:set:)``.
    package func commit(_ filings: [FilingCommit], set: SetPlace?) async throws(CatalogueError) -> [FiledIDs] {
        guard case .committed(let ids) = try await submit(.commit(filings, set: set)) else { return [] }
        return ids
    }

    /// Closes intents, see ``CatalogueFile/closeIntents(_:kept:)``.
    package func close(_ intents: [Int64], kept: [KeptSource] = []) async throws(CatalogueError) {
        _ = try await submit(.close(intents, kept: kept))
    }

    /// Closes intents whose filing is complete or was undone, without waiting for it; one that is still open after a crash
    /// does no harm. `failed` is called on this queue where that fails, and it is tried again with the next change. From any
    /// thread, in order.
    package nonisolated func closeSoon(_ intents: [Int64], failed: @escaping @Sendable (CatalogueError) -> Void) {
        subsystem.queue.async {
            self.assumeIsolated { catalogue in
                catalogue.closing.append(Closing(intents: intents, failed: failed))
                catalogue.scheduleChanges()
            }
        }
    }

    /// Returns when what was to be closed soon is closed, or has failed to be.
    package func flush() async { if !closing.isEmpty { try? await close([]) } }

    /// Records an outcome other than filed; its number.
    package func record(_ outcome: OutcomeRecord, kept: KeptSource?) async throws(CatalogueError) -> Int64 {
        guard case .recorded(let ids) = try await submit(.record([outcome], kept: kept.map { [$0] } ?? [])) else {
            return 0
        }
        return ids.first ?? 0
    }

    /// Records that a hook was told everything up to an outcome.
    package func hook(_ name: String, toldThrough outcome: Int64) async throws(CatalogueError) {
        _ = try await submit(.hook(name, told: outcome))
    }

    private func submit(_ change: CatalogueChange) async throws(CatalogueError) -> CatalogueAnswer {
        let result = await withCheckedContinuation { answer in
            waiting.append(Request(change: change, answer: answer))
            scheduleChanges()
        }
        return try result.get()
    }

    /// Behind what the queue holds by now, so that what comes meanwhile shares the transaction.
    private func scheduleChanges() {
        if isScheduled { return }
        isScheduled = true
        subsystem.queue.async { self.assumeIsolated { $0.makeChanges() } }
    }

    private func makeChanges() {
        let (requests, closing) = (waiting, closing)
        (waiting, self.closing, isScheduled) = ([], [], false)
        // First: until they are closed, their contents cannot be filed.
        let closed = closing.flatMap(\.intents)
        let changes = (closed.isEmpty ? [] : [.close(closed, kept: [])]) + requests.map(\.change)
        if changes.isEmpty { return }
        transactions += 1
        subsystem.enter("recording \(changes.count == 1 ? "a change" : "\(changes.count) changes")")
        var results: [Result<CatalogueAnswer, CatalogueError>]
        do { results = try file.perform(changes) } catch {
            results = Array(repeating: .failure(error), count: changes.count)
        }
        subsystem.idle()
        if !closed.isEmpty, case .failure(let error) = results.removeFirst() {
            // Whose inbox is away can do nothing about it, and as long another may not file the same content.
            self.closing = closing + self.closing
            for one in closing { one.failed(error) }
        }
        for (request, result) in zip(requests, results) { request.answer.resume(returning: result) }
        if requests.contains(where: { $0.change.makesOutcomes }) { outcomesRecorded?() }
    }

    // MARK: - Moves and requests

    /// Ends a move out of an inbox, see ``CatalogueFile/finishMove(_:outcome:kept:)``.
    package func finishMove(
        _ id: Int64, outcome: OutcomeRecord?, kept: KeptSource?
    ) throws(CatalogueError) -> Int64? {
        defer { outcomesRecorded?() }
        return try perform("recording a move's end") { try $0.finishMove(id, outcome: outcome, kept: kept) }
    }

    /// Records a request before its file is moved. Until ``endRequest(_:at:move:note:returning:)``, the library is not
    /// said to have the photo that it returns.
    package func beginRequest(_ request: RequestRecord, returning photo: StoredPhoto?) throws(CatalogueError) -> Int64 {
        let id = try perform("recording a request") { try $0.recordRequest(request, step: .begun) }
        if let photo { returning.insert(photo.photo.sha256) }
        return id
    }

    /// Ends a request: its file lies under `move` now, or, with nil, where it lay.
    package func endRequest(
        _ id: Int64, at now: FileTime, move: RequestedMove?, note: String? = nil, returning photo: StoredPhoto? = nil
    ) throws(CatalogueError) {
        if let photo { returning.remove(photo.photo.sha256) }
        try perform("ending a request") { try $0.endRequest(id, at: now, move: move, note: note) }
    }
}

extension CatalogueChange {
    /// Whether files get their outcomes by it.
    fileprivate var makesOutcomes: Bool {
        switch self {
        case .commit, .record: true
        case .begin, .close, .hook: false
        }
    }
}
