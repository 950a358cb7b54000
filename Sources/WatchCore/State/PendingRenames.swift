import FileValues

/// First halves of renames, which wait for the second, by their cookies.
struct PendingRenames {
    struct Half {
        let root: Int
        let source: MoveSource
        /// Where the entry was before, if it was renamed several times without a lookup.
        let earlier: [MoveSource]
        let mask: InotifyMask
        fileprivate var isOld = false

        init(root: Int, source: MoveSource, earlier: [MoveSource], mask: InotifyMask) {
            self.root = root
            self.source = source
            self.earlier = earlier
            self.mask = mask
        }
    }

    private var halves: [UInt32: Half] = [:]

    var isEmpty: Bool { halves.isEmpty }

    /// All names in them.
    var names: [NameID] { halves.values.flatMap { [$0.source.name] + $0.earlier.map(\.name) } }

    /// Whether a name was moved, and the other half may still come.
    @inline(__always)
    func contains(_ directory: NodeID, _ name: NameID) -> Bool {
        !halves.isEmpty && halves.values.contains { $0.source.directory == directory && $0.source.name == name }
    }

    /// Adds one; returns an earlier one with its cookie.
    mutating func add(_ half: Half, cookie: UInt32) -> Half? { halves.updateValue(half, forKey: cookie) }

    mutating func remove(cookie: UInt32) -> Half? { halves.removeValue(forKey: cookie) }

    mutating func removeAll() -> [Half] {
        defer { halves = [:] }
        return Array(halves.values)
    }

    mutating func removeAll(of root: Int) { halves = halves.filter { $0.value.root != root } }

    /// Removes and returns those that were there at the last call.
    mutating func removeOld() -> [Half] {
        let old = halves.values.filter(\.isOld)
        halves = halves.filter { !$0.value.isOld }
        for cookie in halves.keys { halves[cookie]?.isOld = true }
        return old
    }
}
