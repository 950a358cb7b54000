public import FileValues
public import SystemMonitor

/// A directory tree to be watched.
public struct WatchRoot: Sendable {
    /// Names it in notices and snapshots.
    public let id: String
    /// Where it is; symbolic links in this path alone are followed.
    public let path: BytePath
    /// Where its file work is done: opening, listing, adding watches. Of no other root, so that one that does not
    /// answer holds up nobody. If it is the watch's own queue, files are reported without two changes of threads, and a
    /// root that does not answer holds up the watch.
    public let queue: MonitorQueue
    /// Whether an entry, by its path relative to the root and its kind, is left out before it costs a watch or a look.
    /// Called on `queue`. Must give the same answer each time. Nil leaves nothing out, and costs nothing.
    public let exclude: (@Sendable (BytePath, FileKind) -> Bool)?

    /// Whether the process has a handler for SIGIO, so that files may be asked for leases; where it blocks or ignores the
    /// signal, that is seen.
    var handlesSIGIO = false

    /// A root; without a rule nothing is left out.
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
