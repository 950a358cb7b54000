/// What `photoinbox status` tells, as plain values: the daemon fills it, text and JSON are made from it.
package struct StatusReport: Hashable, Sendable {
    /// How an inbox is watched.
    package enum Watch: Hashable, Sendable {
        /// Every folder by events.
        case live
        /// Some folders by polling, every so many seconds.
        case partlyPolled(folders: Int, of: Int, everySeconds: Int64)
        /// All of it by polling.
        case polled(everySeconds: Int64)
        /// The first reconciliation is under way.
        case reading
        case missing
        /// Its disk has not answered for so many seconds.
        case stalled(seconds: Int64)
        case paused
    }

    package struct Inbox: Hashable, Sendable {
        package var name: String
        package var watch: Watch
        /// Files that are still being written.
        package var arriving: Int
        /// Files that are complete and wait to be filed.
        package var waiting: Int
        package var deferred: Int
        /// Seconds since the oldest of them was seen; nil if there is none.
        package var oldest: Int64?

        package init(
            name: String, watch: Watch, arriving: Int = 0, waiting: Int = 0, deferred: Int = 0, oldest: Int64? = nil
        ) {
            self.name = name
            self.watch = watch
            self.arriving = arriving
            self.waiting = waiting
            self.deferred = deferred
            self.oldest = oldest
        }
    }

    package struct Library: Hashable, Sendable {
        package var freeBytes: UInt64
        /// Bytes filed per day, lately; nil while it is too early to tell.
        package var bytesPerDay: UInt64?

        package init(freeBytes: UInt64, bytesPerDay: UInt64? = nil) {
            self.freeBytes = freeBytes
            self.bytesPerDay = bytesPerDay
        }
    }

    package struct Today: Hashable, Sendable {
        package var filed: Int
        package var duplicates: Int
        package var quarantined: Int

        package init(filed: Int, duplicates: Int, quarantined: Int) {
            self.filed = filed
            self.duplicates = duplicates
            self.quarantined = quarantined
        }
    }

    /// The last time the whole library was read and compared.
    package struct Verification: Hashable, Sendable {
        /// Seconds since 1970.
        package var finished: Int64
        package var photos: Int
        package var damaged: Int

        package init(finished: Int64, photos: Int, damaged: Int) {
            self.finished = finished
            self.photos = photos
            self.damaged = damaged
        }
    }

    /// What the daemon does apart from its problems.
    package enum Phase: Hashable, Sendable {
        case starting, running, stopping
    }

    package var version: String
    package var phase: Phase
    /// Seconds since 1970: the moment that the report is about.
    package var now: Int64
    /// Seconds that the daemon has been up.
    package var uptime: Int64
    package var inboxes: [Inbox]
    package var library: Library?
    package var today: Today?
    package var verification: Verification?
    package var problems: ProblemBoard

    package init(
        version: String, phase: Phase = .running, now: Int64, uptime: Int64, inboxes: [Inbox] = [],
        library: Library? = nil, today: Today? = nil, verification: Verification? = nil,
        problems: ProblemBoard = ProblemBoard()
    ) {
        self.version = version
        self.phase = phase
        self.now = now
        self.uptime = uptime
        self.inboxes = inboxes
        self.library = library
        self.today = today
        self.verification = verification
        self.problems = problems
    }

    /// What `status` ends with.
    package var exitStatus: ExitStatus { ExitStatus(worst: problems.worst(at: now)) }
}
