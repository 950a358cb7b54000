package import FileValues

/// What is known from an earlier life, and what the next one is to know.
extension TreeCore {
    /// How many directories are remembered that lay at one root's path, one after the other.
    package static let memoriesOfRoot = 4

    /// The receiver has taken care of a file in the state with this identity; nil for what is no regular file. Without
    /// effect if it is known otherwise by now: then it was told again, and that is to be acknowledged.
    package mutating func acknowledge(_ root: Int, _ path: BytePath, _ identity: FileIdentity?) {
        guard let directory = find(root, path.parent), let name = table.names.find(path.name),
            var known = files[directory, name], !known.isAcknowledged
        else { return }
        switch known.state {
        case .reported:
            guard let identity, rule(root).hasSameContent(known.identity, identity) else { return }
        case .special: guard identity == nil else { return }
        case .writing, .resting: return
        }
        known.isAcknowledged = true
        setKnown(directory, name, known)
    }

    /// What is remembered of a root: first what lies there, or lay there last.
    package func memories(of root: Int) -> [RootMemory] {
        Array(([memory(of: root)].compactMap(\.self) + roots[root].memories).prefix(Self.memoriesOfRoot))
    }

    /// Nil before it was opened for the first time.
    private func memory(of root: Int) -> RootMemory? {
        guard let identity = roots[root].identity else { return nil }
        var memory = RootMemory(identity: identity)
        var places: [NodeID: Int] = [:]
        for node in table.subtree(of: roots[root].top) {
            if let parent = table.parent(of: node) {
                guard let place = places[parent], table[node].wasTold else { continue }
                places[node] = memory.addDirectory(
                    named: table.names.name(table.name(of: node)), inode: table[node].inode, in: place)
            } else {
                places[node] = 0
            }
            for (name, file) in files.files(from: table[node].firstFile) where file.isAcknowledged {
                memory.add(
                    RootMemory.Entry(name: table.names.name(name), kind: file.kind, identity: file.identity))
            }
        }
        return memory
    }

    /// Another directory lies at the root's path: what was known is for when the other is back.
    package mutating func setAside(_ root: Int) {
        if let memory = memory(of: root), memory.files > 0 { roots[root].memories = memories(of: root) }
    }

    /// The directory that lies at the root's path now is one of which something is remembered: that is known again, so
    /// that the comparison that follows tells the differences.
    package mutating func recall(_ root: Int, _ identity: RootIdentity) {
        let rule = IdentityRule(identity.fileSystem)
        guard let place = roots[root].memories.firstIndex(where: { rule.isSame($0.identity, identity) }) else { return }
        let memory = roots[root].memories.remove(at: place)
        // What is known in this life is newer.
        guard table[roots[root].top].firstFile < 0, !table.hasChildren(roots[root].top) else { return }
        // That it is known is no news.
        let changes = memoryChanges
        defer { memoryChanges = changes }
        var nodes: [NodeID] = []
        var current = roots[root].top
        memory.forEach(
            directory: { parent, name, inode in
                if let parent {
                    let name = table.names.intern(name)
                    current = table.child(of: nodes[parent], named: name) ?? addPending(name, in: nodes[parent])
                    table[current].inode = rule.countsInodes ? inode : 0
                    table[current].isRecalled = true
                }
                nodes.append(current)
            },
            entry: { entry in
                setKnown(
                    current, table.names.intern(entry.name),
                    KnownFile(
                        identity: entry.identity, state: entry.kind == .regular ? .reported : .special(entry.kind),
                        isAcknowledged: true))
            })
    }

    package func rule(_ root: Int) -> IdentityRule {
        roots[root].identity.map { IdentityRule($0.fileSystem) } ?? IdentityRule(countsInodes: true)
    }

    package func isSameInode(_ known: FileIdentity, _ seen: FileIdentity, _ directory: NodeID) -> Bool {
        known.inode == seen.inode || !rule(Int(table[directory].root)).countsInodes
    }
}

extension KnownFile {
    /// The same, to be acknowledged anew.
    package var unacknowledged: KnownFile { KnownFile(identity: identity, state: state) }

    fileprivate var kind: FileKind { if case .special(let kind) = state { kind } else { .regular } }
}

extension DirectoryTable.Node {
    /// Whether it was told as there, in this life or in an earlier one.
    package var wasTold: Bool { inode != 0 || isRecalled }
}
