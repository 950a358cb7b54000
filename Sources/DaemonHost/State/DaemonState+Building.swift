import ControlProtocol
import DirectoryWatch
import FileValues
import Ingest
import LinuxKernel
import QueueActors
import Settings
import SystemMonitor

// How the values of the parts become rows of the state dump.

extension Moment {
    /// RFC 3339 in UTC, with milliseconds.
    var text: String { wall.rfc3339 }
}

extension DaemonState.Counts {
    init(_ counts: ArrivalTable.Counts) {
        self.init()
        (seen, deferred, inHand) = (counts.seen, counts.deferred, counts.inHand)
        filed = counts.ended[.filed] ?? 0
        duplicate = counts.ended[.duplicate] ?? 0
        quarantined = counts.ended[.quarantined] ?? 0
        ignored = counts.ended[.ignored] ?? 0
        withdrawn = counts.ended[.withdrawn] ?? 0
    }
}

extension DaemonState.InHand {
    /// `set` is what its set waits for, if it does; `isPaused`, that its inbox is paused.
    init(_ arrival: Arrival, set: @autoclosure () -> String, isPaused: Bool) {
        self.init()
        what =
            switch arrival.stage {
            case .queued: isPaused ? "waits: its inbox is paused" : "waits for its turn"
            case .working(let step): step
            case .settling(let reason, _), .deferred(let reason, _, _): reason
            case .gathering: set()
            }
        (inbox, file) = (arrival.key.inbox, arrival.key.path.escaped)
        (stage, attempts) = (arrival.stage.name, arrival.attempts)
        (since, firstSeen, until) = (arrival.since.text, arrival.firstSeen.text, arrival.waitsUntil?.text)
    }
}

extension DaemonState.Ended {
    init(_ ended: EndedArrival) {
        self.init()
        (operation, at, inbox, file) = (ended.operation, ended.ended.text, ended.key.inbox, ended.key.path.escaped)
        (outcome, reason, destination) = (ended.outcome.rawValue, ended.reason, ended.destination?.escaped)
        (sha256, seconds) = (ended.sha256, ended.ended.seconds(since: ended.firstSeen))
    }
}

extension DaemonState.Inbox {
    /// Every verdict there is.
    static let verdicts = ["starting", "live", "partly polled", "polled", "gone", "stalled"]

    /// `stalled` is the work on this inbox that gets no answer from its disk, if there is any.
    init(
        _ inbox: InboxSettings, counts: DaemonState.Counts, root: RootSnapshot?, stalled: DaemonState.Subsystem?,
        overflows: Int, now: Moment, paused: InboxPause?
    ) {
        self.init()
        (verdict, polledDirectories) =
            switch root?.verdict {
            case _ where stalled != nil: ("stalled", root?.polled ?? 0)
            case nil, .starting: ("starting", 0)
            case .live: ("live", 0)
            case .partlyPolled: ("partly polled", root?.polled ?? 0)
            case .polled: ("polled", root?.polled ?? 0)
            case .gone: ("gone", 0)
            }
        reason =
            switch root?.verdict {
            case _ where stalled != nil: stalled.map { "no answer while \($0.step)" }
            case .gone(.absent(let error)): "\(error)"
            case .gone(.replaced): "another directory lies there"
            default: nil
            }
        (name, path, mode) = (inbox.name, inbox.path.escaped, inbox.mode.rawValue)
        (self.counts, self.overflows, stalledSeconds) = (counts, overflows, stalled?.stuckSeconds)
        self.paused = paused.map { DaemonState.Pause(since: $0.since.rfc3339, by: $0.by.words) }
        guard let root else { return }
        (watches, knownFiles, events) = (root.watches, root.knownFiles, root.notices)
        beingWritten = root.unfinishedFiles == 0 ? nil : root.unfinishedFiles
        leftAlone = root.leftAlone
        coverage = DaemonState.Coverage(root, now: now)
        lastReconciliation = root.lastReconciliation?.ended.rfc3339
    }
}

