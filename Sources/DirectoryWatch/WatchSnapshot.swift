public import FileValues

/// How well a root is watched.
public enum WatchVerdict: Hashable, Sendable {
    /// It is being opened.
    case starting
    /// The kernel tells of every directory.
    case live
    /// The watches did not suffice (`fs.inotify.max_user_watches` is `limit`, where it can be read): so many directories
    /// are watched, so many listed again and again.
    case partlyPolled(watched: Int, polled: Int, limit: Int?)
    /// Every directory is listed again and again; with the file system's name where that is why: changes there are made
    /// elsewhere and raise no event here.
    case polled(fileSystem: String?)
    /// Its path does not lead to it.
    case gone(WatchNotice.Loss)
}

/// What comparing a root with what was known found.
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

/// What a worker or the engine does, and since when on CLOCK_MONOTONIC in nanoseconds.
public struct WatchStep: Hashable, Sendable {
    /// `idle`, or the step and its path.
    public let name: String
    /// See ``WatchStep``.
    public let since: UInt64
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
    /// Directories that can't be listed.
    public let unreadable: Int
    /// Entries known that are no directories.
    public let knownFiles: Int
    /// Notices given.
    public let notices: Int
    /// Names that wait to be looked at.
    public let waitingLooks: Int
    /// Surveys under way.
    public let surveys: Int
    /// The last reconciliation, if there was one.
    public let lastReconciliation: ReconcileReport?
    /// What its queue does now.
    public let step: WatchStep
}

/// The state of a ``DirectoryWatch``, published after each of its turns; reading it asks no queue.
public struct WatchSnapshot: Hashable, Sendable {
    /// Its label.
    public let label: String
    /// In the order in which they were given.
    public let roots: [RootSnapshot]
    /// Records read from the kernel.
    public let events: Int
    /// Times that the kernel's queue overflowed.
    public let overflows: Int
    /// Records of watches that nobody knew any more.
    public let strayEvents: Int
    /// Watch descriptors in use.
    public let watches: Int
    /// What the engine does now.
    public let step: WatchStep
}
