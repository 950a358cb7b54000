public import FileValues

/// One change below a root, as a value.
///
/// Applied in order, the notices of a root always result in the present content of the directory. The order between
/// notices of different roots has no meaning.
public struct WatchNotice: Hashable, Sendable {
    /// Why a file counts as finished. A hint, never a proof: only the receiver can prove that no writer is left.
    public enum Cause: String, Hashable, Sendable {
        /// A program closed it after writing.
        case closeWrite
        /// It was renamed to this name.
        case movedIn
        /// A listing found it, or it was unchanged from one tick to the next after it was made. It may still be being
        /// written; when its writer closes it after more writes, another notice follows.
        case found
    }

    /// Why a root is gone.
    public enum Loss: Error, Hashable, Sendable {
        /// It cannot be opened.
        case absent(CallFailure)
        /// Another directory is at its path: it was replaced, mounted over or unmounted.
        case replaced
    }

    /// The kind of a change.
    public enum Kind: Hashable, Sendable {
        /// A regular file, new or with new content, that no program is known to be writing.
        case finished(Cause)
        /// A regular file was made some 25 to 50 milliseconds ago and is being written; `finished` follows. Not reported
        /// of one that is closed sooner.
        case created
        /// A file that is being written was seen with another size or time; only if the watch asks for changes.
        case changed
        /// A reported file has other attributes or links and the same content, as after chmod(2) or unlink(2) of another of
        /// its names. No event leads to this; it is reported when the file is looked up for another reason.
        case attributesChanged
        /// The file that was reported at this path is gone.
        case vanished
        /// A file that was reported as finished is here now; no notice of the old path follows. It has replaced the file that
        /// was reported at this path, if any.
        case renamed(from: BytePath)
        /// A directory was found; its entries follow.
        case directoryAppeared
        /// A directory is gone. Its entries were reported as vanished before; those that may have been moved elsewhere at
        /// the same time follow.
        case directoryVanished
        /// A symbolic link, FIFO, socket or device, which is neither followed nor opened. Reported once.
        case notRegular(FileKind)
        /// A directory cannot be listed; its entries stay as they were reported. Reported once, retried.
        case unreadable(CallFailure)
        /// The root itself is gone. Nothing in it counts as deleted: its entries stay as they were reported.
        case rootGone(Loss)
        /// The root can be watched again. If the same directory is there, or one that was there earlier (a disk that is
        /// mounted again), its changes since then follow. All entries of any other are reported as found.
        case rootBack
        /// This directory, with all in it, is out of reach: its file system was unmounted, or another was mounted over it.
        /// Nothing in it counts as deleted; the directory that is there now is reported anew.
        case treeGone
        /// It is there again, with all in it as it was reported; its changes since then follow.
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
    /// The kind of the change.
    public let kind: Kind
    /// The file's identity when it was looked up, for regular files that are there.
    public let identity: FileIdentity?
    /// The bits of the events that led to the notice; empty if a listing did.
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
