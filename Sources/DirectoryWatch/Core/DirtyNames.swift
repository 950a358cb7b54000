/// Names of one root that have to be looked at, with what is to be made of them; each once, first come first.
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
    /// Room that the last ones needed.
    private var usual = 0

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }

    subscript(directory: NodeID, name: NameID) -> Hints? { find(directory, name).map { items[$0].hints } }

    mutating func add(_ directory: NodeID, _ name: NameID, _ more: Hints) {
        // Records of one file follow each other.
        if let last = items.last, last.name == name, last.directory == directory {
            items[items.count - 1].hints.merge(more)
        } else if let place = find(directory, name) {
            items[place].hints.merge(more)
        } else {
            if items.isEmpty { items.reserveCapacity(usual) }
            items.append(Item(directory: directory, name: name, hints: more))
            if index.hasRoom(for: Int32(items.count - 1)) { insert(items.count - 1) } else { rebuildIndex() }
        }
    }

    /// Gives all and starts anew.
    mutating func takeAll() -> [Item] {
        defer {
            // Its room is kept for the next burst, unless it is out of proportion.
            usual = min(items.count, Self.mostKept)
            items = []
            if index.size <= 2 * Self.mostKept { index.removeAll() } else { index = EntryIndex() }
        }
        return items
    }

    private static let mostKept = 4096

    private func find(_ directory: NodeID, _ name: NameID) -> Int? {
        index.find(hash: EntryIndex.hash(directory.index, name)) { place in
            items[Int(place)].name == name && items[Int(place)].directory == directory
        }.map(Int.init)
    }

    private mutating func insert(_ place: Int) {
        index.insert(hash: EntryIndex.hash(items[place].directory.index, items[place].name), Int32(place))
    }

    private mutating func rebuildIndex() {
        index = EntryIndex(capacity: items.count * 2, places: items.count * 2)
        for place in items.indices { insert(place) }
    }
}
