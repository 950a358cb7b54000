import FileValues
import LinuxKernel

/// The directory of each watch, updated by the kernel's records.
struct RawTree {
    let instance: InotifyInstance
    let roots: [RawRoot]
    /// The records to be reported.
    private let wanted: InotifyMask
    let filter: PathFilter
    private let includesExisting: Bool

    struct Directory {
        /// As it is printed: DIR as given, the path below it, a slash at the end.
        var printed: [UInt8]
        /// Its place in ``RawTree/roots``.
        let root: Int
        /// Whether the whole mask is asked for, reading included.
        var isWhole = false
        /// The last departure before it was known to be here; see ``RawTree/generation``.
        var generation: UInt32 = 0

        /// The directory in it with this name.
        func below(_ name: some Sequence<UInt8>) -> Directory {
            var path: [UInt8] = []
            path.reserveCapacity(printed.count + name.underestimatedCount + 1)
            path += printed
            path += name
            path.append(UInt8(ascii: "/"))
            return Directory(printed: path, root: root)
        }
    }

    var directories: [Int32: Directory] = [:]
    /// The directory of the previous record, mostly that of this one too.
    private var latest: (watch: Int32, printed: [UInt8], root: Int)?
    /// Directories between the two records of a rename, by the cookie.
    private var leaving: [UInt32: (directory: Directory, isFromBefore: Bool)] = [:]
    /// Counts departures: a directory that was seen at its path after one of them has not left by it.
    private(set) var generation: UInt32 = 0
    /// Entries reported as found, which may also be in records that are not processed yet.
    var found = FoundEntries()
    /// Bytes of the batch that are not processed yet.
    private(set) var bytesOfBatch = 0
    let reader = DirectoryReader()
    /// Directories of the walk that exceeded the watch limit.
    var unwatched = 0
    /// Remarks on directories that could not be watched.
    var remarks: [String] = []
    /// Nothing is reported any more.
    var isStopped = false

    init(
        instance: InotifyInstance, roots: [BytePath], wanted: InotifyMask, includesExisting: Bool, filter: PathFilter
    ) {
        self.instance = instance
        self.roots = roots.map(RawRoot.init)
        self.wanted = wanted
        self.includesExisting = includesExisting
        self.filter = filter
    }

    /// Watched directories.
    var count: Int { directories.count }

    /// Watches every root. After the first time, new directories and their entries are reported as found.
    mutating func walkRoots(_ report: inout WatchReport, isFirst: Bool) {
        for (index, root) in roots.enumerated() {
            walk(Directory(printed: root.printed, root: index), reportsNew: !isFirst || includesExisting, &report)
        }
    }

    /// Writes the record's line, and updates the watches.
    mutating func process(_ record: InotifyRecord, at now: FileTime, _ report: inout WatchReport) {
        if record.mask.contains(.queueOverflow) {
            bytesOfBatch -= record.byteCount
            write(record, [], now, &report)
            remarks.append("events were lost and cannot be recovered; searching for new directories")
            walkRoots(&report, isFirst: false)
            return
        }
        bytesOfBatch -= record.byteCount
        if !found.isEmpty, found.covers(record) {
            leaving[record.cookie] = nil
            return
        }
        // A record may arrive after its watch was removed.
        guard let directory = directory(of: record.watch) else { return }
        if !record.mask.isDisjoint(with: wanted) {
            if filter.isEmpty
                || !filter.hides(BytePath(directory.printed + record.name), root: rootLength(directory.root))
            {
                write(record, directory.printed, now, &report)
            }
        }
        if record.mask.contains(.isDirectory), !record.name.isEmpty {
            follow(record, directory, &report)
        } else if record.mask.contains(.ignored) {
            directories[record.watch] = nil
            latest = nil
        }
    }

    /// Begins a batch of so many bytes of records.
    mutating func beginBatch(bytes: Int) { bytesOfBatch = bytes }

    /// Whether a directory was moved away, so that the next records show where to.
    var isSomethingLeaving: Bool { !leaving.isEmpty }

    /// Ends a batch. Of the directories that left, those that did so before it came nowhere and are out of the tree:
    /// both records of a rename are put into the queue together, so that a read may separate them, but not two reads.
    mutating func endBatch() {
        guard !leaving.isEmpty else { return }
        for (cookie, gone) in leaving {
            guard gone.isFromBefore else {
                leaving[cookie]?.isFromBefore = true
                continue
            }
            leaving[cookie] = nil
            for (watch, directory) in directories
            where directory.printed.starts(with: gone.directory.printed)
                && directory.generation < gone.directory.generation
            {
                instance.removeWatch(watch)
                directories[watch] = nil
            }
            latest = nil
        }
    }

