import Catalogue
import ControlProtocol
import Fetching
import FileValues
import Ingest
import LinuxKernel
import LogMessages
import Logging
import QueueActors
import Settings
import Systemd

// One file of links, from the first reading to its end.
extension LinkCoordinator {
    /// How long to wait after trouble, and how often a run was lost. A value.
    private struct Trouble {
        var tries = 0
        var lost = 0
        var logged: String?

        /// Seconds: twice as long each time, five minutes at most.
        mutating func pause(_ first: Double) -> Double {
            tries += 1
            return min(first * Double(1 << min(tries - 1, 10)), 300)
        }
    }

    /// Has it fetched; nil where it is to be gone on with after the next start.
    func process(_ item: LinkItem) async -> LinkResult? {
        var trouble = Trouble()
        while let (settings, inbox, store) = configuration(of: item) {
            guard let inbox else { return result(item, .dropped, "its inbox is configured no more") }
            let words: String
            do {
                status.change(item.operation) { $0.what = "is read" }
                let reading = try await onDisk(inbox) { [probe] in
                    try LinkReading.read(item.key.path, in: inbox.path, probe: probe)
                }
                switch reading {
                case .gone(let why): return try gone(item, why, store)
                case .busy:
                    await pause(item, seconds: patience, "a program still writes it")
                    continue
                case .refused(let reason, let identity):
                    guard try await isSame(item, identity) else { return changed(item) }
                    return await refuse(item, inbox, LinkNote(refusing: item.key.path.name, reason), reason)
                case .order(let order):
                    guard try await isSame(item, order.identity) else { return changed(item) }
                    guard !order.addresses.isEmpty else {
                        let reason = "it holds no address that can be fetched"
                        let note = LinkNote(refusing: item.key.path.name, reason, order.refusals)
                        let first = order.refusals.first.map { "; line \($0.line): \($0.reason)" } ?? ""
                        return await refuse(item, inbox, note, reason + first, lines: order.refusals.count)
                    }
                    try resumeProgress(item, order, store)
                    switch await fetch(item, order, settings, inbox) {
                    case .over: somebodyFetches(for: item)
                    case .refused(let reason):
                        nobodyFetches(for: item, reason)
                        trouble.logged = logWait(item, reason, logged: trouble.logged)
                    case .lost(let reason):
                        trouble.lost += 1
                        if trouble.lost >= Self.mostLost, !isStopped { giveUp(item, order, store, reason) }
                        trouble.logged = logWait(item, reason, logged: trouble.logged)
                    }
                    if progress[item.operation]?.isComplete == true {
                        return await finish(item, order, inbox)
                    }
                    words = trouble.logged ?? "some of it was cancelled"
                }
            } catch {
                words = "\(error)"
                trouble.logged = logWait(item, words, logged: trouble.logged)
            }
            await pause(item, seconds: trouble.pause(patience), words)
        }
        return nil
    }

    // MARK: - Steps

    /// Whether the file is still that of this operation. Changed, it has another one, or soon will.
    private func isSame(_ item: LinkItem, _ identity: FileIdentity) async throws -> Bool {
        try await catalogue.perform("looking up a file of links") {
            let kept = try $0.keptSource(like: identity, inbox: item.inbox)
            return kept?.identity == identity && kept?.outcomeID == item.operation
        }
    }

    private func changed(_ item: LinkItem) -> LinkResult {
        result(item, .dropped, "it was changed; what it is now counts")
    }

    /// It may have gone by our own hand, right before a crash.
    private func gone(_ item: LinkItem, _ why: String, _ store: LinkStore) throws -> LinkResult {
        guard let progress = try store.progress(item.operation), progress.isComplete else {
            return result(item, .dropped, why)
        }
        return result(
            item, .done, "ended before a restart", addresses: progress.total, arrived: progress.arrived,
            failed: progress.failed)
    }

    /// Finds out what has ended of it in an earlier life.
    private func resumeProgress(_ item: LinkItem, _ order: LinkOrder, _ store: LinkStore) throws(SystemCallError) {
        guard progress[item.operation] == nil else { return }
        if let known = try store.progress(item.operation), known.identity == order.identity,
            known.total == order.addresses.count
        {
            progress[item.operation] = known
        } else {
            let new = LinkProgress(identity: order.identity, total: order.addresses.count)
            try store.begin(item.operation, new)
            progress[item.operation] = new
        }
    }

