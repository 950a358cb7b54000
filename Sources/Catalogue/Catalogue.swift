package import FileValues
import LinuxKernel
package import QueueActors
import SystemMonitor

/// The daemon's catalogue, on a queue of its own so that no other queue waits for its disk. Changes that arrive
/// together share one transaction, since each transaction waits for the disk once.
package actor Catalogue {
    package nonisolated let subsystem: Subsystem
    /// The database. Any thread may call it directly, and then waits for the disk.
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

    /// Intents to close with the next transaction.
    private var closing: [Closing] = []
    private var isScheduled = false
    /// The number of transactions that changes have needed so far.
    package private(set) var transactions = 0
    /// Contents that are being returned from the library.
    package private(set) var returning: Set<[UInt8]> = []
    private var outcomesRecorded: (@Sendable () -> Void)?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    package init(_ file: CatalogueFile, subsystem: Subsystem) {
        self.file = file
        self.subsystem = subsystem
        executor = TaskQueue.executor(on: subsystem.queue)
    }

    /// Calls `handler` on this queue whenever outcomes were recorded. It must not block. Any thread.
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

    /// Returns the photo with each of these contents, or nil, and the last filed set that matches `set`. Throws
    /// ``CatalogueError/beingReturned`` for a photo that is being returned from the library, whose state is undecided.
    package func lookUp(
        _ contents: [[UInt8]], _ set: SetQuery? = nil
    ) throws(CatalogueError) -> (photos: [StoredPhoto?], set: [StoredPhoto]) {
        if !returning.isDisjoint(with: contents) { throw .beingReturned }
        return try perform("looking up contents") { file in
            (try contents.map { try file.photo(withHash: $0) }, try set.map { try file.filedSet($0) } ?? [])
        }
    }

    /// Records a library's directory without waiting. Any thread. A failure is ignored: the next start finds it out
    /// again.
    package nonisolated func rememberSoon(_ found: KnownLibrary?) {
        guard let found else { return }
        TaskQueue.start {
            try? await self.perform("recording what the library is") { try $0.remember(found, at: Moment.now.wall) }
        }
    }

    // MARK: - Changes that share a transaction

    /// See ``CatalogueFile/beginIntents(_:)``.
    package func begin(_ intents: [NewIntent]) async throws(CatalogueError) -> [Int64] {
        guard case .begun(let ids) = try await submit(.begin(intents)) else { return [] }
        return ids
    }

    /// See ``CatalogueFile/commitFilings(_:set:)``.
    package func commit(_ filings: [FilingCommit], set: SetPlace?) async throws(CatalogueError) -> [FiledIDs] {
        guard case .committed(let ids) = try await submit(.commit(filings, set: set)) else { return [] }
        return ids
    }

    /// See ``CatalogueFile/closeIntents(_:kept:)``.
    package func close(_ intents: [Int64], kept: [KeptSource] = []) async throws(CatalogueError) {
        _ = try await submit(.close(intents, kept: kept))
    }

    /// Closes intents of completed or reversed filings in order, without waiting; one still open after a crash is
    /// harmless. On failure `failed` is called on this queue, and the next change retries. Any thread.
    package nonisolated func closeSoon(_ intents: [Int64], failed: @escaping @Sendable (CatalogueError) -> Void) {
        subsystem.queue.async {
            self.assumeIsolated { catalogue in
                catalogue.closing.append(Closing(intents: intents, failed: failed))
                catalogue.scheduleChanges()
            }
        }
    }

    /// Waits until the intents of ``closeSoon(_:failed:)`` are closed or have failed to close.
    package func flush() async { if !closing.isEmpty { try? await close([]) } }

    /// Records an outcome other than filed. Returns its number.
    package func record(_ outcome: OutcomeRecord, kept: KeptSource?) async throws(CatalogueError) -> Int64 {
        guard case .recorded(let ids) = try await submit(.record([outcome], kept: kept.map { [$0] } ?? [])) else {
            return 0
        }
        return ids.first ?? 0
    }

    /// Records the last outcome that a hook was notified of, and those up to it that were skipped.
    package func hook(
        _ name: String, toldThrough outcome: Int64, skipped: [Int64] = []
    ) async throws(CatalogueError) {
        _ = try await submit(.hook(name, told: outcome, skipped: skipped))
    }

    /// See ``CatalogueFile/record(_:)``.
    package func record(_ batch: MetadataBatch) async throws(CatalogueError) { _ = try await submit(.metadata(batch)) }

    private func submit(_ change: CatalogueChange) async throws(CatalogueError) -> CatalogueAnswer {
        let result = await withCheckedContinuation { answer in
            waiting.append(Request(change: change, answer: answer))
            scheduleChanges()
        }
        return try result.get()
    }

    /// Enqueues one transaction behind the queue's present work, so that changes arriving meanwhile share it.
    private func scheduleChanges() {
        if isScheduled { return }
        isScheduled = true
        subsystem.queue.async { self.assumeIsolated { $0.makeChanges() } }
    }

    private func makeChanges() {
        let (requests, closing) = (waiting, closing)
        (waiting, self.closing, isScheduled) = ([], [], false)
        // First, because the same contents cannot be filed until these intents are closed.
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
            // Kept here: an inbox that is unmounted cannot retry, and until then no other may file the same content.
            self.closing = closing + self.closing
            for one in closing { one.failed(error) }
        }
        for (request, result) in zip(requests, results) { request.answer.resume(returning: result) }
        if requests.contains(where: { $0.change.makesOutcomes }) { outcomesRecorded?() }
    }

    // MARK: - Moves and requests

    /// See ``CatalogueFile/finishMove(_:outcome:kept:)``.
    package func finishMove(
        _ id: Int64, outcome: OutcomeRecord?, kept: KeptSource?
    ) throws(CatalogueError) -> Int64? {
        defer { outcomesRecorded?() }
        return try perform("recording a move's end") { try $0.finishMove(id, outcome: outcome, kept: kept) }
    }

    /// Records a request before its file is moved. Until ``endRequest(_:at:move:note:returning:)``, ``lookUp(_:_:)``
    /// throws for the photo that it returns.
    package func beginRequest(_ request: RequestRecord, returning photo: StoredPhoto?) throws(CatalogueError) -> Int64 {
        let id = try perform("recording a request") { try $0.recordRequest(request, step: .begun) }
        if let photo { returning.insert(photo.photo.sha256) }
        return id
    }

    /// Ends a request. `move` is where its file is now; nil if it was not moved.
    package func endRequest(
        _ id: Int64, at now: FileTime, move: RequestedMove?, note: String? = nil, returning photo: StoredPhoto? = nil
    ) throws(CatalogueError) {
        if let photo { returning.remove(photo.photo.sha256) }
        try perform("ending a request") { try $0.endRequest(id, at: now, move: move, note: note) }
    }
}

extension CatalogueChange {
    /// Whether the change records outcomes.
    fileprivate var makesOutcomes: Bool {
        switch self {
        case .commit, .record: true
        case .begin, .close, .hook, .metadata: false
        }
    }
}
