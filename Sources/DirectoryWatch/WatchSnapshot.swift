public import FileValues
public import SystemPackage

/// How well a root is watched.
public enum WatchVerdict: Hashable, Sendable {
    /// It is being opened.
    case starting
    /// Every directory has a watch.
    case live
    /// The watches did not suffice (`fs.inotify.max_user_watches` is `limit`, where it can be read): so many directories
    /// are watched, so many listed again and again.
    case partlyPolled(watched: Int, polled: Int, limit: Int?)
    /// Every directory is listed again and again; with the file system's name where that is why: changes there are made
    /// elsewhere and raise no event here.
    case polled(fileSystem: String?)
    /// Its path does not lead to it, since ``RootSnapshot/since``.
    case gone(WatchNotice.Loss)
}

/// The result of comparing a root with the last reports.
public struct ReconcileReport: Hashable, Sendable {
    /// The root's identifier.
    public let root: String
    /// False if the root is gone: nothing was compared.
    public let isComplete: Bool
    /// Notices of finished files, of vanished entries and of renames while it ran.
    public let found: Int
    /// See ``found``.
    public let vanished: Int
    /// See ``found``.
    public let renamed: Int
    /// Directories and files known at its end.
    public let directories: Int
    /// See ``directories``.
    public let files: Int
    /// Nanoseconds from asking to the end.
    public let duration: UInt64
    /// When it ended, on the wall clock.
    public let ended: FileTime
}

/// The present step of a worker or the engine, and when it began, on CLOCK_MONOTONIC in nanoseconds.
public struct WatchStep: Hashable, Sendable {
    /// `idle`, or the step and its path.
    public let name: String
    /// See ``WatchStep``.
    public let since: UInt64
}

/// The interval of polls or audits; times are nanoseconds of CLOCK_MONOTONIC.
public struct PaceReport: Hashable, Sendable {
    /// From the beginning of one comparison to the next, in nanoseconds.
    public let interval: UInt64
    /// When the last one ended; nil if there was none.
    public let last: UInt64?
    /// When the next one is due: on the first tick after that.
    public let next: UInt64
    /// How long the last one took, in nanoseconds.
    public let cost: UInt64

    init(_ pace: PollPace) {
        interval = pace.interval
        last = pace.ended
        next = pace.next
        cost = pace.cost
    }
}

/// The changes that audits of a live root found and events had missed.
public struct AuditReport: Hashable, Sendable {
    /// Audits: all comparisons but a root's first and those with an overflow.
    public let count: Int
    /// The changes that all of them found.
    public let missed: Int
    /// The changes that the last one found.
    public let lastMissed: Int
    /// When the next one comes by itself; nil if none does.
    public let pace: PaceReport?
}

/// A directory that can't be listed.
public struct UnreadableDirectory: Hashable, Sendable {
    /// Relative to the root.
    public let path: BytePath
    /// Why, as errno(3) has it.
    public let reason: Errno
}

/// The state of one root.
public struct RootSnapshot: Hashable, Sendable {
    /// Its identifier.
    public let id: String
    /// Its path.
    public let path: BytePath
    /// How well it is watched.
    public let verdict: WatchVerdict
    /// Directories with a watch.
    public let watches: Int
    /// Directories known.
    public let directories: Int
    /// Directories that are listed again and again; all of them where events come from this machine alone.
    public let polled: Int
    /// When they are; nil if there are none, nor unreadable ones.
    public let polling: PaceReport?
    /// The changes that events missed.
    public let audit: AuditReport
    /// When it began to be live, or was lost, on CLOCK_MONOTONIC in nanoseconds; 0 while it is being opened.
    public let since: UInt64
    /// Directories that can't be listed. They are tried again at the pace of ``polling``.
    public let unreadable: Int
    /// One of them, and the error of the last one.
    public let firstUnreadable: UnreadableDirectory?
    /// Entries known that are no directories.
    public let knownFiles: Int
    /// Those of them that were made and not closed yet: programs are writing them.
    public let unfinishedFiles: Int
    /// Those of them that were acknowledged as left alone.
    public let leftAlone: Int
    /// Notices given.
    public let notices: Int
    /// Names that wait to be looked up.
    public let waitingLookups: Int
    /// Surveys under way.
    public let surveys: Int
    /// The last reconciliation, if there was one.
    public let lastReconciliation: ReconcileReport?
    /// The present step of its queue.
    public internal(set) var step: WatchStep
}

/// The state of a ``DirectoryWatch`` after its last turn; made without waiting for a queue.
public struct WatchSnapshot: Hashable, Sendable {
    /// Its label.
    public let label: String
    /// In the order in which they were given.
    public let roots: [RootSnapshot]
    /// Records read from the kernel.
    public let events: Int
    /// Times that the kernel's queue overflowed.
    public let overflows: Int
    /// Records of watches that no directory had any more.
    public let strayEvents: Int
    /// Watch descriptors in use.
    public let watches: Int
    /// The resource that is missing for watching every directory; nil if none is.
    public let need: WatchNeed?
    /// Whether events arrive; nil without a cookie.
    public let liveness: LivenessReport?
    /// The present step of the engine.
    public let step: WatchStep
}