extension Moment {
    /// RFC 3339 of a moment of CLOCK_MONOTONIC, given that this one is now.
    func text(of monotonic: UInt64) -> String { later(by: (Double(monotonic) - Double(self.monotonic)) / 1e9).text }
}

extension DaemonState.Coverage {
    init(_ root: RootSnapshot, now: Moment) {
        self.init()
        switch root.verdict {
        case .polled(let name): fileSystem = name
        case .gone(.absent(let error)): gone = "\(error)"
        case .gone(.replaced): gone = "another directory is there"
        case .starting, .live, .partlyPolled: break
        }
        (directories, unreadableDirectories) = (root.directories, root.unreadable)
        firstUnreadable = root.firstUnreadable?.path.escaped
        since = root.since == 0 ? nil : now.text(of: root.since)
        intervalSeconds = root.polling.map { Double($0.interval) / 1e9 }
        lastSeconds = root.polling.flatMap { $0.last == nil ? nil : Double($0.cost) / 1e9 }
        (last, next) = (root.polling?.last.map { now.text(of: $0) }, root.polling.map { now.text(of: $0.next) })
        (audits, missed, lastMissed) = (root.audit.count, root.audit.missed, root.audit.lastMissed)
        nextAudit = root.audit.pace.map { now.text(of: $0.next) }
        auditIntervalSeconds = root.audit.pace.map { Double($0.interval) / 1e9 }
    }
}

extension DaemonState.WatchNeed {
    init(_ need: WatchNeed) {
        self.init()
        (setting, limit, advice) = (need.setting, need.limit?.value, need.assignment)
        (watched, polled, needed) = (need.used, need.polled, need.needed)
    }
}

extension DaemonState.Liveness {
    init(_ report: LivenessReport, now: Moment) {
        self.init()
        (proofs, lastProof) = (report.count, report.lastProof.map { now.text(of: $0) })
        latencyMicroseconds = report.latency.map { Double($0) / 1e3 }
        silentSeconds = report.silence(at: UInt64(clamping: now.monotonic)).map { Double($0) / 1e9 }
        failure = report.failure
    }
}

extension DaemonState.Subsystem {
    init(_ snapshot: Subsystem.Snapshot, now: Moment) {
        self.init()
        (name, queue, waiting) = (snapshot.name, snapshot.queue, snapshot.waiting)
        (step, since) = (snapshot.step ?? "idle", snapshot.since.text)
        stuckSeconds = snapshot.silence(now: now).flatMap { $0 >= Subsystem.patience ? $0 : nil }
    }
}

extension DaemonState.Monitor {
    init(_ monitor: MonitorDescription, now: Moment) {
        let wall = { (monotonic: UInt64) in
            now.later(by: (Double(monotonic) - Double(now.monotonic)) / 1e9).text
        }
        self.init()
        (kind, label, id) = (monitor.kind, monitor.label, Int(clamping: monitor.id))
        (queue, state, createdAt) = (monitor.queue, monitor.state.rawValue, monitor.createdAt)
        (since, lastEvent) = (wall(monitor.since), monitor.lastEvent.map(wall))
        delivered = Int(clamping: monitor.delivered)
        dropped = Int(clamping: monitor.dropped)
        coalesced = Int(clamping: monitor.coalesced)
        rateLimitHits = Int(clamping: monitor.rateLimitHits)
        (errors, lastError) = (Int(clamping: monitor.errors), monitor.lastError)
        handlerMicroseconds = monitor.handlerTime.map {
            DaemonState.Spread(
                min: Double($0.min) / 1e3, median: Double($0.median) / 1e3, p99: Double($0.p99) / 1e3,
                max: Double($0.max) / 1e3)
        }
        runningSeconds = monitor.handlerRunningSince.map { max(0, Double(monitor.describedAt) - Double($0)) / 1e9 }
    }
}
