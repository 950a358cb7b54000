import FileValues

/// The watches on the roots' paths: which roots' paths may lead elsewhere after a record of one of them. A value without
/// I/O.
///
/// The kernel has one watch per inode, so a watch may serve the paths of several roots, and be a tree's as well, where a
/// root's path leads through another root. The table therefore returns the watches that no path needs any more, and leaves
/// it to the caller to remove those that no tree has.
struct RootPathTable {
    private var paths: [Int: RootPath] = [:]
    private var users: [Int32: Set<Int>] = [:]
    /// Roots whose paths are being traced: the results may be older than records that come meanwhile.
    private var tracing: [Int: CoalescedRequest] = [:]
    /// How often a root's path was traced again at once.
    private var repeats: [Int: Int] = [:]
    /// Watches whose records came while a path was being traced.
    private var recordedMeanwhile: Set<Int32> = []
    /// Whether they were too many to be kept.
    private var hasDroppedRecords = false
    /// Whether any path ends too early.
    private var isAnyMissing = false

    /// More watches are not kept while a path is being traced.
    static let meanwhileLimit = 4096

    /// A path that changes more often than this is not traced again at once, but on the next tick.
    private static let maxRepeats = 8

    /// Whether a record about this watch's own inode has to be applied.
    func needsRecords(of watch: Int32) -> Bool { !tracing.isEmpty || users[watch] != nil }

    /// Whether records of names in directories have to be applied, too: only while some path ends too early.
    var needsNames: Bool { !tracing.isEmpty || isAnyMissing }

    /// Whether a path leads through this watch's inode.
    func uses(_ watch: Int32) -> Bool { users[watch] != nil }

    /// How many watches are on paths.
    var count: Int { users.count }

    /// The path of a root as it was traced last; nil before.
    func path(of root: Int) -> RootPath? { paths[root] }

    /// Begins to trace a root's path. False if it is being traced, which is repeated afterwards.
    @discardableResult
    mutating func beginTrace(of root: Int) -> Bool { tracing[root, default: .idle].begin() }

    /// Replaces a root's path by the one just traced. Returns whether it has to be traced once more, because records came
    /// meanwhile, and the watches that no path needs any more.
    mutating func endTrace(of root: Int, _ path: RootPath) -> (isStale: Bool, released: [Int32]) {
        var isStale = tracing.removeValue(forKey: root) == .stale
        let before = paths.updateValue(path, forKey: root)
        for watch in before?.watches ?? [] { removeUser(root, of: watch) }
        for watch in path.watches { users[watch, default: []].insert(root) }
        isAnyMissing = paths.values.contains { $0.missing != nil }
        isStale = isStale || hasDroppedRecords || !path.watches.isDisjoint(with: recordedMeanwhile)
        if tracing.isEmpty {
            recordedMeanwhile = []
            hasDroppedRecords = false
        }
        var released = (before?.watches ?? []).union(path.abandoned).filter { users[$0] == nil }
        // The missing name exists now. A busy directory would go on reporting every name in it, so its watch is released,
        // upon which the paths that still lead through it are traced again and set one for its own moves alone.
        if let missing = before?.missing?.watch, users[missing] != nil, !isMissingIn(missing) {
            released.insert(missing)
        }
        let count = isStale ? repeats[root, default: 0] + 1 : 0
        isStale = isStale && count < Self.maxRepeats
        repeats[root] = isStale ? count : nil
        return (isStale, released.sorted())
    }

    /// Applies a record about a watched inode itself, or a name in it. Returns the roots whose paths may lead elsewhere.
    mutating func apply(watch: Int32, mask: InotifyMask, name: BytePath) -> [Int] {
        if !tracing.isEmpty {
            recordedMeanwhile.insert(watch)
            if recordedMeanwhile.count > Self.meanwhileLimit {
                recordedMeanwhile = []
                hasDroppedRecords = true
            }
        }
        guard let roots = users[watch] else { return [] }
        if mask.contains(.ignored) {
            users[watch] = nil
            for root in roots {
                paths[root]?.watches.remove(watch)
                if paths[root]?.missing?.watch == watch { paths[root]?.missing = nil }
            }
            return roots.sorted()
        }
        if name.isEmpty { return roots.sorted() }
        if mask.isDisjoint(with: [.created, .movedTo]) { return [] }
        return roots.filter { paths[$0]?.missing == RootPath.MissingName(watch: watch, name: name) }.sorted()
    }

    /// Whether any path ends too early in this watch's directory.
    private func isMissingIn(_ watch: Int32) -> Bool {
        users[watch]?.contains { paths[$0]?.missing?.watch == watch } ?? false
    }

    private mutating func removeUser(_ root: Int, of watch: Int32) {
        users[watch]?.remove(root)
        if users[watch]?.isEmpty ?? false { users[watch] = nil }
    }
}