    private func fetch(
        _ item: LinkItem, _ order: LinkOrder, _ settings: Settings, _ inbox: InboxSettings
    ) async -> LinkRun.Ending {
        let known = progress[item.operation]
        let left = order.addresses.indices.filter { known?.ends[$0] == nil }
        guard !left.isEmpty, !isStopped else { return .over(FetchOutcome()) }
        status.change(item.operation) {
            ($0.phase, $0.what) = ("fetching", "downloads run")
            ($0.addresses, $0.arrived, $0.failed) = (order.addresses.count, known?.arrived ?? 0, known?.failed ?? 0)
        }
        log.info(
            "links \(item.key): fetching \(left.count) of \(order.addresses.count) addresses",
            metadata: ["inbox": "\(item.inbox)", "file": "\(item.key.path.escaped)"])
        // One after the other at the worst, each for as long as it may take.
        let rounds = Int64(left.count / max(1, settings.fetch.atOnce) + 1)
        let run = LinkRun.Order(
            request: FetchRequest(inbox: item.inbox, addresses: left.map { order.addresses[$0].text }),
            place: FetchPlace(
                path: inbox.path.bytes, limits: settings.fetch, minFree: settings.library?.minFree ?? 0),
            socket: settings.runtime.appending("fetch"), mayHaveChild: !isManaged,
            deadline: .seconds(settings.fetch.deadline * rounds + 120), program: program)
        let ending = await withCheckedContinuation { end in
            do {
                runs[item.operation] = try LinkRun(run, queue: subsystem.queue) { ends in
                    self.assumeIsolated { $0.addEnds(item, left, ends) }
                } done: {
                    end.resume(returning: $0)
                }
            } catch { end.resume(returning: LinkRun.Ending.refused("\(error)")) }
        }
        runs[item.operation] = nil
        return ending
    }

    /// Some have ended: `left` says which address of the file each number of the request is.
    private func addEnds(_ item: LinkItem, _ left: [Int], _ ends: [(Int, FetchEnd)]) {
        guard var progress = progress[item.operation] else { return }
        var lines: [UInt8] = []
        for (number, end) in ends where left.indices.contains(number) { lines += progress.note(left[number], end) }
        self.progress[item.operation] = progress
        write(lines, item)
        status.change(item.operation) { ($0.arrived, $0.failed) = (progress.arrived, progress.failed) }
        log.debug("links \(item.key): \(progress.ends.count) of \(progress.total) have ended")
    }

    /// Nobody who fetches outlives what is left of it.
    private func giveUp(_ item: LinkItem, _ order: LinkOrder, _ store: LinkStore, _ reason: String) {
        guard var progress = progress[item.operation] else { return }
        var lines: [UInt8] = []
        for number in order.addresses.indices where progress.ends[number] == nil {
            lines += progress.note(number, FetchEnd(.failed, "given up, \(Self.mostLost) times: \(reason)"))
        }
        self.progress[item.operation] = progress
        write(lines, item)
    }

    private func write(_ lines: [UInt8], _ item: LinkItem) {
        guard !lines.isEmpty else { return }
        do throws(SystemCallError) { try store?.add(lines, to: item.operation) } catch {
            // After a crash these are fetched once more, and found to be in the library.
            log.warning("links \(item.key): \(error), continuing")
        }
    }

    // MARK: - Ends

    private func finish(_ item: LinkItem, _ order: LinkOrder, _ inbox: InboxSettings) async -> LinkResult {
        let progress = progress[item.operation]
        let path = item.key.path
        var failed: [(address: WebAddress, reason: String)] = []
        for (number, address) in order.addresses.enumerated() {
            guard case .failed(let reason) = progress?.ends[number] else { continue }
            failed.append((address, reason))
            if failed.count <= 20 { log.notice("links \(item.key): failed \(address): \(reason)") }
        }
        var words: [String] = []
        if !failed.isEmpty || !order.refusals.isEmpty {
            words.append(await write(LinkNote(path.name, failed: failed, order.refusals), item, inbox))
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
            item, .done, words.joined(separator: "; "), addresses: order.addresses.count + order.refusals.count,
            arrived: progress?.arrived ?? 0, failed: failed.count + order.refusals.count)
    }

    private func refuse(
        _ item: LinkItem, _ inbox: InboxSettings, _ note: LinkNote, _ reason: String, lines: Int = 0
    ) async -> LinkResult {
        result(item, .refused, "\(reason); \(await write(note, item, inbox))", failed: lines)
    }

    /// Where the note is, in words.
    private func write(_ note: LinkNote, _ item: LinkItem, _ inbox: InboxSettings) async -> String {
        do {
            let place = try await onDisk(inbox) {
                try LinkEnd.write(note, besides: item.key.path, in: inbox.path)
            }
            return "\(place.escaped) says what to do"
        } catch { return "a note about that cannot be written: \(error)" }
    }

    private func result(
        _ item: LinkItem, _ what: LinkResult.What, _ words: String, addresses: Int = 0, arrived: Int = 0,
        failed: Int = 0
    ) -> LinkResult {
        LinkResult(
            item: item, what: what, addresses: addresses, arrived: arrived, failed: failed, words: words,
            at: Moment.now.wall.seconds)
    }

    // MARK: - The log

    /// Logs once why it has to wait.
    private func logWait(_ item: LinkItem, _ reason: String, logged: String?) -> String {
        if logged != reason, !isStopped { log.warning("links \(item.key) have to wait: \(reason), continuing") }
        return reason
    }

    func logEnd(_ result: LinkResult) {
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
