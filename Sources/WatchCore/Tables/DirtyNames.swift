/// Names of one root that have to be looked up, with their hints; each once, in the order in which they came.
struct DirtyNames {
    struct Key: Hashable {
        let directory: NodeID
        let name: NameID
    }

    struct Item {
        let directory: NodeID
        let name: NameID
        var hints: Hints
    }

    private(set) var items: [Item] = []
    private var index = EntryIndex()
    /// The capacity that the last ones needed.
    private var usualCount = 0

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }

    @inline(__always)
    subscript(directory: NodeID, name: NameID) -> Hints? { find(directory, name).map { items[$0].hints } }

    mutating func add(_ directory: NodeID, _ name: NameID, _ more: Hints) {
        // Records of one file follow each other.
        if let last = items.last, last.name == name, last.directory == directory {
            items[items.count - 1].hints.merge(more)
        } else if let known = find(directory, name) {
            items[known].hints.merge(more)
        } else {
            if items.isEmpty { items.reserveCapacity(usualCount) }
            items.append(Item(directory: directory, name: name, hints: more))
            if index.hasRoom(for: Int32(items.count - 1)) { insert(items.count - 1) } else { rebuildIndex() }
        }
    }

    /// Adds hints that are older than those that the name has.
    mutating func addEarlier(_ directory: NodeID, _ name: NameID, _ earlier: Hints) {
        guard let known = find(directory, name) else { return add(directory, name, earlier) }
        var hints = earlier
        hints.merge(items[known].hints)
        items[known].hints = hints
    }

    /// Removes and returns all but those that have to wait.
    mutating func removeAllDue(_ hasToWait: (Item) -> Bool) -> DirtyNames {
        var removed = DirtyNames()
        swap(&removed, &self)
        usualCount = min(removed.count, Self.maxUsualCount)
        guard removed.items.contains(where: hasToWait) else { return removed }
        var due = DirtyNames()
        for item in removed.items {
            if hasToWait(item) {
                add(item.directory, item.name, item.hints)
            } else {
                due.add(item.directory, item.name, item.hints)
            }
        }
        return due
    }

    mutating func removeAll(where isGone: (Item) -> Bool) {
        guard items.contains(where: isGone) else { return }
        items.removeAll(where: isGone)
        rebuildIndex()
    }

    private static let maxUsualCount = 4096

    @inline(__always)
    private func find(_ directory: NodeID, _ name: NameID) -> Int? {
        index.find(hash: EntryIndex.hash(directory.index, name)) { position in
            items[Int(position)].name == name && items[Int(position)].directory == directory
        }.map(Int.init)
    }

    private mutating func insert(_ position: Int) {
        index.insert(hash: EntryIndex.hash(items[position].directory.index, items[position].name), Int32(position))
    }

    private mutating func rebuildIndex() {
        index = EntryIndex(capacity: items.count * 2, positions: items.count * 2)
        for position in items.indices { insert(position) }
    }
}
