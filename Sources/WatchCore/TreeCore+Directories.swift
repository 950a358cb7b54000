package import FileValues

/// Directories that come, go, move and take each other's places.
extension TreeCore {
    /// A directory that is not listed yet.
    package mutating func addPending(_ name: NameID, in parent: NodeID) -> NodeID {
        let root = table[parent].root
        roots[Int(root)].directories += 1
        return table.insert(root: root, parent: parent, name: name)
    }

    /// A look saw a directory with this inode under the name.
    package mutating func enterDirectory(
        _ parent: NodeID, _ name: NameID, inode: UInt64, born: BirthMark, isMountRoot: Bool, _ hints: Hints
    ) {
        if let existing = table.child(of: parent, named: name) {
            let node = table[existing]
            if node.inode != 0, node.inode != inode, isMountRoot || mounts[existing] != nil {
                // Mounted or unmounted, not renamed: what is there now has to be opened to be known.
                survey(existing, isRecursive: true)
                return
            }
            if node.inode == inode {
                // Two directories with one watch, and the first is where it should be: one inode in two places.
                for other in takeClaims(node.watch, of: existing) { setCoverage(other, .polled) }
                if node.coverage == .unwatched { survey(existing, isRecursive: true) }
                return
            }
            if node.inode == 0 {
                if node.coverage == .unwatched { survey(existing, isRecursive: true) }
                if hints.sources.isEmpty { return }
            }
            displace(existing)
        }
        if hints.sources.isEmpty, isDisplaced(inode: inode, in: Int(table[parent].root)) {
            // When it is opened, it is seen whether it is that one, and what is left in it.
            survey(addPending(name, in: parent), isRecursive: true)
        } else if let moved = takeMoved(inode: inode, born: born, hints.sources, to: parent) {
            place(moved.node, from: moved.path, to: parent, name)
            survey(moved.node, isRecursive: true)
        } else {
            survey(addPending(name, in: parent), isRecursive: true)
        }
    }

    /// A directory known under the name is not there any more, or something else is.
    package mutating func leaveDirectory(_ parent: NodeID, _ name: NameID, _ hints: Hints) {
        guard let child = table.child(of: parent, named: name) else { return }
        if let mount = mounts[child] {
            // A mount's root is neither deleted nor renamed: it was unmounted before its directory was removed.
            shelve(child, mount)
        } else if hints.signs.contains(.left) {
            drop(child, path: table.path(of: child))
        } else {
            displace(child)
        }
    }

    /// The directory of that inode that is known elsewhere and may come to `parent`; taken out of where it was.
    package mutating func takeMoved(
        inode: UInt64, born: BirthMark, _ sources: [MoveSource], to parent: NodeID
    ) -> (node: NodeID, path: BytePath)? {
        let root = Int(table[parent].root)
        if let displaced = limbo.removeValue(forKey: InodeKey(root: root, inode: inode)) {
            if !table[displaced.node].born.differs(from: born) { return (displaced.node, displaced.path) }
            // It was deleted: this one was given its number.
            drop(displaced.node, path: displaced.path)
        }
        for source in sources {
            guard let child = source.child, table.isValid(child), !isTop(child), table[child].inode == inode,
                !table[child].born.differs(from: born), isAttached(child), !table.isInside(parent, child)
            else { continue }
            let path = table.path(of: child)
            table.detach(child)
            return (child, path)
        }
        return nil
    }

    package func isDisplaced(inode: UInt64, in root: Int) -> Bool { limbo[InodeKey(root: root, inode: inode)] != nil }

    /// Takes a directory from its place without a word: it may be found elsewhere.
    package mutating func displace(_ node: NodeID) {
        guard !isTop(node) else { return }
        let path = table.path(of: node)
        let inode = table[node].inode
        // The number of one that was not seen in this life may belong to another by now.
        if inode == 0 || table[node].isRecalled || watches.isContested(table[node].watch) {
            return drop(node, path: path)
        }
        table.detach(node)
        let key = InodeKey(root: Int(table[node].root), inode: inode)
        if let earlier = limbo.updateValue(Displaced(node: node, path: path), forKey: key) {
            drop(earlier.node, path: earlier.path)
        }
    }

    /// What was displaced from a path that is about to be taken or to vanish, or from below it.
    package mutating func dropDisplaced(_ root: Int, _ path: BytePath) {
        for (key, displaced) in limbo where key.root == root && displaced.path.isInside(path) {
            guard limbo.removeValue(forKey: key) != nil else { continue }
            drop(displaced.node, path: displaced.path)
        }
    }

    /// Puts a detached subtree in its place. What is in it is told where it is now once it is listed there: a survey of it
    /// must follow.
    package mutating func place(_ node: NodeID, from old: BytePath, to parent: NodeID, _ name: NameID) {
        table.attach(node, to: parent, name: name)
        let new = table.path(of: node)
        guard new != old else { return }
        for directory in table.subtree(of: node) {
            for (name, file) in files.files(from: table[directory].firstFile) where file.isAcknowledged {
                setKnown(directory, name, file.unacknowledged)
            }
            let here = table.path(of: directory)
            let told = toldPaths[directory] ?? old.appending(here.relative(to: new) ?? "")
            toldPaths[directory] = table[directory].wasTold && told != here ? told : nil
        }
    }

