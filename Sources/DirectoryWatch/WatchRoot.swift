public import FileValues
public import SystemMonitor

/// A directory tree to be watched.
public struct WatchRoot: Sendable {
    /// Names it in notices and snapshots.
    public let id: String
    /// Where it is; symbolic links in this path alone are followed.
    public let path: BytePath
    /// Where its file work is done: opening, listing, adding watches. Of no other root, so that one that does not
    /// answer delays no other. If it is the watch's own queue, files are reported without two changes of threads, and a root
    /// that does not answer delays the watch.
    public let queue: MonitorQueue
    /// Whether an entry, by its path relative to the root and its kind, is excluded before it costs a watch or a lookup.
    /// Called on `queue`. Must return the same each time. Nil excludes nothing, and costs nothing.
    public let exclude: (@Sendable (BytePath, FileKind) -> Bool)?

    /// Whether the process has a handler for SIGIO, so that leases may be requested; that it blocks or ignores the
    /// signal need not be said.
    var handlesSIGIO = false

    /// A root; without a rule nothing is excluded.
    public init(
        id: String, path: BytePath, queue: MonitorQueue,
        exclude: (@Sendable (BytePath, FileKind) -> Bool)? = nil
    ) {
        self.id = id
        self.path = path
        self.queue = queue
        self.exclude = exclude
    }
}