    private mutating func directory(of watch: Int32) -> (printed: [UInt8], root: Int)? {
        if let latest, latest.watch == watch { return (latest.printed, latest.root) }
        guard let directory = directories[watch] else { return nil }
        latest = (watch, directory.printed, directory.root)
        return (directory.printed, directory.root)
    }

    private func rootLength(_ root: Int) -> Int { roots[root].printed.count }

    private mutating func follow(
        _ record: InotifyRecord, _ parent: (printed: [UInt8], root: Int), _ report: inout WatchReport
    ) {
        guard !record.mask.isDisjoint(with: [.movedFrom, .movedTo, .created]) else { return }
        let entry = Directory(printed: parent.printed, root: parent.root).below(record.name)
        if record.mask.contains(.movedFrom) {
            generation += 1
            leaving[record.cookie] = (entry, false)
            leaving[record.cookie]?.directory.generation = generation
            return
        }
        let isPruned = prunes(entry, isNew: true)
        if let old = leaving[record.cookie]?.directory {
            // Into an excluded place: out of the tree, as endBatch() has it.
            if isPruned { return }
            leaving[record.cookie] = nil
            // One that was gone before it could be watched is met here for the first time.
            if rename(old, to: entry) { return }
        }
        if !isPruned { walk(entry, reportsNew: true, isNew: true, &report) }
    }

    /// Whether a directory is not to be watched. Of one that was there at the start, what is left out by its own name alone
    /// is watched, as by inotifywait; of a new one inotifywait gets no event, so that it never watches it.
    func prunes(_ directory: Directory, isNew: Bool) -> Bool {
        if filter.isEmpty { return false }
        return filter.prunes(BytePath(directory.printed), root: rootLength(directory.root))
            || isNew && filter.excluded.contains { $0.matches(BytePath(directory.printed.dropLast())) }
    }

    /// False if the directory is not watched.
    private mutating func rename(_ old: Directory, to new: Directory) -> Bool {
        var isKnown = false
        for (watch, directory) in directories where directory.printed.starts(with: old.printed) {
            let rest = directory.printed.dropFirst(old.printed.count)
            isKnown = isKnown || rest.isEmpty
            directories[watch] = Directory(
                printed: new.printed + rest, root: new.root, isWhole: directory.isWhole, generation: generation)
            if !directory.isWhole { complete(watch) }
        }
        latest = nil
        return isKnown
    }

    // MARK: Requests to the kernel

    private static let reading: InotifyMask = [.opened, .accessed, .closedAfterReading]

    /// The events to report, and those needed to keep the watches right.
    private var asked: InotifyMask {
        wanted.intersection(RecordNames.everything).union([.created, .movedFrom, .movedTo, .onlyDirectory])
    }

    /// The same without the events of our own listings.
    var askedWhileListing: InotifyMask { asked.subtracting(Self.reading) }

    var asksForReading: Bool { !asked.isDisjoint(with: Self.reading) }

    /// Requests events of reading too, by path, which opens nothing and so causes no event. A directory that was replaced
    /// meanwhile is requested again after its own records.
    mutating func complete(_ watch: Int32) {
        guard let directory = directories[watch] else { return }
        var path = directory.printed[...]
        while path.count > 1, path.last == UInt8(ascii: "/") { path.removeLast() }
        let isRoot = directory.printed.count == rootLength(directory.root)
        let mask = isRoot ? asked : asked.union(.dontFollow)
        guard let number = try? instance.addWatch(BytePath(path), mask) else { return }
        if number == watch {
            directories[watch]?.isWhole = true
        } else if directories[number] == nil {
            instance.removeWatch(number)
        }
    }

    private func write(_ record: InotifyRecord, _ directory: [UInt8], _ now: FileTime, _ report: inout WatchReport) {
        guard !record.mask.isDisjoint(with: wanted) else { return }
        report.add(record.mask, directory, record.name, record.cookie, at: now)
    }

    /// Whether an entry that was there when its directory was listed is news to the user: it has come; and a file may
    /// have been closed already.
    func reportsFound(_ kind: FileKind) -> Bool {
        !wanted.isDisjoint(with: [.created, .movedTo])
            || kind != .directory && kind != .symbolicLink && wanted.contains(.closedAfterWriting)
    }
}

/// A directory that is watched with all below it.
struct RawRoot {
    let path: BytePath
    let printed: [UInt8]

    init(_ path: BytePath) {
        self.path = path
        printed = path.printedAsDirectory.bytes
    }
}
