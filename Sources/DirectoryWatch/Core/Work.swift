import FileValues
import LinuxKernel

/// What the core asks of a root's queue. Requests of one root are carried out in order, and their results come back in
/// order, so that a root's observations are one history.
enum WorkRequest: Sendable {
    /// Open the root's path and take what is there as the root.
    case adopt
    /// Is it still the same?
    case check
    /// Watch and list a directory, and those below it if asked.
    case survey(SurveyRequest)
    /// Look at names.
    case look([LookGroup])
    /// Remove watches.
    case unwatch([Int32])
}

struct SurveyRequest: Hashable, Sendable {
    let id: UInt32
    /// Relative to the root.
    let path: BytePath
    /// The inode its parent must have, where that is known: a stale path must not lead into another directory.
    let parentInode: UInt64
    let isRecursive: Bool
}

struct LookGroup: Hashable, Sendable {
    let path: BytePath
    /// The inode that the directory must have.
    let inode: UInt64
    let names: [BytePath]
}

enum WorkResult: Sendable {
    case adopted(RootIdentity)
    case checked
    /// The root could not be opened, or is another directory: the request was not carried out.
    case lost(WatchNotice.Loss)
    case surveyed(id: UInt32, findings: [DirectoryFinding], isComplete: Bool)
    /// In the order of the groups; nil where the directory was not found under its path.
    case looked([[Observation]?])
    case unwatched([Int32])
}

/// What a survey saw of one directory. The first of a survey is the one it was asked for; the others name the place of
/// their parent among those before them.
struct DirectoryFinding: Sendable {
    enum Outcome: Sendable {
        case listed(inode: UInt64, watch: Watch, entries: [Entry])
        case absent
        case unreadable(SystemCallError)
    }

    enum Watch: Hashable, Sendable {
        case made(Int32)
        /// None left (ENOSPC), or no memory for one.
        case refused
    }

    struct Entry: Sendable {
        let name: BytePath
        let observation: Observation
    }

    let parent: Int32
    let name: BytePath
    let outcome: Outcome
}

/// What a root is, kept over remounts: its file system and its inode there.
struct RootIdentity: Hashable, Sendable {
    let fileSystem: FileSystem
    let inode: UInt64
}
