package import FileValues
package import Reporting

/// The daemon's whole state at one moment, as the dump shows it and the command line reads it.
///
/// Written as JSON with `"format": 1`; fields are only ever added. Times are RFC 3339 in UTC, durations are seconds,
/// paths are escaped text (``BytePath/escaped``), so every one is one line and can be turned back into its bytes.
package struct DaemonState: Codable, Sendable {
    /// The program and its process.
    package struct Program: Codable, Sendable {
        package var version: String
        package var pid: Int
        package var started: String
        package var uptimeSeconds: Double
        /// The line that the service manager shows.
        package var status: String
        /// `starting`, `running`, `reloading`, `stopping`.
        package var phase: String
        package var configuration: String?
        package var residentBytes: Int
        package var descriptors: Int
        package var threads: Int
        /// Processor time of all its threads since it was started.
        package var processorSeconds: Double?

        package init(
            version: String, pid: Int, started: String, uptimeSeconds: Double, status: String, phase: String,
            configuration: String?, residentBytes: Int, descriptors: Int, threads: Int, processorSeconds: Double?
        ) {
            (self.version, self.pid, self.started, self.uptimeSeconds) = (version, pid, started, uptimeSeconds)
            (self.status, self.phase, self.configuration) = (status, phase, configuration)
            (self.residentBytes, self.descriptors, self.threads) = (residentBytes, descriptors, threads)
            self.processorSeconds = processorSeconds
        }
    }

    /// One monitor.
    package struct Monitor: Codable, Sendable {
        package var kind: String
        package var label: String
        package var queue: String
        package var state: String
        package var since: String
        package var delivered: Int
        package var dropped: Int
        package var coalesced: Int
        package var lastEvent: String?
        package var handlerMicroseconds: Spread?
        package var errors: Int
        package var lastError: String?
        /// Unique in the process's life.
        package var id: Int?
        /// Where it was set up: file and line.
        package var createdAt: String?
        /// How often the rate limit held it back.
        package var rateLimitHits: Int?
        /// For how long its handler has been running; absent while it is not.
        package var runningSeconds: Double?

        package init(
            kind: String, label: String, queue: String, state: String, since: String, delivered: Int, dropped: Int,
            coalesced: Int, lastEvent: String?, handlerMicroseconds: Spread?, errors: Int, lastError: String?, id: Int?,
            createdAt: String?, rateLimitHits: Int?, runningSeconds: Double?
        ) {
            (self.kind, self.label, self.queue, self.state, self.since) = (kind, label, queue, state, since)
            (self.delivered, self.dropped, self.coalesced, self.lastEvent) = (delivered, dropped, coalesced, lastEvent)
            (self.handlerMicroseconds, self.errors, self.lastError) = (handlerMicroseconds, errors, lastError)
            (self.id, self.createdAt, self.rateLimitHits) = (id, createdAt, rateLimitHits)
            self.runningSeconds = runningSeconds
        }
    }

    /// Handler times in microseconds.
    package struct Spread: Codable, Sendable {
        package var min: Double
        package var median: Double
        package var p99: Double
        package var max: Double

        package init(min: Double, median: Double, p99: Double, max: Double) {
            (self.min, self.median, self.p99, self.max) = (min, median, p99, max)
        }
    }

    /// A subsystem with a queue of its own.
    package struct Subsystem: Codable, Sendable {
        package var name: String
        package var queue: String
        /// What it is doing; `idle` between two things.
        package var step: String
        package var since: String
        package var waiting: Int
        /// Nil while it answers; else for how many seconds it has not.
        package var stuckSeconds: Double?

        package init(name: String, queue: String, step: String, since: String, waiting: Int, stuckSeconds: Double?) {
            (self.name, self.queue, self.step, self.since, self.waiting) = (name, queue, step, since, waiting)
            self.stuckSeconds = stuckSeconds
        }
    }

    /// One inbox: how it is watched, what is in it, what became of what was.
    package struct Inbox: Codable, Sendable {
        package var name: String
        package var path: String
        package var mode: String
        /// `starting`, `live`, `partly polled`, `polled`, `gone`, `stalled`.
        package var verdict: String
        /// Why it is gone, or at what it does not answer.
        package var reason: String?
        package var watches: Int
        package var polledDirectories: Int
        /// How it is watched, in full.
        package var coverage: Coverage?
        package var knownFiles: Int
        /// Files that programs are writing; absent if none is.
        package var beingWritten: Int?
        package var counts: Counts
        package var lastReconciliation: String?
        package var events: Int
        package var overflows: Int
        /// For how long its disk has not answered.
        package var stalledSeconds: Double?
        /// Since when nothing more of it is taken, and by whom; absent while it is not paused.
        package var paused: Pause?

        package init(
            name: String, path: String, mode: String, verdict: String, reason: String? = nil, watches: Int,
            polledDirectories: Int, coverage: Coverage? = nil, knownFiles: Int, beingWritten: Int? = nil,
            counts: Counts, lastReconciliation: String? = nil, events: Int, overflows: Int,
            stalledSeconds: Double? = nil, paused: Pause? = nil
        ) {
            (self.name, self.path, self.mode, self.verdict, self.reason) = (name, path, mode, verdict, reason)
            (self.watches, self.polledDirectories, self.coverage) = (watches, polledDirectories, coverage)
            (self.knownFiles, self.beingWritten, self.counts) = (knownFiles, beingWritten, counts)
            (self.lastReconciliation, self.events, self.overflows) = (lastReconciliation, events, overflows)
            (self.stalledSeconds, self.paused) = (stalledSeconds, paused)
        }
    }

    /// Who closed an inbox's admission, and when.
    package struct Pause: Codable, Sendable {
        package var since: String
        package var by: String

        package init(since: String, by: String) { (self.since, self.by) = (since, by) }
    }

    /// What of an inbox is watched, polled, unreadable, or gone; what events missed. Fields are nil where they say nothing.
    package struct Coverage: Codable, Sendable {
        package var directories: Int
        /// The file system's name where it reports no changes.
        package var fileSystem: String?
        /// Polling: from the beginning of one comparison to the next, what the last one took, when it ended, and when
        /// the next one is due.
        package var intervalSeconds: Double?
        package var lastSeconds: Double?
        package var last: String?
        package var next: String?
        package var unreadableDirectories: Int
        package var firstUnreadable: String?
        /// Why it is gone, and since when it is so, or live.
        package var gone: String?
        package var since: String?
        /// Comparisons of what is live, what they found that no event had told, and what the last one did.
        package var audits: Int
        package var missed: Int
        package var lastMissed: Int
        package var nextAudit: String?
        /// From the beginning of one of these comparisons to the next.
        package var auditIntervalSeconds: Double?

        package init(
            directories: Int, fileSystem: String?, intervalSeconds: Double?, lastSeconds: Double?, last: String?,
            next: String?, unreadableDirectories: Int, firstUnreadable: String?, gone: String?, since: String?,
            audits: Int, missed: Int, lastMissed: Int, nextAudit: String?, auditIntervalSeconds: Double?
        ) {
            (self.directories, self.fileSystem, self.intervalSeconds) = (directories, fileSystem, intervalSeconds)
            (self.lastSeconds, self.last, self.next) = (lastSeconds, last, next)
            (self.unreadableDirectories, self.firstUnreadable) = (unreadableDirectories, firstUnreadable)
            (self.gone, self.since, self.audits, self.missed) = (gone, since, audits, missed)
            (self.lastMissed, self.nextAudit, self.auditIntervalSeconds) = (lastMissed, nextAudit, auditIntervalSeconds)
        }
    }

    /// What the kernel has too little of for every directory to be watched.
    package struct WatchNeed: Codable, Sendable {
        package var setting: String
        package var limit: Int?
        package var watched: Int
        package var polled: Int
        package var needed: Int
        /// A line for sysctl(8).
        package var advice: String

        package init(setting: String, limit: Int?, watched: Int, polled: Int, needed: Int, advice: String) {
            (self.setting, self.limit, self.watched, self.polled) = (setting, limit, watched, polled)
            (self.needed, self.advice) = (needed, advice)
        }
    }

    /// Whether events come all the way from the kernel: what the cookie in the runtime directory tells.
    package struct Liveness: Codable, Sendable {
        package var proofs: Int
        package var lastProof: String?
        package var latencyMicroseconds: Double?
        /// For how long an event is owed.
        package var silentSeconds: Double?
        /// Why nobody can tell.
        package var failure: String?

        package init(
            proofs: Int, lastProof: String?, latencyMicroseconds: Double?, silentSeconds: Double?, failure: String?
        ) {
            (self.proofs, self.lastProof, self.latencyMicroseconds) = (proofs, lastProof, latencyMicroseconds)
            (self.silentSeconds, self.failure) = (silentSeconds, failure)
        }
    }

    /// seen = filed + duplicate + quarantined + ignored + withdrawn + deferred + inHand, always.
    package struct Counts: Codable, Sendable, Equatable {
        package var seen = 0
        package var filed = 0
        package var duplicate = 0
        package var quarantined = 0
        package var ignored = 0
        package var withdrawn = 0
        package var deferred = 0
        package var inHand = 0

        package init(
            seen: Int = 0, filed: Int = 0, duplicate: Int = 0, quarantined: Int = 0, ignored: Int = 0,
            withdrawn: Int = 0, deferred: Int = 0, inHand: Int = 0
        ) {
            (self.seen, self.filed, self.duplicate, self.quarantined) = (seen, filed, duplicate, quarantined)
            (self.ignored, self.withdrawn, self.deferred, self.inHand) = (ignored, withdrawn, deferred, inHand)
        }
    }

    /// An arrival that has no outcome yet, and what it waits for.
    package struct InHand: Codable, Sendable {
        package var inbox: String
        package var file: String
        /// `queued`, `working`, `settling`, `gathering`, `deferred`.
        package var stage: String
        /// What is being done, or what is waited for.
        package var what: String
        package var since: String
        package var firstSeen: String
        package var until: String?
        package var attempts: Int

        package init(
            inbox: String, file: String, stage: String, what: String, since: String, firstSeen: String, until: String?,
            attempts: Int
        ) {
            (self.inbox, self.file, self.stage, self.what, self.since) = (inbox, file, stage, what, since)
            (self.firstSeen, self.until, self.attempts) = (firstSeen, until, attempts)
        }
    }

    /// One of the last outcomes.
    package struct Ended: Codable, Sendable {
        package var operation: Int64?
        package var at: String
        package var inbox: String
        package var file: String
        package var outcome: String
        package var reason: String
        package var destination: String?
        package var sha256: String?
        package var seconds: Double

        package init(
            operation: Int64?, at: String, inbox: String, file: String, outcome: String, reason: String,
            destination: String?, sha256: String?, seconds: Double
        ) {
            (self.operation, self.at, self.inbox, self.file, self.outcome) = (operation, at, inbox, file, outcome)
            (self.reason, self.destination, self.sha256, self.seconds) = (reason, destination, sha256, seconds)
        }
    }

    /// A card that was mounted, or was and is gone.
    package struct Card: Codable, Sendable {
        /// Where it is mounted.
        package var place: String
        /// What is mounted there, and its type: `/dev/sdb1`, `vfat`.
        package var source: String
        package var fileSystem: String
        package var inbox: String
        /// Absent once it is gone.
        package var mounted: Bool? = true
        /// `waiting`, `importing`, `imported`, `incomplete`, `stopped`.
        package var phase = "importing"
        package var since: String
        /// How far it is; the totals are absent until all is counted.
        package var files = 0
        package var totalFiles: Int?
        package var bytes = 0
        package var totalBytes: Int?
        /// What became of its files: those that are in the inbox now, that were filed before, that lay in the inbox, that
        /// were decided on otherwise, that are no photos, and that could not be brought.
        package var copied = 0
        package var known = 0
        package var waiting = 0
        package var decided = 0
        package var leftOut = 0
        package var failed = 0
        /// How the last import ended, in words, and how long it took.
        package var result: String?
        package var seconds: Double?

        /// One whose import begins.
        package init(place: String, source: String, fileSystem: String, inbox: String, since: String) {
            (self.place, self.source, self.fileSystem) = (place, source, fileSystem)
            (self.inbox, self.since) = (inbox, since)
        }
    }

    /// How far the daemon has read the library again, and compared it with what was filed.
    package struct Verified: Codable, Sendable {
        /// When it last read a part.
        package var last: String
        /// When it had last read all of it; absent until then.
        package var whole: String?

        package init(last: String, whole: String?) { (self.last, self.whole) = (last, whole) }
    }

    /// How the making of small pictures goes; absent while it is off.
    package struct Pictures: Codable, Sendable {
        /// The process of a decoder; absent while none is needed.
        package var decoder: Int?
        /// How many decoders run.
        package var decoders: Int
        /// `idle`, or what is being done.
        package var step: String
        package var waiting: Int
        /// Since the start, in photos.
        package var made: Int
        package var failed: Int
        /// Decoders that were started, and those that a photo has cost.
        package var decodersStarted: Int
        package var decodersLost: Int
        /// What of its confinement could not be had; absent where it is whole.
        package var unconfined: String?
        /// Why there is no decoder.
        package var trouble: String?
        /// What was made since the start, by kind.
        package var renditions: [Rendition]?

        package init(
            decoder: Int?, decoders: Int, step: String, waiting: Int, made: Int, failed: Int, decodersStarted: Int,
            decodersLost: Int, unconfined: String?, trouble: String?, renditions: [Rendition]?
        ) {
            (self.decoder, self.decoders, self.step, self.waiting, self.made) = (decoder, decoders, step, waiting, made)
            (self.failed, self.decodersStarted, self.decodersLost) = (failed, decodersStarted, decodersLost)
            (self.unconfined, self.trouble, self.renditions) = (unconfined, trouble, renditions)
        }
    }

    /// One kind of rendition: how many were made since the start, and how many could not be.
    package struct Rendition: Codable, Sendable {
        /// `thumbnail`, `preview`, `hash`, `tilt-shift`, `googly`.
        package var kind: String
        package var made: Int
        package var failed: Int

        package init(kind: String, made: Int, failed: Int) {
            (self.kind, self.made, self.failed) = (kind, made, failed)
        }
    }

    /// A row of the problem table that is raised.
    package struct Problem: Codable, Sendable {
        package var code: String
        package var severity: String
        package var subject: String?
        package var what: String
        package var effect: String
        package var action: String
        package var see: String?
        package var since: String
        package var hiddenBy: String?

        /// `problem`, which is not shown where another explains it; `address` is the daemon's that its advice is about.
        package init(
            _ problem: Reporting.Problem, hiddenBy cause: ProblemCode?, clock: LocalClock, of address: DaemonAddress
        ) {
            (code, severity) = (problem.code.rawValue, problem.severity.rawValue)
            subject = problem.subject.isEmpty ? nil : problem.subject
            (what, effect) = (problem.title(clock: clock), problem.effect(clock: clock))
            action = address.completing(problem.action(clock: clock))
            see = problem.code.row.see
            since = FileTime(seconds: problem.since, nanoseconds: 0).rfc3339
            hiddenBy = cause?.rawValue
        }
    }

    /// A hook: what it does, and how far it is.
    package struct Hook: Codable, Sendable {
        package var name: String
        /// Of what it is told.
        package var on: [String] = []
        /// `idle`, `running`, `waiting` to try again.
        package var phase = "idle"
        package var since: String
        /// Up to which operation it was told, since the start.
        package var told: Int64?
        /// Files of which it had still to be told when they were last counted.
        package var waiting = 0
        package var runs = 0
        /// Runs that failed in a row.
        package var failures = 0
        /// Events of which it is not told again, since the start.
        package var passedOver = 0
        /// When and how the last run ended, and how long it took.
        package var lastEnded: String?
        package var lastResult: String?
        package var lastSeconds: Double?

        package init(name: String, since: String) { (self.name, self.since) = (name, since) }
    }

    /// A file of links: how far its downloads are, or how they ended.
    package struct LinkFile: Codable, Sendable {
        /// The operation by which it was told.
        package var operation: Int64
        package var inbox: String
        package var file: String
        /// `waiting`, `fetching`; `done`, `refused`, `dropped`.
        package var phase: String
        package var since: String
        /// Absent until it was read.
        package var addresses: Int?
        package var arrived: Int
        /// Addresses that failed, and lines that are none.
        package var failed: Int
        /// What it waits for, or what came of it.
        package var what: String

        package init(
            operation: Int64, inbox: String, file: String, phase: String, since: String, addresses: Int? = nil,
            arrived: Int = 0, failed: Int = 0, what: String
        ) {
            (self.operation, self.inbox, self.file, self.phase) = (operation, inbox, file, phase)
            (self.since, self.addresses, self.arrived) = (since, addresses, arrived)
            (self.failed, self.what) = (failed, what)
        }
    }

    /// The log's own state.
    package struct Log: Codable, Sendable {
        package var destination: String
        package var queued: Int
        package var sent: Int
        package var dropped: Int

        package init(destination: String, queued: Int, sent: Int, dropped: Int) {
            (self.destination, self.queued, self.sent, self.dropped) = (destination, queued, sent, dropped)
        }
    }

    package var format = 1
    package var at: String
    package var program: Program
    package var inboxes: [Inbox]
    package var watchNeed: WatchNeed?
    package var liveness: Liveness?
    package var library: String
    package var libraryFreeBytes: Int?
    /// Absent while no part of the library was read again.
    package var libraryVerified: Verified?
    package var pictures: Pictures?
    package var inHand: [InHand]
    /// Absent while no cards are imported.
    package var cards: [Card]?
    package var outcomes: [Ended]
    package var problems: [Problem]
    package var hooks: [Hook]?
    /// Files of links that are not over, oldest first, then the last that are; absent while they are not taken up.
    package var links: [LinkFile]?
    package var subsystems: [Subsystem]
    package var monitors: [Monitor]
    package var log: Log
    /// How many arrivals more are in hand than are listed, where that would be too many for an answer.
    package var inHandOmitted: Int?

    package init(
        at: String, program: Program, inboxes: [Inbox], watchNeed: WatchNeed?, liveness: Liveness?, library: String,
        libraryFreeBytes: Int?, libraryVerified: Verified?, inHand: [InHand], outcomes: [Ended], problems: [Problem],
        subsystems: [Subsystem],
        monitors: [Monitor], log: Log
    ) {
        (self.at, self.program, self.inboxes, self.watchNeed) = (at, program, inboxes, watchNeed)
        (self.liveness, self.library, self.libraryFreeBytes) = (liveness, library, libraryFreeBytes)
        (self.libraryVerified, self.inHand) = (libraryVerified, inHand)
        (self.outcomes, self.problems) = (outcomes, problems)
        (self.subsystems, self.monitors, self.log) = (subsystems, monitors, log)
    }
}
