package import FileValues

/// The decisions of the watcher: takes events and results of file work, gives notices and requests for file work.
///
/// A value without Dispatch, clock or I/O. Three ideas make it simple:
/// - *Level, not edge.* An event says no more than "look at this name"; what is seen there, compared with what is
///   known, makes the notice. Lost, late, doubled and stale events thus cost a look and never the truth.
/// - *One history per root.* The file work of a root is carried out one request after the other, so observations
///   arrive in the order in which they were made, and the last one of a name is the newest. Whatever happens to a name
///   after it was looked at raises an event, and so another look.
/// - *Events first.* An observation is taken once all events that were queued before it have been (``HeldResults``). One of
///   a name of which more was heard meanwhile is void: the name is looked at again. So each event is known to be older or
///   newer than what was told, and a version of a file is told once.
package struct TreeCore {
    /// What it wants done; the caller takes it after each turn.
    package struct Output {
        package var notices: [WatchNotice] = []
        package var work: [(root: Int, epoch: UInt32, request: WorkRequest)] = []
        package var reconciled: [(root: Int, outcome: Reconciliation)] = []
        /// Records of watches that are not of trees.
        package var outside: [EventRecord] = []

        package init() {}

        package var isEmpty: Bool { notices.isEmpty && work.isEmpty && reconciled.isEmpty && outside.isEmpty }
    }

    /// One survey under way: which root, and the directories that its findings name by their place.
    package struct Survey {
        package let root: Int
        package let isRecursive: Bool
        package var nodes: [NodeID]

        package mutating func set(_ node: NodeID, at place: Int32) {
            while nodes.count <= Int(place) { nodes.append(.none) }
            nodes[Int(place)] = node
        }
    }

    /// The first half of a rename, waiting for the second.
    package struct HeldMove {
        package let root: Int
        package let source: MoveSource
        package var earlier: [MoveSource]
        package let mask: InotifyMask
        package var age = 0
    }

    /// A directory that is not where it was, kept for a moment in case it appears elsewhere.
    package struct Displaced {
        package let node: NodeID
        package let path: BytePath
        package var age = 0
    }

    package struct InodeKey: Hashable {
        package let root: Int
        package let inode: UInt64
    }

    package struct Counters: Sendable {
        package var events = 0
        package var overflows = 0
        /// Events of watches that nobody knows any more.
        package var strayEvents = 0
    }

    package var table = DirectoryTable()
    package var files = FileTable()
    package var watches = WatchTable()
    /// The watches on the ways to the roots, some of which may be a tree's as well.
    package var ancestors = AncestorTable()
    package var roots: [RootState] = []
    package var surveys: [UInt32: Survey] = [:]
    package var held: [UInt32: HeldMove] = [:]
    package var limbo: [InodeKey: Displaced] = [:]
    package var fresh = FreshNames()
    /// Files that may have been linked while they were being written: asked for twice, in a moment, and then on ticks.
    package var linked: [DirtyNames.Key: Int] = [:]
    /// Directories that were moved, and are not listed yet where they are now: under which paths they, and what is in
    /// them, were told. A directory below may have been renamed before.
    package var toldPaths: [NodeID: BytePath] = [:]
    /// Paths of directories that are listed elsewhere now; they are told as gone after what was in them.
    package var departed: [(root: Int, path: BytePath)] = []
    /// Directories whose listing came while they, or one above, were about to be found elsewhere: listed again then.
    package var unsure: Set<NodeID> = []
    /// Directories that are roots of mounts inside a root, and on which file systems they are.
    package var mounts: [NodeID: FileSystem] = [:]
    /// Trees that are out of reach.
    package var shelf: [ShelvedTree] = []
    /// Watches on the same instance that somebody else made, for other things than trees.
    package var outsiders: Set<Int32> = []
    package let policy: ComparePolicy
    /// Whether the kernel's queue held records at the beginning of the turn that have not been taken.
    package var hasQueuedRecords = false
    package var output = Output()
    package var counters = Counters()
    /// Counts whatever makes another memory, so that one that has not changed need not be written again.
    package var memoryChanges: UInt64 = 0
    /// CLOCK_MONOTONIC in nanoseconds as the caller had it at the beginning of the turn; for reports alone.
    package var now: UInt64 = 0
    package private(set) var lastSurvey: UInt32 = 0

    /// Whether changes of files that are being written are told.
    package let reportsChanges: Bool
    package init(
        roots identifiers: [String], reportsChanges: Bool = false, policy: ComparePolicy = ComparePolicy()
    ) {
        self.reportsChanges = reportsChanges
        self.policy = policy
        for (place, identifier) in identifiers.enumerated() {
            let top = table.insert(root: UInt16(place), parent: nil, name: table.names.intern(BytePath(identifier)))
            roots.append(RootState(id: identifier, top: top))
        }
    }

    /// Whether ``age()`` should be called in a moment.
    package var isHolding: Bool { !held.isEmpty || !limbo.isEmpty || !linked.isEmpty || !fresh.isEmpty }

    /// Sends the looks that are due, and says which reconciliations are through. To be called at the end of each turn.
    package mutating func flush() {
        if !unsure.isEmpty { surveyUnsure() }
        for root in roots.indices where roots[root].isLive {
            if roots[root].looking == nil, !roots[root].dirty.isEmpty { sendLooks(root) }
            advanceReconciliation(root)
        }
        if surveys.isEmpty { counters.strayEvents += watches.settle() }
        if !shelf.isEmpty { sweepShelf() }
        if table.names.isWasteful { sweepNames() }
    }

    /// Frees the names that nothing is known under any more.
    private mutating func sweepNames() {
        var names = NameTable()
        swap(&names, &table.names)
        names.sweep { mark in
            table.forEachName(mark)
            files.forEachName(mark)
            for root in roots {
                for item in root.dirty.items + (root.looking?.items ?? []) {
                    mark(item.name)
                    for source in item.hints.sources { mark(source.name) }
                }
            }
            for move in held.values {
                for source in [move.source] + move.earlier { mark(source.name) }
            }
            for key in fresh.keys { mark(key.name) }
        }
        swap(&names, &table.names)
    }

    /// Ends what waited for its other half since the call before the last.
    package mutating func age() {
        for key in fresh.age() { noteFresh(key) }
        for (key, age) in linked {
            note(key.directory, key.name, Hints(signs: .settle))
            linked[key] = age == 0 ? 1 : nil
        }
        for (cookie, move) in held {
            if move.age == 0 {
                held[cookie]?.age = 1
            } else {
                held[cookie] = nil
                expire(move)
            }
        }
        for (key, displaced) in limbo {
            if displaced.age == 0 {
                limbo[key]?.age = 1
            } else {
                guard limbo.removeValue(forKey: key) != nil else { continue }
                drop(displaced.node, path: displaced.path)
            }
        }
    }

    package mutating func expire(_ move: HeldMove) {
        note(move.source.directory, move.source.name, Hints(signs: .left, mask: move.mask))
    }

    /// Asks for a survey of a directory that is in its tree; returns its number.
    @discardableResult
    package mutating func survey(_ node: NodeID, isRecursive: Bool) -> UInt32? {
        let root = Int(table[node].root)
        guard roots[root].isLive, isAttached(node) else { return nil }
        // A listing is to find no file of which an event said more.
        if !fresh.isEmpty {
            for key in fresh.keys where !table.isValid(key.directory) || Int(table[key.directory].root) == root {
                noteFresh(key)
            }
        }
        lastSurvey &+= 1
        surveys[lastSurvey] = Survey(root: root, isRecursive: isRecursive, nodes: [node])
        roots[root].surveys += 1
        if table[node].watch < 0, table[node].coverage != .polled, table[node].coverage != .unreadable {
            setCoverage(node, .pending)
        }
        let parentInode = table.parent(of: node).map { table[$0].inode } ?? 0
        request(
            root,
            .survey(
                SurveyRequest(
                    id: lastSurvey, path: table.path(of: node), parentInode: parentInode, isRecursive: isRecursive)))
        return lastSurvey
    }

    package mutating func request(_ root: Int, _ request: WorkRequest) {
        output.work.append((root, roots[root].epoch, request))
    }

    package mutating func notify(
        _ root: Int, _ path: BytePath, _ kind: WatchNotice.Kind, identity: FileIdentity? = nil, hints: Hints? = nil
    ) {
        // What takes a path must not be told before what had it is told as gone.
        if kind == .directoryAppeared { makeRoom(root, path) }
        roots[root].counts.notices += 1
        switch kind {
        case .finished: roots[root].counts.found += 1
        case .vanished: roots[root].counts.vanished += 1
        case .renamed: roots[root].counts.renamed += 1
        case .directoryAppeared, .directoryVanished: memoryChanges += 1
        default: break
        }
        output.notices.append(
            WatchNotice(
                root: roots[root].id, path: path, kind: kind, identity: identity, mask: hints?.mask ?? []))
    }

    /// Marks a name to be looked at.
    package mutating func note(_ directory: NodeID, _ name: NameID, _ hints: Hints) {
        guard table.isValid(directory) else { return }
        noteFresh(DirtyNames.Key(directory: directory, name: name))
        roots[Int(table[directory].root)].dirty.add(directory, name, hints)
    }

    /// Marks a file that was made a moment ago, if it is one that nothing was heard of since.
    private mutating func noteFresh(_ key: DirtyNames.Key) {
        guard let mask = fresh.take(key), table.isValid(key.directory) else { return }
        roots[Int(table[key.directory].root)].dirty.add(key.directory, key.name, Hints(signs: .created, mask: mask))
    }

    /// Marks a directory itself to be looked at: by its name in its parent, or as its root.
    package mutating func doubt(_ node: NodeID, _ hints: Hints = Hints(signs: [])) {
        guard let parent = table.parent(of: node) else {
            if isTop(node) { checkRoot(Int(table[node].root)) }
            return
        }
        note(parent, table.name(of: node), hints)
    }

    package func isTop(_ node: NodeID) -> Bool { roots[Int(table[node].root)].top == node }

    /// Whether a directory is in its root's tree; those in limbo and on the shelf are not.
    package func isAttached(_ node: NodeID) -> Bool { limbo.isEmpty && shelf.isEmpty || isTop(table.top(of: node)) }

    /// Every change of coverage, so that the counts agree.
    package mutating func setCoverage(_ node: NodeID, _ coverage: DirectoryTable.Coverage) {
        let root = Int(table[node].root)
        switch table[node].coverage {
        case .polled: roots[root].polled.remove(node)
        case .unreadable: roots[root].unreadable.remove(node)
        case .watched: roots[root].watched -= 1
        case .pending, .unwatched: break
        }
        table[node].coverage = coverage
        switch coverage {
        case .polled: roots[root].polled.insert(node)
        case .unreadable: roots[root].unreadable.insert(node)
        case .watched: roots[root].watched += 1
        case .pending, .unwatched: break
        }
    }
}
