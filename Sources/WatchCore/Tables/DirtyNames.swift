/// Names of one root that have to be looked at, with what is to be made of them; each once, first come first.
package struct DirtyNames {
    package struct Key: Hashable {
        package let directory: NodeID
        package let name: NameID
    }

    package struct Item {
        package let directory: NodeID
        package let name: NameID
        package var hints: Hints
    }

    package private(set) var items: [Item] = []
    private var index = EntryIndex()
    /// Room that the last ones needed.
    private var usual = 0

    package var isEmpty: Bool { items.isEmpty }
    package var count: Int { items.count }

    package subscript(directory: NodeID, name: NameID) -> Hints? { find(directory, name).map { items[$0].hints } }

    package mutating func add(_ directory: NodeID, _ name: NameID, _ more: Hints) {
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

    /// The same for what was said before all else that is known of the name.
    package mutating func addEarlier(_ directory: NodeID, _ name: NameID, _ earlier: Hints) {
        guard let place = find(directory, name) else { return add(directory, name, earlier) }
        var hints = earlier
        hints.merge(items[place].hints)
        items[place].hints = hints
    }

    /// Gives all but what is to wait, and starts anew with that.
    package mutating func takeAll(_ isToWait: (Item) -> Bool) -> DirtyNames {
        var taken = DirtyNames()
        swap(&taken, &self)
        usual = min(taken.count, Self.mostKept)
        guard taken.items.contains(where: isToWait) else { return taken }
        var due = DirtyNames()
        for item in taken.items {
            if isToWait(item) {
                add(item.directory, item.name, item.hints)
            } else {
                due.add(item.directory, item.name, item.hints)
            }
        }
        return due
    }

    package mutating func removeAll(where isGone: (Item) -> Bool) {
        guard items.contains(where: isGone) else { return }
        items.removeAll(where: isGone)
        rebuildIndex()
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
