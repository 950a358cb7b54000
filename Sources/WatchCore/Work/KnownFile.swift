package import FileValues

/// What is known of an entry that is no directory: what was told of it last.
package struct KnownFile: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        /// Told as finished with this identity.
        case reported
        /// Told as created; its end is still to come.
        case writing
        /// The same, and a tick saw it with this identity: unchanged at the next one, it counts as found.
        case resting
        /// Told as something else than a regular file.
        case special(FileKind)
    }

    package var identity: FileIdentity
    package var state: State
    /// Its next close is told only if it has changed by then. No program had it open for writing when it was told, so that
    /// nothing can have been written since without a trace; or nobody knows, and most likely that close was the writer's.
    package var mustDiffer = false
    /// The receiver has taken care of it as it is: it need not be told again in another life.
    package var isAcknowledged = false
}

/// When a directory was made, as a number that another directory with its inode number hardly has.
package struct BirthMark: Hashable, Sendable {
    private let mark: UInt32

    /// The file system does not tell, or nobody asked.
    package static let unknown = BirthMark(mark: 0)

    private init(mark: UInt32) { self.mark = mark }

    package init(_ time: FileTime?) {
        guard let time else {
            self = .unknown
            return
        }
        let mixed = (UInt64(bitPattern: time.seconds) << 30 ^ UInt64(time.nanoseconds)) &* 0x9E37_79B9_7F4A_7C15
        mark = max(1, UInt32(truncatingIfNeeded: mixed >> 32))
    }

    /// Whether both are known and differ.
    package func differs(from other: BirthMark) -> Bool { self != .unknown && other != .unknown && self != other }
}

/// What a look at a name saw. Holds no memory of its own, so that many are cheap.
package enum Observation: Hashable, Sendable {
    case absent
    /// There, and left out by the root's rule.
    case excluded
    case directory(inode: UInt64, born: BirthMark = .unknown)
    /// A directory that is the root of a mount, with that one's inode.
    case mountRoot(inode: UInt64)
    case file(FileKind, FileIdentity, links: UInt64)
    /// A regular file that no program has open for writing, as a lease has shown.
    case unwritten(FileIdentity, links: UInt64)
    /// A regular file that some program has open for writing: its close will be told.
    case writing(FileIdentity)
    /// It could not be looked at.
    case failed
    /// The directory that it should be in was not found under its path.
    case unreached

    package var isUnreached: Bool { if case .unreached = self { true } else { false } }
}

/// Where a renamed entry was: in which directory, under which name, and as which directory if it was one.
package struct MoveSource: Hashable, Sendable {
    package let directory: NodeID
    package let name: NameID
    package let child: NodeID?
}

/// What events said about a name since it was last looked at.
package struct Hints: Hashable, Sendable {
    package struct Signs: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let created = Signs(rawValue: 1)
        package static let modified = Signs(rawValue: 2)
        package static let closed = Signs(rawValue: 4)
        package static let movedIn = Signs(rawValue: 8)
        /// Deleted or moved out, by an event.
        package static let left = Signs(rawValue: 16)
        /// A listing did not tell it, or it came as an entry of one.
        package static let surveyed = Signs(rawValue: 32)
        /// A tick asks whether it came to rest.
        package static let settle = Signs(rawValue: 64)
        /// Events told more of it while it was looked at, again and again.
        package static let unsure = Signs(rawValue: 128)
    }

    package var signs: Signs
    package var mask: InotifyMask = []
    /// Where it may have been before, the likeliest first.
    package var sources: [MoveSource] = []
    /// How often its directory was not where it was looked for.
    package var tries = 0
    /// How often more was heard of it while it was looked at.
    package var rounds = 0

    /// Adds what came later.
    package mutating func merge(_ later: Hints) {
        if !later.signs.isDisjoint(with: [.created, .movedIn, .left]) {
            // Something else has the name now: what was said before was of that.
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
