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

    private var places: [Key: Int] = [:]
    private(set) var items: [Item] = []

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }

    subscript(directory: NodeID, name: NameID) -> Hints? {
        places[Key(directory: directory, name: name)].map { items[$0].hints }
    }

    mutating func add(_ directory: NodeID, _ name: NameID, _ more: Hints) {
        let place = places[Key(directory: directory, name: name), default: items.count]
        if place < items.count {
            items[place].hints.merge(more)
        } else {
            places[Key(directory: directory, name: name)] = place
            items.append(Item(directory: directory, name: name, hints: more))
        }
    }

    /// Gives all and starts anew.
    mutating func takeAll() -> [Item] {
        defer {
            items = []
            // Its room is kept for the next burst, unless it is out of proportion.
            if places.count < 4096 { places.removeAll(keepingCapacity: true) } else { places = [:] }
        }
        return items
    }
}
