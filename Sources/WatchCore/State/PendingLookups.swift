/// The names of one root that wait for a lookup, and those of the lookup under way.
struct PendingLookups {
    private var waiting = DirtyNames()
    /// The names that were requested, with their hints.
    private(set) var underWay: DirtyNames?
    /// How many lookups are complete.
    private(set) var completed: UInt64 = 0
    /// Whether events of directories came since the last lookup.
    var mayHaveMoved = false
    /// Directories with names whose lookup failed (EIO, ESTALE …).
    private var failed: Set<NodeID> = []

    var count: Int { waiting.count }
    @inline(__always)
    var isEmpty: Bool { waiting.isEmpty }

    /// The hints of a name that waits for a lookup.
    @inline(__always)
    subscript(_ directory: NodeID, _ name: NameID) -> Hints? { waiting[directory, name] }

    /// Whether a name waits for a lookup, or is being looked up.
    @inline(__always)
    func contains(_ directory: NodeID, _ name: NameID) -> Bool {
        waiting[directory, name] != nil || underWay?[directory, name] != nil
    }

    /// How many lookups are complete once all are that are pending now.
    @inline(__always)
    var completedOncePending: UInt64 { completed + (underWay == nil ? 0 : 1) + (waiting.isEmpty ? 0 : 1) }

    mutating func add(_ directory: NodeID, _ name: NameID, _ hints: Hints) { waiting.add(directory, name, hints) }

    /// Adds hints that are older than those that the name has.
    mutating func addEarlier(_ directory: NodeID, _ name: NameID, _ hints: Hints) {
        waiting.addEarlier(directory, name, hints)
    }

    /// Begins a lookup of all names but those in directories that have to wait, and drops those whose directory is gone.
    /// Nil if none is left, which counts as a lookup.
    mutating func begin(isGone: (NodeID) -> Bool, hasToWait: (NodeID) -> Bool) -> DirtyNames? {
        waiting.removeAll { isGone($0.directory) }
        let due = waiting.removeAllDue { hasToWait($0.directory) }
        if due.isEmpty {
            completed += 1
            return nil
        }
        underWay = due
        return due
    }

    /// Ends the lookup under way; returns its names.
    mutating func end() -> [DirtyNames.Item]? {
        guard let items = underWay?.items else { return nil }
        underWay = nil
        completed += 1
        return items
    }

    mutating func addFailed(_ directory: NodeID) { failed.insert(directory) }

    /// Returns at most so many of the directories with failed lookups, and forgets these.
    mutating func removeFailed(_ count: Int) -> [NodeID] {
        let removed = Array(failed.prefix(count))
        failed.subtract(removed)
        return removed
    }

    mutating func removeAll() {
        waiting = DirtyNames()
        underWay = nil
        failed = []
    }

    /// All names, those of hints included.
    var names: [NameID] {
        (waiting.items + (underWay?.items ?? [])).flatMap { [$0.name] + $0.hints.sources.map(\.name) }
    }
}
