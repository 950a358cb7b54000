import FileValues

/// What is to be done next: roots to open and to check, directories to survey, names to look up.
struct Agenda {
    var tree: Tree
    var roots: [RootState]
    var surveys = Surveys()
    var newFiles = FreshNames()
    /// Files that may have been linked while they were being written: asked for twice, in a moment, and then on ticks.
    private var linked: [DirtyNames.Key: Int] = [:]
    var output = TreeCore.Output()
    /// CLOCK_MONOTONIC in nanoseconds as the caller had it at the beginning of the turn; for reports alone.
    var now: UInt64 = 0

    init(tree: Tree) {
        self.tree = tree
        roots = tree.roots.map { _ in RootState() }
    }

    /// Whether something waits for ``age()``.
    var isWaiting: Bool { !linked.isEmpty || !newFiles.isEmpty }

    /// The names that what is to be done needs.
    var waitingNames: [NameID] {
        roots.flatMap(\.names.all) + newFiles.keys.map(\.name) + linked.keys.map(\.name)
    }

    mutating func request(_ root: Int, _ request: WorkRequest) {
        output.work.append((root, roots[root].epoch, request))
    }

    /// Schedules a name to be looked up.
    mutating func schedule(_ directory: NodeID, _ name: NameID, _ hints: Hints) {
        guard tree.directories.isValid(directory) else { return }
        scheduleNewFile(DirtyNames.Key(directory: directory, name: name))
        roots[tree.root(of: directory)].names.add(directory, name, hints)
    }

    /// Schedules a file that was made a moment ago, if it is one of which no event came since.
    private mutating func scheduleNewFile(_ key: DirtyNames.Key) {
        guard let mask = newFiles.remove(key), tree.directories.isValid(key.directory) else { return }
        roots[tree.root(of: key.directory)].names.add(key.directory, key.name, Hints(signs: .created, mask: mask))
    }

    /// Has a file asked for again that may have been linked while it was being written.
    mutating func scheduleLinked(_ directory: NodeID, _ name: NameID) {
        linked[DirtyNames.Key(directory: directory, name: name)] = 0
    }

    /// Schedules what has waited since the call before.
    mutating func age() {
        for key in newFiles.age() { scheduleNewFile(key) }
        for (key, age) in linked {
            schedule(key.directory, key.name, Hints(signs: .restCheck))
            linked[key] = age == 0 ? 1 : nil
        }
    }

    /// Schedules a directory itself to be looked up: by its name in its parent, or as its root.
    mutating func recheck(_ node: NodeID) {
        guard let parent = tree.directories.parent(of: node) else {
            if tree.isTop(node), roots[tree.root(of: node)].isLive { open(tree.root(of: node)) }
            return
        }
        schedule(parent, tree.directories.name(of: node), Hints(signs: []))
    }

    /// Asks for a root to be opened or, while it is live, to be checked.
    mutating func open(_ root: Int) {
        if roots[root].opening.ask() { request(root, roots[root].isLive ? .check : .adopt) }
    }

    /// The root was opened or checked, or could not be. What was seen then may be older than what was heard meanwhile.
    mutating func endOpening(_ root: Int) { if roots[root].opening.answer() { open(root) } }

    /// Asks for a survey of a directory that is in its tree; returns whether there will be one.
    @discardableResult
    mutating func survey(_ node: NodeID, isRecursive: Bool) -> Bool {
        let root = tree.root(of: node)
        guard roots[root].isLive, tree.isAttached(node) else { return false }
        // A listing is to find no file of which an event said more.
        if !newFiles.isEmpty {
            for key in newFiles.keys
            where !tree.directories.isValid(key.directory) || tree.root(of: key.directory) == root {
                scheduleNewFile(key)
            }
        }
        let id = surveys.begin(Surveys.Survey(root: root, isRecursive: isRecursive, nodes: [node]))
        roots[root].surveys += 1
        if tree[node].watch < 0, tree[node].coverage != .polled, tree[node].coverage != .unreadable {
            tree.setCoverage(node, .pending)
        }
        let parentInode = tree.directories.parent(of: node).map { tree[$0].inode } ?? 0
        request(
            root,
            .survey(
                SurveyRequest(
                    id: id, path: tree.directories.path(of: node), parentInode: parentInode,
                    isRecursive: isRecursive)))
        return true
    }

    /// Ends a root's life: results that are on their way are void.
    mutating func endLife(_ root: Int) {
        roots[root].endLife()
        surveys.removeAll(of: root)
        for key in newFiles.keys
        where !tree.directories.isValid(key.directory) || tree.root(of: key.directory) == root {
            _ = newFiles.remove(key)
        }
    }
}

/// The surveys under way.
struct Surveys {
    /// Which root, and the directories that its findings name by their positions.
    struct Survey {
        let root: Int
        let isRecursive: Bool
        var nodes: [NodeID]

        mutating func set(_ node: NodeID, at position: Int32) {
            while nodes.count <= Int(position) { nodes.append(.none) }
            nodes[Int(position)] = node
        }
    }

    private var running: [UInt32: Survey] = [:]
    /// The number that was given last.
    private(set) var last: UInt32 = 0

    var isEmpty: Bool { running.isEmpty }

    mutating func begin(_ survey: Survey) -> UInt32 {
        last &+= 1
        running[last] = survey
        return last
    }

    /// Gives out a survey to be changed, and not to be copied for it. It goes on to count as under way.
    mutating func beginUpdate(_ id: UInt32) -> Survey? {
        guard let survey = running.removeValue(forKey: id) else { return nil }
        running[id] = Survey(root: survey.root, isRecursive: survey.isRecursive, nodes: [])
        return survey
    }

    /// Puts back one that was given out; nil if it is complete.
    mutating func endUpdate(_ id: UInt32, _ survey: Survey?) { running[id] = survey }

    mutating func removeAll(of root: Int) { running = running.filter { $0.value.root != root } }
}
