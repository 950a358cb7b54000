public import FileValues

/// One thing that changed below a root, as a value.
///
/// Per root the notices are a history that agrees with the directory: told in order, they always lead to what is
/// there. Order between two roots means nothing.
public struct WatchNotice: Hashable, Sendable {
    /// Why a file counts as finished. A hint, never a proof: only the receiver can prove that no writer is left.
    public enum Cause: String, Hashable, Sendable {
        /// A program closed it after writing.
        case closeWrite
        /// It came in under its name by a rename.
        case movedIn
        /// A scan found it, or it lay unchanged from one tick to the next after it was made. Its writer may still be
        /// at it; when that one writes more and closes, another notice follows.
        case found
    }

    /// What became of a root's path.
    public enum Loss: Error, Hashable, Sendable {
        /// It cannot be opened.
        case absent(CallFailure)
        /// Another directory lies there: replaced, mounted over, unmounted.
        case replaced
    }

    /// What happened.
    public enum Kind: Hashable, Sendable {
        /// A regular file, new or with new content, that no program is known to be writing.
        case finished(Cause)
        /// A regular file was made some 25 to 50 milliseconds ago and is being written; `finished` follows. Not reported
        /// of one that is closed sooner.
        case created
        /// A file that is being written was seen with another size or time; only if the watch asks for changes.
        case changed
        /// A file that was told has other attributes or links and the same content, as after chmod(2) or unlink(2) of
        /// another of its names. No event leads to this; it is told when the file is looked at for another reason.
        case attributesChanged
        /// What was told under this path is not there any more.
        case vanished
        /// A file that was told as finished is now here; nothing more comes for the old path. What this path told
        /// before, if anything, was replaced by it.
        case renamed(from: BytePath)
        /// A directory was found; what is in it follows.
        case directoryAppeared
        /// A directory is gone. What was known in it was told as vanished before; what may have moved elsewhere at the
        /// same moment follows.
        case directoryVanished
        /// A symbolic link, FIFO, socket or device, which is neither followed nor opened. Told once.
        case notRegular(FileKind)
        /// A directory that cannot be listed; what is known in it stays known. Told once, tried again.
        case unreadable(CallFailure)
        /// The root itself is gone. Nothing in it counts as deleted: what was known is kept.
        case rootGone(Loss)
        /// The root can be watched again. If the same directory lies there, or one that lay there earlier (a disk that
        /// is mounted again), the differences to what was told of that one follow. Of any other all is told as found.
        case rootBack
        /// What was told of this directory and below it is out of reach: its file system was unmounted, or something
        /// was mounted over it. Nothing in it counts as deleted; what lies there now is told anew.
        case treeGone
        /// It is there again, and what was told of it before it went counts; the differences follow.
        case treeBack
        /// The kernel's queue overflowed and events were lost; a reconciliation has begun.
        case overflow
        /// That reconciliation is complete.
        case healed
    }

    /// The identifier of the root.
    public let root: String
    /// Relative to the root; empty for the root itself.
    public let path: BytePath
    /// What happened.
    public let kind: Kind
    /// The file's identity when it was looked at, for regular files that are there.
    public let identity: FileIdentity?
    /// The bits of the events that led to the notice; empty if a scan did.
    public let mask: InotifyMask

    /// A notice from its parts.
    public init(
        root: String, path: BytePath, kind: Kind, identity: FileIdentity? = nil, mask: InotifyMask = []
    ) {
        self.root = root
        self.path = path
        self.kind = kind
        self.identity = identity
        self.mask = mask
    }
}
