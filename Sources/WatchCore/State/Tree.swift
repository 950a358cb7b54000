package import FileValues

/// The directories and files of all roots as they were reported, and how each directory is observed.
///
/// A value. Every change goes through its methods, so that its counts agree.
package struct Tree {
    /// One root's part of it.
    package struct Root {
        /// Its identifier.
        package let id: String
        /// Its topmost directory.
        fileprivate(set) var top: NodeID
        /// The directory at its path, or the last one that was there.
        package fileprivate(set) var identity: RootIdentity?
        /// How identities are compared on its file system.
        fileprivate(set) var rule = IdentityRule(countsInodes: true)
        package fileprivate(set) var directories = 1
        package fileprivate(set) var files = 0
        /// Directories with a watch.
        package fileprivate(set) var watched = 0
        /// Directories without a watch, which are listed again and again.
        fileprivate(set) var polled: Set<NodeID> = []
        fileprivate(set) var unreadable: Set<NodeID> = []
        /// Files that the receiver has no use for.
        package fileprivate(set) var leftAlone = 0
        /// Files that were reported as created, and not as finished yet.
        fileprivate(set) var unfinished: Set<DirtyNames.Key> = []
        /// The errno(3) of the last directory that could not be read.
        fileprivate(set) var readFailure: Int32?
        /// The errno(3) of the last directory that could not be watched.
        fileprivate(set) var watchFailure: Int32?

        package var polledDirectories: Int { polled.count }
        package var unreadableDirectories: Int { unreadable.count }
        package var unfinishedFiles: Int { unfinished.count }

        /// Whether files there are changed by other machines, which this kernel does not report.
        package var changesElsewhere: Bool { identity?.fileSystem.changesElsewhere ?? false }
    }

    package private(set) var roots: [Root] = []
    private(set) var directories = DirectoryTable()
    private var files = FileTable()
    /// Directories inside a root that are roots of mounts, and their file systems.
    private(set) var mounts: [NodeID: FileSystem] = [:]
    /// How many subtrees are in no root's tree at present.
    private var detached = 0
    /// How often a change made the memory to be saved another one.
    package private(set) var memoryChanges: UInt64 = 0

    init(roots identifiers: [String]) {
        for (number, id) in identifiers.enumerated() {
            let top = directories.insert(
                root: UInt16(number), parent: nil, name: directories.names.intern(BytePath(id)))
            roots.append(Root(id: id, top: top))
        }
    }

    subscript(_ node: NodeID) -> DirectoryTable.Node {
        @inline(__always) get { directories[node] }
        @inline(__always) set { directories[node] = newValue }
    }

    /// The file with a name in a directory; nil if none was reported.
    @inline(__always)
    subscript(_ directory: NodeID, _ name: NameID) -> KnownFile? { files[directory, name] }

    /// The files in a directory.
    @inline(__always)
    func files(in directory: NodeID) -> [(name: NameID, file: KnownFile)] {
        files.files(from: directories[directory].firstFile)
    }

    /// Whether a directory has no known entries.
    @inline(__always)
    func isEmpty(_ directory: NodeID) -> Bool {
        directories[directory].firstFile < 0 && !directories.hasChildren(directory)
    }

    @inline(__always)
    func root(of node: NodeID) -> Int { Int(directories[node].root) }

    @inline(__always)
    func isTop(_ node: NodeID) -> Bool { roots[root(of: node)].top == node }

    /// Whether a directory is in its root's tree: neither displaced nor parked, nor below one that is.
    @inline(__always)
    func isAttached(_ node: NodeID) -> Bool { detached == 0 || isTop(directories.top(of: node)) }

    func find(_ root: Int, _ path: BytePath) -> NodeID? {
        var node = roots[root].top
        for name in path.components {
            guard let name = directories.names.find(name), let child = directories.child(of: node, named: name)
            else { return nil }
            node = child
        }
        return node
    }

    /// One of the directories that cannot be read (of up to 64, the first in the table), and the errno(3) of the last one.
    package func firstUnreadable(of root: Int) -> (path: BytePath, failure: Int32)? {
        let nodes = roots[root].unreadable
        guard let first = nodes.count > 64 ? nodes.first : nodes.min(by: { $0.index < $1.index }),
            let failure = roots[root].readFailure
        else { return nil }
        return (directories.path(of: first), failure)
    }

    mutating func intern(_ name: UnsafeRawBufferPointer) -> NameID { directories.names.intern(name) }

    mutating func intern(_ name: BytePath) -> NameID { directories.names.intern(name) }

    @inline(__always)
    func name(_ id: NameID) -> BytePath { directories.names.name(id) }

    /// Notes a change of the memory to be saved that is not one of files.
    mutating func noteMemoryChange() { memoryChanges += 1 }

    /// Removes names that are in no table, and not among `others`.
    mutating func sweepNames(keeping others: [NameID]) {
        var names = NameTable()
        swap(&names, &directories.names)
        names.sweep { mark in
            directories.forEachName(mark)
            files.forEachName(mark)
            for name in others { mark(name) }
        }
        swap(&names, &directories.names)
    }
}

// MARK: - Directories

extension Tree {
    /// Adds a directory that is not listed yet.
    mutating func add(_ name: NameID, in parent: NodeID) -> NodeID {
        let root = directories[parent].root
        roots[Int(root)].directories += 1
        return directories.insert(root: root, parent: parent, name: name)
    }

