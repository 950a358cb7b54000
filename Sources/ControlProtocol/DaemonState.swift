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
        /// How often the rate limit delayed it.
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
        /// The current step; `idle` between two.
        package var step = ""
        package var since = ""
        package var waiting = 0
        /// For how many seconds it has not answered; nil while it does.
        package var stuckSeconds: Double?

        package init() {}
    }

    /// One inbox: how it is watched, and its files.
    package struct Inbox: Codable, Sendable {
        package var name = ""
        package var path = ""
        package var mode = ""
        /// `starting`, `live`, `partly polled`, `polled`, `gone`, `stalled`.
        package var verdict = ""
        /// Why it is gone, or the step in which it does not answer.
        package var reason: String?
        package var watches = 0
        package var polledDirectories = 0
        /// How it is watched, in full.
        package var coverage: Coverage?
        package var knownFiles = 0
        /// Files that programs are writing; absent if none is.
        package var beingWritten: Int?
        /// Files of no format that is filed, which stay there.
        package var leftAlone: Int?
        package var counts = Counts()
        package var lastReconciliation: String?
        package var events = 0
        package var overflows = 0
        /// For how long its disk has not answered.
        package var stalledSeconds: Double?
        /// Since when it is paused, and by whom; absent while it is not.
        package var paused: Pause?

        package init() {}
    }

    /// Who paused an inbox, and when.
    package struct Pause: Codable, Sendable {
        package var since: String
        package var by: String

        package init(since: String, by: String) { (self.since, self.by) = (since, by) }
    }

    /// How an inbox is watched, and the changes that events missed. Fields that do not apply are nil.
    package struct Coverage: Codable, Sendable {
        package var directories = 0
        /// The file system's name, if that reports no changes.
        package var fileSystem: String?
        /// Polling: the interval between the beginnings of comparisons, the duration and the end of the last one, and when
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
        /// Audits, the changes that they found without an event, and those of the last one.
        package var audits = 0
        package var missed = 0
        package var lastMissed = 0
        package var nextAudit: String?
        /// The interval between audits.
        package var auditIntervalSeconds: Double?

        package init() {}
    }

    /// The kernel's limit that prevents watching every directory.
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

    /// Whether events arrive from the kernel, proven by the cookie in the runtime directory.
    package struct Liveness: Codable, Sendable {
        package var proofs = 0
        package var lastProof: String?
        package var latencyMicroseconds: Double?
        /// For how long the event of the cookie has been missing.
        package var silentSeconds: Double?
        /// Why it is unknown.
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

        package static func += (left: inout Counts, right: Counts) {
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

    /// An arrival that has no outcome yet, and what it waits for.
    package struct InHand: Codable, Sendable {
        package var inbox = ""
        package var file = ""
        /// `queued`, `working`, `settling`, `gathering`, `deferred`.
        package var stage = ""
        /// The current work, or the reason for waiting.
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
        /// The progress; the totals are absent until all is counted.
        package var files = 0
        package var totalFiles: Int?
        package var bytes = 0
        package var totalBytes: Int?
        /// Its files: those that were copied, that were filed before, that were in the inbox, that
        /// were decided on otherwise, that are no photos, and that could not be brought.
        package var copied = 0
        package var known = 0
        package var waiting = 0
        package var decided = 0
        package var leftOut = 0
        package var failed = 0
        /// The result of the last import as text, and its duration.
        package var result: String?
        package var seconds: Double?

        /// One whose import begins.
        package init(place: String, source: String, fileSystem: String, inbox: String, since: String) {
            (self.place, self.source, self.fileSystem) = (place, source, fileSystem)
            (self.inbox, self.since) = (inbox, since)
        }
    }

    /// The progress of verifying the library.
    package struct Verified: Codable, Sendable {
        /// When a part was last verified.
        package var last: String
        /// When all of it was last verified; absent until then.
        package var whole: String?

        package init(last: String, whole: String?) { (self.last, self.whole) = (last, whole) }
    }

    /// The work on renditions; absent while it is off.
    package struct Pictures: Codable, Sendable {
        /// The process of a decoder; absent while none is needed.
        package var decoder: Int?
        /// How many decoders run.
        package var decoders = 0
        /// `idle`, or the current work.
        package var step = ""
        package var waiting = 0
        /// Photos since the start.
        package var made = 0
        package var failed = 0
        /// Decoders that were started, and those that a photo ended.
        package var decodersStarted = 0
        package var decodersLost = 0
        /// The missing parts of the decoder's confinement; absent if it is complete.
        package var unconfined: String?
        /// Why there is no decoder.
        package var trouble: String?
        /// Counts since the start, by kind.
        package var renditions: [Rendition]?

        package init() {}
    }

    /// One kind of rendition, with its counts since the start.
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

        /// `cause` hides it; `address` is that of the daemon that its advice is about.
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

    /// A hook and its progress.
    package struct Hook: Codable, Sendable {
        package var name: String
        /// Its events.
        package var on: [String] = []
        /// `idle`, `running`, `waiting` to try again.
        package var phase = "idle"
        package var since: String
        /// The last operation that it has handled, since the start.
        package var told: Int64?
        /// Files that it has yet to handle, as of the last count.
        package var waiting = 0
        package var runs = 0
        /// Runs that failed in a row.
        package var failures = 0
        /// Events that were skipped since the start.
        package var passedOver = 0
        /// The end, the result and the duration of the last run.
        package var lastEnded: String?
        package var lastResult: String?
        package var lastSeconds: Double?

        package init(name: String, since: String) { (self.name, self.since) = (name, since) }
    }

    /// A file of links, and the progress or the result of its downloads.
    package struct LinkFile: Codable, Sendable {
        /// The operation of its outcome.
        package var operation: Int64 = 0
        package var inbox = ""
        package var file = ""
        /// `waiting`, `fetching`; `done`, `refused`, `dropped`.
        package var phase = ""
        package var since = ""
        /// Absent until it was read.
        package var addresses: Int?
        package var arrived = 0
        /// Addresses that failed, and invalid lines.
        package var failed = 0
        /// The reason for waiting, or the result.
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
    /// Unfinished files of links, oldest first, then the last finished ones; absent while they are not fetched.
    package var links: [LinkFile]?
    package var subsystems: [Subsystem] = []
    package var monitors: [Monitor] = []
    package var log = Log()
    /// The number of arrivals in hand that are not listed, if there are too many for an answer.
    package var inHandOmitted: Int?
    /// Grows since the start when files are released, discarded or taken back, and when metadata was read: changes of the library
    /// that are no outcomes.
    package var changes: Int?

    package init() {}
}
