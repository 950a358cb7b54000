import FileValues

/// Names of one root that have to be looked at, with what is to be made of them; each once, first come first.
struct DirtyNames {
    struct Key: Hashable {
        let directory: NodeID
        let name: BytePath
    }

    private var hints: [Key: Hints] = [:]
    private var order: [Key] = []

    var isEmpty: Bool { order.isEmpty }
    var count: Int { order.count }

    subscript(directory: NodeID, name: BytePath) -> Hints? { hints[Key(directory: directory, name: name)] }

    mutating func add(_ directory: NodeID, _ name: BytePath, _ more: Hints) {
        let key = Key(directory: directory, name: name)
        if hints[key]?.merge(more) == nil {
            hints[key] = more
            order.append(key)
        }
    }

    /// Gives all and starts anew, by directory in order of first mention.
    mutating func takeAll() -> [(directory: NodeID, names: [BytePath], hints: [Hints])] {
        var groups: [(directory: NodeID, names: [BytePath], hints: [Hints])] = []
        var places: [NodeID: Int] = [:]
        for key in order {
            guard let hints = hints[key] else { continue }
            if let place = places[key.directory] {
                groups[place].names.append(key.name)
                groups[place].hints.append(hints)
            } else {
                places[key.directory] = groups.count
                groups.append((key.directory, [key.name], [hints]))
            }
        }
        self = DirtyNames()
        return groups
    }
}