    /// Tells where a directory that was moved, and the files that were told of it, are now; `seen` is what it was listed
    /// with, nil if it cannot be listed.
    package mutating func tellMoved(_ node: NodeID, seen: [NameID: Observation]?) {
        guard let told = toldPaths.removeValue(forKey: node) else { return }
        let (root, here) = (Int(table[node].root), table.path(of: node))
        notify(root, here, .directoryAppeared)
        for (name, file) in files.files(from: table[node].firstFile) {
            let (before, now) = (told.appending(table.names.name(name)), here.appending(table.names.name(name)))
            // One that was closed before it was moved is told as finished, here, by the look that is due.
            let isClosed = roots[root].dirty[node, name]?.signs.contains(.closed) == true
            if isClosed || seen.map({ !isSame(file, $0[name], node) }) == true {
                setKnown(node, name, nil)
                notify(root, before, .vanished)
                continue
            }
            switch file.state {
            case .reported: notify(root, now, .renamed(from: before), identity: file.identity)
            case .writing, .resting:
                notify(root, before, .vanished)
                notify(root, now, .created, identity: file.identity)
            case .special(let kind):
                notify(root, before, .vanished)
                notify(root, now, .notRegular(kind))
            }
        }
        departed.append((root, told))
        tellDeparted()
    }

    /// Whether a listing shows the file that was told.
    private func isSame(_ file: KnownFile, _ seen: Observation?, _ directory: NodeID) -> Bool {
        switch (seen, file.state) {
        case (.file(let kind, let identity, _), .special(let told)):
            kind == told && isSameInode(file.identity, identity, directory)
        case (.file(.regular, let identity, _), _), (.unwritten(let identity, _), _), (.writing(let identity), _):
            switch file.state {
            case .special: false
            // A number alone may be another file's by now.
            case .reported: rule(Int(table[directory].root)).hasSameContent(file.identity, identity)
            case .writing, .resting: isSameInode(file.identity, identity, directory)
            }
        case (.failed, _): true
        default: false
        }
    }

    /// Tells directories as gone that are listed elsewhere, once what was told in them is.
    private mutating func tellDeparted() {
        for (root, path) in departed.sorted(by: { $0.path.bytes.count > $1.path.bytes.count }) {
            let isLeft = toldPaths.contains { Int(table[$0.key].root) == root && $0.value.isInside(path) }
            if isLeft { continue }
            departed.removeAll { $0.root == root && $0.path == path }
            notify(root, path, .directoryVanished)
        }
    }

    /// What was told of a path that a directory is about to be told at is told as gone.
    package mutating func makeRoom(_ root: Int, _ path: BytePath) {
        if !limbo.isEmpty { dropDisplaced(root, path) }
        let moved = toldPaths.filter { Int(table[$0.key].root) == root && $0.value.isInside(path) }
        for (node, told) in moved.sorted(by: { $0.value.bytes.count > $1.value.bytes.count }) {
            forgetTold(node, told)
        }
        for (_, path) in departed.filter({ $0.root == root && $0.path.isInside(path) }).sorted(by: {
            $0.path.bytes.count > $1.path.bytes.count
        }) {
            departed.removeAll { $0.root == root && $0.path == path }
            notify(root, path, .directoryVanished)
        }
    }

    /// Tells a directory that was moved as gone from where it was told; it is told anew when it is listed.
    package mutating func forgetTold(_ node: NodeID, _ told: BytePath) {
        let root = Int(table[node].root)
        for (name, _) in files.files(from: table[node].firstFile) {
            setKnown(node, name, nil)
            notify(root, told.appending(table.names.name(name)), .vanished)
        }
        toldPaths[node] = nil
        table[node].inode = 0
        table[node].isRecalled = false
        notify(root, told, .directoryVanished)
    }

    /// Forgets a subtree and tells that it is gone: what is in a directory before the directory.
    package mutating func drop(_ node: NodeID, path: BytePath, isSilent: Bool = false) {
        let root = Int(table[node].root)
        table.detach(node)
        // What was in it is told as gone before it is.
        if !limbo.isEmpty, !isSilent { dropDisplaced(root, path) }
        let directories = table.subtree(of: node)
        let mounted = mounts.isEmpty || isSilent ? [] : tellMountsGone(below: path, among: directories)
        for directory in directories.reversed() {
            let here = toldPaths.removeValue(forKey: directory) ?? path.appending(table.path(of: directory))
            let isSilent = isSilent || mounted.contains(directory)
            for (name, _) in files.files(from: table[directory].firstFile) {
                setKnown(directory, name, nil)
                if !isSilent { notify(root, here.appending(table.names.name(name)), .vanished) }
            }
            if table[directory].wasTold, !isSilent { notify(root, here, .directoryVanished) }
            releaseWatch(of: directory)
            setCoverage(directory, .unwatched)
            roots[root].directories -= 1
            if !mounts.isEmpty { mounts[directory] = nil }
            table.remove(directory)
        }
        if !departed.isEmpty { tellDeparted() }
    }
}
