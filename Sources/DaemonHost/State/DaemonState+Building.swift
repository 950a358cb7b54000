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
        self.init(
            seen: counts.seen, filed: counts.ended[.filed] ?? 0, duplicate: counts.ended[.duplicate] ?? 0,
            quarantined: counts.ended[.quarantined] ?? 0, ignored: counts.ended[.ignored] ?? 0,
            withdrawn: counts.ended[.withdrawn] ?? 0, deferred: counts.deferred, inHand: counts.inHand)
    }

    static func += (left: inout Self, right: Self) {
        left.seen += right.seen
        left.filed += right.filed
        left.duplicate += right.duplicate
        left.quarantined += right.quarantined
        left.ignored += right.ignored
        left.withdrawn += right.withdrawn
        left.deferred += right.deferred
        left.inHand += right.inHand
    }
}

extension DaemonState.InHand {
    /// `set` is what its set waits for, if it does; `isPaused`, that its inbox is paused.
    init(_ arrival: Arrival, set: @autoclosure () -> String, isPaused: Bool) {
        let what: String =
            switch arrival.stage {
            case .queued: isPaused ? "waits: its inbox is paused" : "waits for its turn"
            case .working(let step): step
            case .settling(let reason, _), .deferred(let reason, _, _): reason
            case .gathering: set()
            }
        self.init(
            inbox: arrival.key.inbox, file: arrival.key.path.escaped, stage: arrival.stage.name, what: what,
            since: arrival.since.text, firstSeen: arrival.firstSeen.text, until: arrival.waitsUntil?.text,
            attempts: arrival.attempts)
    }
}

extension DaemonState.Ended {
    init(_ ended: EndedArrival) {
        self.init(
            operation: ended.operation, at: ended.ended.text, inbox: ended.key.inbox, file: ended.key.path.escaped,
            outcome: ended.outcome.rawValue, reason: ended.reason, destination: ended.destination?.escaped,
            sha256: ended.sha256, seconds: ended.ended.seconds(since: ended.firstSeen))
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
        let (verdict, polled): (String, Int) =
            switch root?.verdict {
            case _ where stalled != nil: ("stalled", root?.polled ?? 0)
            case nil, .starting: ("starting", 0)
            case .live: ("live", 0)
            case .partlyPolled: ("partly polled", root?.polled ?? 0)
            case .polled: ("polled", root?.polled ?? 0)
            case .gone: ("gone", 0)
            }
        let reason: String? =
            switch root?.verdict {
            case _ where stalled != nil: stalled.map { "no answer while \($0.step)" }
            case .gone(.absent(let error)): "\(error)"
            case .gone(.replaced): "another directory lies there"
            default: nil
            }
        self.init(
            name: inbox.name, path: inbox.path.escaped, mode: inbox.mode.rawValue, verdict: verdict, reason: reason,
            watches: root?.watches ?? 0, polledDirectories: polled,
            coverage: root.map { DaemonState.Coverage($0, now: now) }, knownFiles: root?.knownFiles ?? 0,
            beingWritten: root.flatMap { $0.unfinishedFiles == 0 ? nil : $0.unfinishedFiles }, counts: counts,
            lastReconciliation: root?.lastReconciliation?.ended.rfc3339, events: root?.notices ?? 0,
            overflows: overflows, stalledSeconds: stalled?.stuckSeconds,
            paused: paused.map { DaemonState.Pause(since: $0.since.rfc3339, by: $0.by.words) })
    }
}

extension Moment {
    /// RFC 3339 of a moment of CLOCK_MONOTONIC, given that this one is now.
    func text(of monotonic: UInt64) -> String { later(by: (Double(monotonic) - Double(self.monotonic)) / 1e9).text }
}

extension DaemonState.Coverage {
    init(_ root: RootSnapshot, now: Moment) {
        var (fileSystem, gone): (String?, String?)
        switch root.verdict {
        case .polled(let name): fileSystem = name
        case .gone(.absent(let error)): gone = "\(error)"
        case .gone(.replaced): gone = "another directory is there"
        case .starting, .live, .partlyPolled: break
        }
        self.init(
            directories: root.directories, fileSystem: fileSystem,
            intervalSeconds: root.polling.map { Double($0.interval) / 1e9 },
            lastSeconds: root.polling.flatMap { $0.last == nil ? nil : Double($0.cost) / 1e9 },
            last: root.polling?.last.map { now.text(of: $0) }, next: root.polling.map { now.text(of: $0.next) },
            unreadableDirectories: root.unreadable, firstUnreadable: root.firstUnreadable?.path.escaped, gone: gone,
            since: root.since == 0 ? nil : now.text(of: root.since), audits: root.audit.count,
            missed: root.audit.missed, lastMissed: root.audit.lastMissed,
            nextAudit: root.audit.pace.map { now.text(of: $0.next) },
            auditIntervalSeconds: root.audit.pace.map { Double($0.interval) / 1e9 })
    }
}

extension DaemonState.WatchNeed {
    init(_ need: WatchNeed) {
        self.init(
            setting: need.setting, limit: need.limit?.value, watched: need.used, polled: need.polled,
            needed: need.needed, advice: need.assignment)
    }
}

extension DaemonState.Liveness {
    init(_ report: LivenessReport, now: Moment) {
        self.init(
            proofs: report.count, lastProof: report.lastProof.map { now.text(of: $0) },
            latencyMicroseconds: report.latency.map { Double($0) / 1e3 },
            silentSeconds: report.silence(at: UInt64(clamping: now.monotonic)).map { Double($0) / 1e9 },
            failure: report.failure)
    }
}

extension DaemonState.Subsystem {
    init(_ snapshot: Subsystem.Snapshot, now: Moment) {
        let silence = snapshot.silence(now: now).flatMap { $0 >= Subsystem.patience ? $0 : nil }
        self.init(
            name: snapshot.name, queue: snapshot.queue, step: snapshot.step ?? "idle", since: snapshot.since.text,
            waiting: snapshot.waiting, stuckSeconds: silence)
    }
}

extension DaemonState.Monitor {
    init(_ monitor: MonitorDescription, now: Moment) {
        let wall = { (monotonic: UInt64) in
            now.later(by: (Double(monotonic) - Double(now.monotonic)) / 1e9).text
        }
        self.init(
            kind: monitor.kind, label: monitor.label, queue: monitor.queue, state: monitor.state.rawValue,
            since: wall(monitor.since), delivered: Int(clamping: monitor.delivered),
            dropped: Int(clamping: monitor.dropped), coalesced: Int(clamping: monitor.coalesced),
            lastEvent: monitor.lastEvent.map(wall),
            handlerMicroseconds: monitor.handlerTime.map {
                DaemonState.Spread(
                    min: Double($0.min) / 1e3, median: Double($0.median) / 1e3, p99: Double($0.p99) / 1e3,
                    max: Double($0.max) / 1e3)
            },
            errors: Int(clamping: monitor.errors), lastError: monitor.lastError, id: Int(clamping: monitor.id),
            createdAt: monitor.createdAt, rateLimitHits: Int(clamping: monitor.rateLimitHits),
            runningSeconds: monitor.handlerRunningSince.map {
                max(0, Double(monitor.describedAt) - Double($0)) / 1e9
            })
    }
}
