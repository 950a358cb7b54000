/// The surveys under way, and the directories that have to be surveyed again later.
struct Surveys {
    struct Survey {
        let root: Int
        let isRecursive: Bool
        /// The directories that its findings name by their positions.
        var nodes: [NodeID]

        mutating func set(_ node: NodeID, at position: Int32) {
            while nodes.count <= Int(position) { nodes.append(.none) }
            nodes[Int(position)] = node
        }
    }

    private var running: [UInt32: Survey] = [:]
    /// The number of the last one.
    private(set) var last: UInt32 = 0
    /// Directories that were listed while they, or one above, may have been moved: listed again once that is known.
    var postponed: Set<NodeID> = []

    /// Whether none is under way.
    var isEmpty: Bool { running.isEmpty }

    mutating func begin(_ survey: Survey) -> UInt32 {
        last &+= 1
        running[last] = survey
        return last
    }

    /// Moves a survey out, so that a change does not copy it. It still counts as under way.
    mutating func beginUpdate(_ id: UInt32) -> Survey? {
        guard let survey = running.removeValue(forKey: id) else { return nil }
        running[id] = Survey(root: survey.root, isRecursive: survey.isRecursive, nodes: [])
        return survey
    }

    /// Moves a survey back in; nil if it is complete.
    mutating func endUpdate(_ id: UInt32, _ survey: Survey?) { running[id] = survey }

    mutating func removeAll(of root: Int) { running = running.filter { $0.value.root != root } }
}
