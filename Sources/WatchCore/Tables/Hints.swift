import FileValues

/// Where a renamed entry was: its directory and name, and the directory that it is, if it is one.
struct MoveSource: Hashable, Sendable {
    let directory: NodeID
    let name: NameID
    let child: NodeID?
}

/// The events of a name since its last lookup, and why else it is to be looked up.
struct Hints: Hashable, Sendable {
    struct Signs: OptionSet, Hashable, Sendable {
        let rawValue: UInt16
        static let created = Signs(rawValue: 1)
        static let modified = Signs(rawValue: 2)
        static let closed = Signs(rawValue: 4)
        static let movedIn = Signs(rawValue: 8)
        /// Deleted or moved out, by an event.
        static let left = Signs(rawValue: 16)
        /// A listing showed it, or did not.
        static let surveyed = Signs(rawValue: 32)
        /// A tick checks whether it is still being written.
        static let restCheck = Signs(rawValue: 64)
        /// More events came during each of several lookups.
        static let unstable = Signs(rawValue: 128)
    }

    var signs: Signs
    var mask: InotifyMask = []
    /// Where it may have been before, the likeliest first.
    var sources: [MoveSource] = []
    /// How often its directory was not found under its path.
    var tries = 0
    /// How often events came while it was being looked up.
    var rounds = 0

    /// Adds what came later.
    mutating func merge(_ later: Hints) {
        if !later.signs.isDisjoint(with: [.created, .movedIn, .left]) {
            // Another entry has the name now: earlier events were of the one before.
            signs.subtract([.created, .modified, .closed, .movedIn])
            if later.signs.isDisjoint(with: .movedIn) { sources = [] }
        }
        signs.formUnion(later.signs)
        mask.formUnion(later.mask)
        tries = max(tries, later.tries)
        rounds = max(rounds, later.rounds)
        if later.sources.isEmpty { return }
        sources = later.sources + sources.filter { !later.sources.contains($0) }
    }
}
