import ControlProtocol
import DropStore
import FileValues
import Filing
import HTTPValues
import LinuxKernel
import Reporting
import SystemMonitor

/// Receipts for all who look: the daemon is asked while somebody does, and not otherwise.
///
/// Nothing of it is kept: who comes again gets what the daemon says then, so a photo that was taken back, or a library that is
/// gone, is not called safe because it once was. Meanwhile all are asked about in turn, those that are settled, too: an undo and
/// damage are no outcomes. On a queue of its own, which waits for the disk.
actor ReceiptHub {
    private struct Watcher {
        let owner: DropOwner
        let events: AsyncStream<[UInt8]>.Continuation
        /// What it has.
        var through: UInt64
        let end: ContinuousClock.Instant
        /// Whether the daemon was asked for it: what was heard before it came is too old.
        var isServed = false
        var lastSent: ContinuousClock.Instant
    }

    private struct Entry {
        let owner: DropOwner
        var receipt: Receipt
        /// Of the event that reported it.
        var number: UInt64
        /// Whether the daemon was asked about it since somebody came.
        var isAsked = false
    }

    private let queue = MonitorQueue(label: "photo-inbox.drop.receipts")
    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.executor.asUnownedSerialExecutor() }

    private let store: DropStore
    private let inbox: String
    private let ask: DropServer.Ask
    private let pause: @Sendable (Duration) async -> Void
    /// How often those that have an answer are asked about again, and how long a stream lasts.
    private let times: (rotation: Duration, lifetime: Duration)
    private var watchers: [Int: Watcher] = [:]
    private var entries: [UploadID: Entry] = [:]
    /// Of events, which begin with the time, so that those of an earlier process are smaller; and of the last watcher.
    private var numbers: (first: UInt64, last: UInt64, watcher: Int)
    /// The newest outcome that was looked at.
    private var cursor: Int64?
    /// Where each owner's next turns begin, of those that are settled and the others, and when the last one was.
    private var turns: [DropOwner: (settled: Int, open: Int, last: ContinuousClock.Instant)] = [:]
    /// What asks while somebody looks, and its pause until the next question, while that is the long one.
    private var asking: (all: Task<Void, Never>?, rest: Task<Void, Never>?)

    /// For how long uploads are reported, in seconds.
    static let memory: Int64 = 7 * 86_400
    /// The most streams of one owner, and events that wait in one: the rest is sent when they are read.
    static let streams = 32
    static let events = 512
    static let silence = Duration.seconds(15)
    /// Until the next question: while something was placed just now or lately, and else.
    static let pace = (
        now: Duration.milliseconds(50), fast: Duration.milliseconds(250), slow: Duration.seconds(1)
    )
    /// In seconds.
    private static let (justNow, lately): (Int64, Int64) = (1, 30)
    /// How many of those that are settled, and of the others, are asked about again each time, though no outcome was reported.
    private static let again = 40
    /// Of paths in one request, in bytes: a request has 64 KiB, and a byte of a path takes at most six.
    private static let pathBytes = 8 << 10

    init(
        _ store: DropStore, inbox: String, ask: @escaping DropServer.Ask,
        pause: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
        rotation: Duration = ReceiptHub.pace.fast, lifetime: Duration = .seconds(120)
    ) {
        (self.store, self.inbox, self.ask, self.pause) = (store, inbox, ask, pause)
        times = (rotation, lifetime)
        let now = FileTime.now
        let first = (UInt64(max(0, now.seconds)) * 1_000 + UInt64(now.nanoseconds / 1_000_000)) << 10
        numbers = (first, first, 0)
    }

    /// Events until the stream is dropped or has lasted long enough: all of this owner that are known, or those after `after`, which
    /// is the number of one; then changes.
    func events(for owner: DropOwner, after: UInt64?) -> AsyncStream<[UInt8]> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: [UInt8].self, bufferingPolicy: .bufferingOldest(Self.events))
        numbers.watcher += 1
        let number = numbers.watcher
        continuation.onTermination = { _ in Task { await self.left(number) } }
        let goesOn = after.map { (numbers.first...numbers.last).contains($0) } ?? false
        // What waits to be sent is in memory: who asks again and again loses the oldest stream.
        let own = watchers.filter { $0.value.owner == owner }.keys.sorted()
        if own.count >= Self.streams, let oldest = own.first {
            watchers.removeValue(forKey: oldest)?.events.finish()
        }
        // While nobody looked, nobody asked.
        if !goesOn || own.isEmpty { askAnew(owner) }
        let now = ContinuousClock.now
        watchers[number] = Watcher(
            owner: owner, events: continuation, through: goesOn ? after ?? 0 : 0, end: now + times.lifetime,
            lastSent: now)
        // At once, so that whoever comes knows that it works.
        continuation.yield(ServerEvent.comment)
        if asking.all == nil { asking.all = Task { await self.askWhileWatched() } }
        return stream
    }

    /// Has everything of an owner asked about at the next turn, and forgets what is too old.
    private func askAnew(_ owner: DropOwner) {
        let oldest = store.seconds - Self.memory
        for (id, entry) in entries where entry.owner == owner {
            if let record = try? store.record(id), record.changed >= oldest {
                entries[id]?.isAsked = false
            } else {
                entries[id] = nil
            }
        }
    }

    /// Whether anybody looks.
    var isWatched: Bool { !watchers.isEmpty }

    /// Ends all streams: their pages come again.
    func end() {
        for watcher in watchers.values { watcher.events.finish() }
        watchers = [:]
    }

    private func left(_ number: Int) { watchers[number] = nil }

    private func askWhileWatched() async {
        while !watchers.isEmpty {
            var pace = Self.pace.slow
            for owner in Set(watchers.values.map(\.owner)) { pace = min(pace, await look(at: owner)) }
            if !send() { pace = min(pace, Self.pace.fast) }
            guard pace == Self.pace.slow else {
                await pause(pace)
                continue
            }
            let rest = Task { [pause] in await pause(pace) }
            asking.rest = rest
            await rest.value
            asking.rest = nil
        }
        asking.all = nil
    }

    /// An upload may have been placed.
    func wake() { asking.rest?.cancel() }

    // MARK: - Asking

    /// Brings the receipts of an owner up to date; returns when to do so again.
    private func look(at owner: DropOwner) async -> Duration {
        let now = store.seconds
        let waiting = watchers.filter { $0.value.owner == owner }.keys
        let uploads = store.uploads(of: owner).filter { $0.value.changed >= now - Self.memory }
        let new = uploads.filter { entries[$0.key]?.isAsked != true }.sorted { $0.value.changed > $1.value.changed }
        await look(at: new.map(\.key) + again(uploads, of: owner), uploads)
        for number in waiting { watchers[number]?.isServed = true }
        let placed = uploads.lazy.filter { id, record in
            record.path != nil && self.entries[id]?.receipt.isSettled != true
        }.map(\.value.changed).max()
        guard let placed, placed >= now - Self.lately else { return Self.pace.slow }
        return placed >= now - Self.justNow ? Self.pace.now : Self.pace.fast
    }

    /// Those that are asked about again at this turn, also without an outcome: what is deferred, was removed or taken back, or is
    /// damaged. Outcomes are heard of by the cursor.
    private func again(_ uploads: [UploadID: UploadRecord], of owner: DropOwner) -> [UploadID] {
        let now = ContinuousClock.now
        var turn = turns[owner] ?? (0, 0, now - times.rotation)
        guard now - turn.last >= times.rotation else { return [] }
        let asked = uploads.filter { $0.value.path != nil && entries[$0.key]?.isAsked == true }.keys
            .sorted { $0.description < $1.description }
        let settled = asked.filter { entries[$0]?.receipt.isSettled == true }
        let open = asked.filter { entries[$0]?.receipt.isSettled != true }
        turn.last = now
        defer { turns[owner] = turn }
        return Self.part(of: settled, &turn.settled) + Self.part(of: open, &turn.open)
    }

    /// Some of these, others at each turn.
    private static func part(of ids: [UploadID], _ turn: inout Int) -> [UploadID] {
        if ids.isEmpty { return [] }
        turn %= ids.count
        defer { turn += again }
        return Array((ids[turn...] + ids[..<turn]).prefix(again))
    }

    private func look(at ids: [UploadID], _ uploads: [UploadID: UploadRecord]) async {
        var rest = ids[...]
        repeat {
            var (batch, bytes) = ([(id: UploadID, path: BytePath)](), 0)
            while let id = rest.first, batch.count < ControlCommand.outcomesLimit, bytes < Self.pathBytes {
                rest = rest.dropFirst()
                guard let path = uploads[id]?.path else {
                    put(id, uploads[id], nil, isThere: true)
                    continue
                }
                batch.append((id, path))
                bytes += path.bytes.count
            }
            if batch.isEmpty, cursor == nil { continue }
            await look(at: batch, uploads)
        } while !rest.isEmpty
    }

    private func look(at batch: [(id: UploadID, path: BytePath)], _ uploads: [UploadID: UploadRecord]) async {
        // Before the question: what was gone then has an outcome, unless somebody removed it.
        let isThere = batch.map { store.isInInbox($0.path) }
        let request = ControlCommand.outcomes(inbox: inbox, of: batch.map(\.path), after: cursor)
        let answer = await ask(ControlRequest(request))
        guard let answer, answer.status == 0, let found = answer.arrivals,
            found.files.map(\.path).starts(with: batch.map(\.path))
        else {
            let silence = answer == nil || answer?.status == 0 ? Receipt.noAnswer : Receipt.refused
            // Of what was asked about for those who look, the last answer stays.
            for (index, each) in batch.enumerated() where entries[each.id]?.isAsked != true {
                put(each.id, uploads[each.id], nil, isThere: isThere[index], silence: silence)
            }
            return
        }
        let filed = await filed(
            batch.indices.filter { found.files[$0].step == .unseen && !isThere[$0] }.compactMap {
                uploads[batch[$0].id]?.digest?.bytes
            })
        for (index, each) in batch.enumerated() {
            var report = found.files[index]
            // The catalogue is newer than the outcome, or older: it has been made anew, or is a backup.
            if report.step == .unseen, let digest = uploads[each.id]?.digest, filed.contains(digest.bytes) {
                report = FileReports.Report(each.path, .filed)
            }
            put(each.id, uploads[each.id], report, isThere: isThere[index])
        }
        let changed = Dictionary(found.files[batch.count...].map { ($0.path, $0) }) { $1 }
        if !changed.isEmpty {
            for id in entries.filter(\.value.isAsked).keys {
                guard let record = try? store.record(id), let report = record.path.flatMap({ changed[$0] }) else {
                    continue
                }
                put(id, record, report, isThere: true)
            }
        }
        // The catalogue was made anew: all its outcomes are new.
        if let cursor, found.through < cursor { for id in entries.keys { entries[id]?.isAsked = false } }
        cursor = found.through
    }

    /// Which of these contents the library has.
    private func filed(_ digests: [[UInt8]]) async -> Set<[UInt8]> {
        if digests.isEmpty { return [] }
        let known = await ask(ControlRequest(.known(digests)))?.known ?? []
        return Set(zip(digests, known).filter(\.1).map(\.0))
    }

    private func put(
        _ id: UploadID, _ record: UploadRecord?, _ report: FileReports.Report?, isThere: Bool,
        silence: String = Receipt.noAnswer
    ) {
        guard let record, let receipt = Receipt(id, record, report, isThere: isThere, silence: silence) else { return }
        let isAsked = report != nil || record.path == nil
        if let old = entries[id], old.receipt == receipt {
            entries[id]?.isAsked = isAsked || old.isAsked
            return
        }
        numbers.last += 1
        entries[id] = Entry(owner: record.new.owner, receipt: receipt, number: numbers.last, isAsked: isAsked)
    }

    // MARK: - Sending

    /// Returns whether all who look have everything: what their streams have no room for waits.
    private func send() -> Bool {
        let now = ContinuousClock.now
        let sorted = entries.values.sorted { $0.number < $1.number }
        var isAll = true
        for (number, watcher) in watchers where watcher.isServed {
            var watcher = watcher
            var through = numbers.last
            for entry in sorted where entry.number > watcher.through && entry.owner == watcher.owner {
                let event = ServerEvent(
                    "receipt", entry.receipt.json(for: watcher.owner).compact, number: entry.number)
                guard case .enqueued = watcher.events.yield(event.bytes) else {
                    (through, isAll) = (watcher.through, false)
                    break
                }
                (watcher.through, watcher.lastSent) = (entry.number, now)
            }
            watcher.through = max(watcher.through, through)
            if now - watcher.lastSent >= Self.silence {
                watcher.events.yield(ServerEvent.comment)
                watcher.lastSent = now
            }
            if now < watcher.end {
                watchers[number] = watcher
            } else {
                watchers[number] = nil
                watcher.events.finish()
            }
        }
        return isAll
    }
}
