package import FileValues

/// The last report of an entry that is no directory.
struct KnownFile: Hashable, Sendable {
    enum State: Hashable, Sendable {
        /// Reported as finished with this identity.
        case reported
        /// Reported as created; its end is still to come.
        case writing
        /// The same, and a tick found it with this identity: unchanged at the next tick, it is reported as found.
        case resting
        /// Reported as no regular file.
        case special(FileKind)
    }

    var identity: FileIdentity
    var state: State
    /// Its next close is reported only if it has changed by then. When it was reported, no program had it open for writing,
    /// so that nothing can have been written since without a trace; or that close was most likely the writer's.
    var mustDiffer = false
    /// The receiver has processed it as it is: it need not be reported again after a restart.
    var isAcknowledged = false
    /// It was acknowledged as one that the receiver has no use for.
    var isLeftAlone = false

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

/// When a directory was made, as a hash: it tells directories apart that have the same inode number one after the other.
package struct BirthMark: Hashable, Sendable {
    private let mark: UInt32

    /// The file system does not record it, or nobody asked.
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

/// The result of looking up one name. Holds no memory of its own, so that many are cheap.
package enum Observation: Hashable, Sendable {
    case absent
    /// There, and excluded by the root's rule.
    case excluded
    case directory(inode: UInt64, born: BirthMark = .unknown)
    /// The root of a mount, with its inode.
    case mountRoot(inode: UInt64)
    case file(FileKind, FileIdentity, links: UInt64)
    /// A regular file that no program has open for writing, as a lease has shown.
    case unwritten(FileIdentity, links: UInt64)
    /// A regular file that some program has open for writing: its close will be reported.
    case writing(FileIdentity)
    /// The lookup failed.
    case failed
    /// Its directory was not found under its path.
    case unreached

    var isUnreached: Bool { if case .unreached = self { true } else { false } }
}
