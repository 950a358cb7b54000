package import FileValues
package import Reporting

/// The daemon's whole state at one moment, as the dump shows it and the command line reads it.
///
/// Written as JSON with `"format": 1`; fields are only ever added. Times are RFC 3339 in UTC, durations are seconds,
/// paths are escaped text (``BytePath/escaped``), so every one is one line and can be turned back into its bytes.
package struct DaemonState: Codable, Sendable {
    package struct Program: Codable, Sendable {
        package var version = ""
        package var pid = 0
        package var started = ""
        package var uptimeSeconds = 0.0
        /// The line that the service manager shows.
        package var status = ""
        /// `starting`, `running`, `reloading`, `stopping`.
        package var phase = ""
        package var configuration: String?
        package var residentBytes = 0
        package var descriptors = 0
        package var threads = 0
        /// Processor time of all its threads since it was started.
        package var processorSeconds: Double?

        package init() {}
    }

    package struct Monitor: Codable, Sendable {
        package var kind = ""
        package var label = ""
        package var queue = ""
        package var state = ""
        package var since = ""
        package var delivered = 0
        package var dropped = 0
        package var coalesced = 0
        package var lastEvent: String?
        package var handlerMicroseconds: Spread?
        package var errors = 0
        package var lastError: String?
        /// Unique in the process's life.
        package var id: Int?
        /// Where it was set up: file and line.
        package var createdAt: String?
        /// How often the rate limit held it back.
        package var rateLimitHits: Int?
        /// For how long its handler has been running; absent while it is not.
        package var runningSeconds: Double?

        package init() {}
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
        package var name = ""
        package var queue = ""
        /// What it is doing; `idle` between two things.
        package var step = ""
        package var since = ""
        package var waiting = 0
        /// Nil while it answers; else for how many seconds it has not.
        package var stuckSeconds: Double?

        package init() {}
    }

    /// One inbox: how it is watched, what is in it, what became of what was.
    package struct Inbox: Codable, Sendable {
        package var name = ""
        package var path = ""
        package var mode = ""
        /// `starting`, `live`, `partly polled`, `polled`, `gone`, `stalled`.
        package var verdict = ""
        /// Why it is gone, or at what it does not answer.
        package var reason: String?
        package var watches = 0
        package var polledDirectories = 0
        /// How it is watched, in full.
        package var coverage: Coverage?
        package var knownFiles = 0
        /// Files that programs are writing; absent if none is.
        package var beingWritten: Int?
        package var counts = Counts()
        package var lastReconciliation: String?
        package var events = 0
        package var overflows = 0
        /// For how long its disk has not answered.
        package var stalledSeconds: Double?
        /// Since when nothing more of it is taken, and by whom; absent while it is not paused.
        package var paused: Pause?

        package init() {}
    }

    /// Who closed an inbox's admission, and when.
    package struct Pause: Codable, Sendable {
        package var since: String
        package var by: String

        package init(since: String, by: String) { (self.since, self.by) = (since, by) }
    }

    /// What of an inbox is watched, polled, unreadable, or gone; what events missed. Fields are nil where they say nothing.
    package struct Coverage: Codable, Sendable {
        package var directories = 0
        /// The file system's name where it reports no changes.
        package var fileSystem: String?
        /// Polling: from the beginning of one comparison to the next, what the last one took, when it ended, and when
        /// the next one is due.
        package var intervalSeconds: Double?
        package var lastSeconds: Double?
        package var last: String?
        package var next: String?
        package var unreadableDirectories = 0
        package var firstUnreadable: String?
        /// Why it is gone, and since when it is so, or live.
        package var gone: String?
        package var since: String?
        /// Comparisons of what is live, what they found that no event had told, and what the last one did.
        package var audits = 0
        package var missed = 0
        package var lastMissed = 0
        package var nextAudit: String?
        /// From the beginning of one of these comparisons to the next.
        package var auditIntervalSeconds: Double?

        package init() {}
    }

    /// What the kernel has too little of for every directory to be watched.
    package struct WatchNeed: Codable, Sendable {
        package var setting = ""
        package var limit: Int?
        package var watched = 0
        package var polled = 0
        package var needed = 0
        /// A line for sysctl(8).
        package var advice = ""

        package init() {}
    }

    /// Whether events come all the way from the kernel: what the cookie in the runtime directory tells.
    package struct Liveness: Codable, Sendable {
        package var proofs = 0
        package var lastProof: String?
        package var latencyMicroseconds: Double?
        /// For how long an event is owed.
        package var silentSeconds: Double?
        /// Why nobody can tell.
        package var failure: String?

        package init() {}
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

        package init() {}
    }

    /// An arrival that has no outcome yet, and what it waits for.
    package struct InHand: Codable, Sendable {
        package var inbox = ""
        package var file = ""
        /// `queued`, `working`, `settling`, `gathering`, `deferred`.
        package var stage = ""
        /// What is being done, or what is waited for.
        package var what = ""
        package var since = ""
        package var firstSeen = ""
        package var until: String?
        package var attempts = 0

        package init() {}
    }

    /// One of the last outcomes.
    package struct Ended: Codable, Sendable {
        package var operation: Int64?
        package var at = ""
        package var inbox = ""
        package var file = ""
        package var outcome = ""
        package var reason = ""
        package var destination: String?
        package var sha256: String?
        package var seconds = 0.0

        package init() {}
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
        package var decoders = 0
        /// `idle`, or what is being done.
        package var step = ""
        package var waiting = 0
        /// Since the start, in photos.
        package var made = 0
        package var failed = 0
        /// Decoders that were started, and those that a photo has cost.
        package var decodersStarted = 0
        package var decodersLost = 0
        /// What of its confinement could not be had; absent where it is whole.
        package var unconfined: String?
        /// Why there is no decoder.
        package var trouble: String?
        /// What was made since the start, by kind.
        package var renditions: [Rendition]?

        package init() {}
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
        package var operation: Int64 = 0
        package var inbox = ""
        package var file = ""
        /// `waiting`, `fetching`; `done`, `refused`, `dropped`.
        package var phase = ""
        package var since = ""
        /// Absent until it was read.
        package var addresses: Int?
        package var arrived = 0
        /// Addresses that failed, and lines that are none.
        package var failed = 0
        /// What it waits for, or what came of it.
        package var what = ""

        package init() {}
    }

    package struct Log: Codable, Sendable {
        package var destination = ""
        package var queued = 0
        package var sent = 0
        package var dropped = 0

        package init() {}
    }

    package var format = 1
    package var at = ""
    package var program = Program()
    package var inboxes: [Inbox] = []
    package var watchNeed: WatchNeed?
    package var liveness: Liveness?
    package var library = ""
    package var libraryFreeBytes: Int?
    /// Absent while no part of the library was read again.
    package var libraryVerified: Verified?
    package var pictures: Pictures?
    package var inHand: [InHand] = []
    /// Absent while no cards are imported.
    package var cards: [Card]?
    package var outcomes: [Ended] = []
    package var problems: [Problem] = []
    package var hooks: [Hook]?
    /// Files of links that are not over, oldest first, then the last that are; absent while they are not taken up.
    package var links: [LinkFile]?
    package var subsystems: [Subsystem] = []
    package var monitors: [Monitor] = []
    package var log = Log()
    /// How many arrivals more are in hand than are listed, where that would be too many for an answer.
    package var inHandOmitted: Int?

    package init() {}
}
