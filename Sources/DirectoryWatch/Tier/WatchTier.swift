public import LinuxKernel

/// How the kernel is asked to tell of directories.
public enum WatchTier: String, CaseIterable, Hashable, Sendable {
    /// A watch of inotify(7) on each directory. Needs no privilege; the kernel limits how many a user may have.
    case inotify
    /// One mark of fanotify(7) on each file system, whatever lies on it; tells the process behind each change.
    ///
    /// Needs CAP_SYS_ADMIN and Linux 5.17, and wakes this process for what everybody does on those file systems. Where it
    /// may not be had (``TierSnapshot/refusal`` says why), inotify(7) is used, directory for directory.
    case fanotify
}

/// How the fanotify tier does.
public struct TierSnapshot: Hashable, Sendable {
    /// Directories that are watched by a mark.
    public let directories: Int
    /// File systems that are marked.
    public let marks: Int
    /// Records that were about directories of others.
    public let strangers: Int
    /// Why a directory was last left to inotify(7), or all of them are: EPERM without CAP_SYS_ADMIN, EXDEV on a btrfs
    /// subvolume, ENODEV or EOPNOTSUPP where the file system can't, EINVAL on a kernel that is too old. Nil if none was.
    public let refusal: SystemCallError?

    init(directories: Int = 0, marks: Int = 0, strangers: Int = 0, refusal: SystemCallError?) {
        self.directories = directories
        self.marks = marks
        self.strangers = strangers
        self.refusal = refusal
    }
}

extension WatchTier {
    /// Whose number a directory's watch is; nil if it has none.
    init?(of watch: Int32) {
        if watch < 0 { return nil }
        self = FanotifyTier.isMarked(watch) ? .fanotify : .inotify
    }
}
