package import FileValues

/// What is known of an entry that is no directory: what was reported of it last.
struct KnownFile: Hashable, Sendable {
    enum State: Hashable, Sendable {
        /// Reported as finished with this identity.
        case reported
        /// Reported as created; its end is still to come.
        case writing
        /// The same, and a tick saw it with this identity: unchanged at the next one, it counts as found.
        case resting
        /// Reported as something else than a regular file.
        case special(FileKind)
    }

    var identity: FileIdentity
    var state: State
    /// Its next close is reported only if it has changed by then. No program had it open for writing when it was, so that
    /// nothing can have been written since without a trace; or nobody knows, and most likely that close was the writer's.
    var mustDiffer = false
    /// The receiver has taken care of it as it is: it need not be reported again in another life.
    var isAcknowledged = false

    /// Whether its end is still to come.
    var isUnfinished: Bool { state == .writing || state == .resting }

    /// The same, to be acknowledged anew.
    var unacknowledged: KnownFile { KnownFile(identity: identity, state: state) }

    var kind: FileKind { if case .special(let kind) = state { kind } else { .regular } }

    /// Whether a listing shows the file that was reported.
    func isSame(as seen: Observation?, _ rule: IdentityRule) -> Bool {
        switch (seen, state) {
        case (.failed, _): true
        case (.file(let kind, let seen, _), .special(let reported)):
            kind == reported && rule.isSameInode(identity, seen)
        case (_, .special): false
        case (.file(.regular, let seen, _), _), (.unwritten(let seen, _), _), (.writing(let seen), _):
            // A number alone may be another file's by now.
            state == .reported ? rule.hasSameContent(identity, seen) : rule.isSameInode(identity, seen)
        default: false
        }
    }
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
    func differs(from other: BirthMark) -> Bool { self != .unknown && other != .unknown && self != other }
}

/// What a lookup of a name saw. Holds no memory of its own, so that many are cheap.
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
    /// A regular file that some program has open for writing: its close will be reported.
    case writing(FileIdentity)
    /// It could not be looked up.
    case failed
    /// The directory that it should be in was not found under its path.
    case unreached

    var isUnreached: Bool { if case .unreached = self { true } else { false } }
}

/// Where a renamed entry was: in which directory, under which name, and as which directory if it was one.
struct MoveSource: Hashable, Sendable {
    let directory: NodeID
    let name: NameID
    let child: NodeID?
}

/// What events said about a name since it was last looked up.
struct Hints: Hashable, Sendable {
    struct Signs: OptionSet, Hashable, Sendable {
        let rawValue: UInt16
        static let created = Signs(rawValue: 1)
        static let modified = Signs(rawValue: 2)
        static let closed = Signs(rawValue: 4)
        static let movedIn = Signs(rawValue: 8)
        /// Deleted or moved out, by an event.
        static let left = Signs(rawValue: 16)
        /// A listing did not tell it, or it came as an entry of one.
        static let surveyed = Signs(rawValue: 32)
        /// A tick asks whether it came to rest.
        static let restCheck = Signs(rawValue: 64)
        /// Events told more of it while it was looked up, again and again.
        static let unsure = Signs(rawValue: 128)
    }

    var signs: Signs
    var mask: InotifyMask = []
    /// Where it may have been before, the likeliest first.
    var sources: [MoveSource] = []
    /// How often its directory was not where it was expected.
    var tries = 0
    /// How often more was heard of it while it was looked up.
    var rounds = 0

    /// Adds what came later.
    mutating func merge(_ later: Hints) {
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