    /// Detaches a subtree from its root's tree.
    mutating func detach(_ node: NodeID) {
        if directories.parent(of: node) != nil { detached += 1 }
        directories.detach(node)
    }

    mutating func attach(_ node: NodeID, to parent: NodeID, name: NameID) {
        detached -= 1
        directories.attach(node, to: parent, name: name)
    }

    /// Removes a directory that has nothing in it any more.
    mutating func remove(_ node: NodeID) {
        if directories.parent(of: node) == nil { detached -= 1 }
        roots[root(of: node)].directories -= 1
        if !mounts.isEmpty { mounts[node] = nil }
        directories.remove(node)
    }

    /// Makes `node`, which is detached, the top of a root, or a new directory for nil. The former top is detached then.
    mutating func replaceTop(of root: Int, with node: NodeID?) {
        let old = roots[root].top
        if let node {
            roots[root].top = node
        } else {
            detached += 1
            roots[root].directories += 1
            roots[root].top = directories.insert(
                root: directories[old].root, parent: nil, name: directories.name(of: old))
        }
    }

    mutating func setIdentity(_ identity: RootIdentity, of root: Int) {
        roots[root].identity = identity
        roots[root].rule = IdentityRule(identity.fileSystem)
        directories[roots[root].top].inode = identity.inode
    }

    mutating func setMount(_ node: NodeID, _ fileSystem: FileSystem?) { mounts[node] = fileSystem }

    /// Sets how a directory is observed; `failure` is the errno(3) for which it cannot be read or watched.
    mutating func setCoverage(_ node: NodeID, _ coverage: DirectoryTable.Coverage, failure: Int32? = nil) {
        let root = root(of: node)
        switch directories[node].coverage {
        case .polled: roots[root].polled.remove(node)
        case .unreadable: roots[root].unreadable.remove(node)
        case .watched: roots[root].watched -= 1
        case .pending, .unwatched: break
        }
        directories[node].coverage = coverage
        switch coverage {
        case .polled:
            roots[root].polled.insert(node)
            if let failure { roots[root].watchFailure = failure }
        case .unreadable:
            roots[root].unreadable.insert(node)
            if let failure { roots[root].readFailure = failure }
        case .watched: roots[root].watched += 1
        case .pending, .unwatched: break
        }
    }

    /// Adds a subtree to its root's counts, or removes it: parked trees are not counted.
    mutating func setCounted(_ node: NodeID, _ isCounted: Bool) {
        let (root, sign) = (root(of: node), isCounted ? 1 : -1)
        for directory in directories.subtree(of: node) {
            roots[root].directories += sign
            for (name, file) in files(in: directory) {
                roots[root].files += sign
                if file.isLeftAlone { roots[root].leftAlone += sign }
                guard file.isUnfinished else { continue }
                let key = DirtyNames.Key(directory: directory, name: name)
                if isCounted { roots[root].unfinished.insert(key) } else { roots[root].unfinished.remove(key) }
            }
        }
    }
}

// MARK: - Files

extension Tree {
    /// Adds a finished file under a name that has none.
    mutating func addFile(_ directory: NodeID, _ name: NameID, _ file: KnownFile) {
        files.insert(file, directory, name, head: &directories[directory].firstFile)
        roots[root(of: directory)].files += 1
    }

    /// Sets or removes a file. Returns the one that was there before.
    @discardableResult
    mutating func setFile(_ directory: NodeID, _ name: NameID, _ file: KnownFile?) -> KnownFile? {
        let root = root(of: directory)
        let before =
            if let file {
                files.set(file, directory, name, head: &directories[directory].firstFile)
            } else {
                files.remove(directory, name, head: &directories[directory].firstFile)
            }
        roots[root].files += (file == nil ? 0 : 1) - (before == nil ? 0 : 1)
        roots[root].leftAlone += (file?.isLeftAlone == true ? 1 : 0) - (before?.isLeftAlone == true ? 1 : 0)
        if file?.isUnfinished == true {
            roots[root].unfinished.insert(DirtyNames.Key(directory: directory, name: name))
        } else if before?.isUnfinished == true {
            roots[root].unfinished.remove(DirtyNames.Key(directory: directory, name: name))
        }
        if before?.isAcknowledged == true || file?.isAcknowledged == true { memoryChanges += 1 }
        return before
    }

    /// Adds the directories and files of a memory to a root that has none, as they were reported before a restart.
    mutating func recall(_ memory: RootMemory, in root: Int) {
        guard isEmpty(roots[root].top) else { return }
        // The memory to be saved is the same after that.
        let changes = memoryChanges
        defer { memoryChanges = changes }
        var nodes: [NodeID] = []
        var current = roots[root].top
        memory.forEach(
            directory: { parent, name, inode in
                if let parent {
                    let name = intern(name)
                    current = directories.child(of: nodes[parent], named: name) ?? add(name, in: nodes[parent])
                    directories[current].inode = roots[root].rule.countsInodes ? inode : 0
                    directories[current].isRecalled = true
                }
                nodes.append(current)
            },
            entry: { entry in
                setFile(
                    current, intern(entry.name),
                    KnownFile(
                        identity: entry.identity, state: entry.kind == .regular ? .reported : .special(entry.kind),
                        isAcknowledged: true, isLeftAlone: entry.isLeftAlone))
            })
    }
}
