package import FileValues

/// A request to a root's queue. Requests of one root are carried out in order, and their results come back in order, so that
/// a root's observations are one history.
package enum WorkRequest: Sendable {
    /// Trace the root's path, and watch the directories and links that it leads through.
    case trace
    /// Open the directory at the root's path as the root.
    case adopt
    /// Check whether the same directory is still there.
    case check
    /// Watch and list a directory, and those below it if asked.
    case survey(SurveyRequest)
    /// Look up names.
    case lookUp(LookupRequest)
    /// Remove watches.
    case unwatch([Int32])
}

package struct SurveyRequest: Hashable, Sendable {
    package let id: UInt32
    /// Relative to the root.
    package let path: BytePath
    /// The inode its parent must have, where that is known: a stale path must not lead into another directory.
    package let parentInode: UInt64
    package let isRecursive: Bool
}

/// Names in directories, flat: one request holds any number of them.
package struct LookupRequest: Sendable {
    package struct Directory: Hashable, Sendable {
        package let node: NodeID
        package let path: BytePath
        /// The inode that it must have.
        package let inode: UInt64
    }

    package struct Item: Hashable, Sendable {
        /// The position of its directory.
        package let directory: Int32
        /// The range of its name in ``names``, without its NUL.
        package let name: Range<Int32>
        /// Whether to ask if a program has the file open for writing: no event reports that it was closed.
        package let asksForWriter: Bool
    }

    package var directories: [Directory] = []
    package var items: [Item] = []
    /// Names, each with a NUL after it for the kernel.
    package var names: [UInt8] = []
    /// Whether directories may have moved since the last request, so that none that is open may be used.
    package var mayHaveMoved = false

    init(directories: [Directory] = [], mayHaveMoved: Bool = false) {
        self.directories = directories
        self.mayHaveMoved = mayHaveMoved
    }

    mutating func add(_ name: ArraySlice<UInt8>, in directory: Int32, asksForWriter: Bool = false) {
        let start = Int32(names.count)
        names.append(contentsOf: name)
        items.append(Item(directory: directory, name: start..<Int32(names.count), asksForWriter: asksForWriter))
        names.append(0)
    }

    /// An item's name as a value.
    package func name(_ item: Item) -> BytePath {
        BytePath(names[Int(item.name.lowerBound)..<Int(item.name.upperBound)])
    }
}

package enum WorkResult: Sendable {
    case traced(RootPath)
    /// The root's path as in the mount table. Comes before the result of the same request.
    case located(BytePath)
    case adopted(RootIdentity)
    case checked
    /// The root could not be opened, or is another directory: the request was not carried out.
    case lost(WatchNotice.Loss)
    case surveyed(id: UInt32, findings: Findings, isComplete: Bool)
    /// In the order of the items.
    case lookedUp([Observation])
    case unwatched([Int32])
}

/// The findings of a survey, flat: a few arrays for any number of directories.
package struct Findings: Sendable {
    package enum Outcome: Hashable, Sendable {
        /// Where there is no watch, `watch` is the negative errno(3): ENOSPC if none was left.
        case listed(inode: UInt64, born: BirthMark = .unknown, watch: Int32)
        case absent
        /// With the errno(3).
        case unreadable(Int32)
    }

    /// One directory. Each has a position of its own in its survey: 0 for the one that was requested, the others in no
    /// particular order and with gaps. Each names the position of its parent, which comes before it; −1 for none.
    package struct Directory: Sendable {
        package let position: Int32
        package let parent: Int32
        package let name: Range<Int32>
        package let outcome: Outcome
        /// Its range of ``Findings/entries``.
        package let entries: Range<Int32>
    }

    package struct Entry: Sendable {
        package let name: Range<Int32>
        package let observation: Observation
    }

    package private(set) var directories: [Directory] = []
    package private(set) var entries: [Entry] = []
    /// The file systems of the directories that are roots of mounts, by their positions in ``directories``.
    package private(set) var mounts: [Int: FileSystem] = [:]
    private var names: [UInt8] = []
    private var firstEntry: Int32 = 0

    package init() {}

    package var isEmpty: Bool { directories.isEmpty }

    /// Adds an entry of the directory that is added next.
    package mutating func add(entry name: UnsafeRawBufferPointer, _ observation: Observation) {
        entries.append(Entry(name: put(name), observation: observation))
    }

    /// Adds a directory with the entries that were added since the last one.
    package mutating func add(
        directory name: UnsafeRawBufferPointer, at position: Int32, parent: Int32, _ outcome: Outcome
    ) {
        let end = Int32(entries.count)
        directories.append(
            Directory(position: position, parent: parent, name: put(name), outcome: outcome, entries: firstEntry..<end))
        firstEntry = end
    }

    /// The directory added last is the root of a mount.
    package mutating func add(mount: FileSystem) { mounts[directories.count - 1] = mount }

    /// Removes the entries that were added since the last directory.
    package mutating func dropEntries() { entries.removeSubrange(Int(firstEntry)...) }

    /// A name's bytes, for the length of the call.
    package func withName<R>(_ name: Range<Int32>, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        names.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[Int(name.lowerBound)..<Int(name.upperBound)]))
        }
    }

    private mutating func put(_ name: UnsafeRawBufferPointer) -> Range<Int32> {
        let start = Int32(names.count)
        names.append(contentsOf: name)
        return start..<Int32(names.count)
    }
}
