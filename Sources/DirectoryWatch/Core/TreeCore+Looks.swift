import FileValues
import LinuxKernel

/// What was seen under a name, compared with what is known, makes notices.
extension TreeCore {
    /// Sends all names that are due; those of directories that are gone, or in limbo, have nothing to be looked at.
    mutating func sendLooks(_ root: Int) {
        let groups = roots[root].dirty.takeAll().filter { table.isValid($0.directory) && isAttached($0.directory) }
        if groups.isEmpty {
            // Counted all the same: a reconciliation may wait for it.
            roots[root].looks += 1
            return
        }
        roots[root].looking = groups
        request(
            root,
            .look(
                groups.map { group in
                    LookGroup(
                        path: table.path(of: group.directory), inode: table[group.directory].inode, names: group.names)
                }))
    }

    mutating func takeLooks(_ root: Int, _ results: [[Observation]?]) {
        guard let groups = roots[root].looking else { return }
        roots[root].looking = nil
        roots[root].looks += 1
        // Renames first, so that an old name is not told as vanished before its new one is known.
        for renames in [true, false] {
            for (group, observations) in zip(groups, results) {
                guard let observations else { continue }
                for place in group.names.indices where group.hints[place].sources.isEmpty != renames {
                    observe(group.directory, group.names[place], observations[place], group.hints[place])
                }
            }
        }
        for (group, observations) in zip(groups, results) where observations == nil { lookAgain(group) }
    }

    /// The directory was not where it should be: it was renamed or replaced since, and its parent's look tells which.
    private mutating func lookAgain(_ group: (directory: NodeID, names: [BytePath], hints: [Hints])) {
        guard table.isValid(group.directory) else { return }
        doubt(group.directory)
        for (name, var hints) in zip(group.names, group.hints) {
            hints.tries += 1
            if hints.tries <= 3 { note(group.directory, name, hints) }
        }
        if group.hints.contains(where: { $0.tries >= 3 }) { survey(group.directory, isRecursive: true) }
    }

    /// One name of one directory.
    mutating func observe(_ directory: NodeID, _ name: BytePath, _ observation: Observation, _ hints: Hints) {
        guard table.isValid(directory), isAttached(directory) else { return }
        switch observation {
        case .absent, .excluded:
            leaveDirectory(directory, name, hints)
            tellVanished(directory, name, mask: hints.mask)
        case .directory(let inode):
            tellVanished(directory, name, mask: hints.mask)
            enterDirectory(directory, name, inode: inode, hints)
        case .file(let kind, let identity, let links):
            leaveDirectory(directory, name, hints)
            if kind == .regular {
                observeFile(directory, name, identity, links: links, hints)
            } else {
                observeSpecial(directory, name, kind, identity, hints)
            }
        case .failed:
            // Nothing is known, so nothing is said; the next event or reconciliation asks again.
            break
        }
    }

    /// Something told under this name is not there any more.
    mutating func tellVanished(_ directory: NodeID, _ name: BytePath, mask: InotifyMask) {
        guard setKnown(directory, name, nil) != nil else { return }
        notify(Int(table[directory].root), path(directory, name), .vanished, mask: mask)
    }

    private mutating func observeSpecial(
        _ directory: NodeID, _ name: BytePath, _ kind: FileKind, _ identity: FileIdentity, _ hints: Hints
    ) {
        if let known = table[directory].files[name] {
            if known.state == .special(kind), known.identity.inode == identity.inode { return }
            tellVanished(directory, name, mask: hints.mask)
        }
        setKnown(directory, name, KnownFile(identity: identity, state: .special(kind)))
        notify(Int(table[directory].root), path(directory, name), .notRegular(kind), mask: hints.mask)
    }

    private mutating func observeFile(
        _ directory: NodeID, _ name: BytePath, _ identity: FileIdentity, links: UInt64, _ hints: Hints
    ) {
        if case .special = table[directory].files[name]?.state { tellVanished(directory, name, mask: hints.mask) }
        let known = table[directory].files[name]
        if let known, known.state == .reported, known.identity == identity { return }
        if let old = takeSource(of: identity, among: hints.sources, to: directory, name) {
            tell(directory, name, identity, .renamed(from: old), hints.mask)
        } else if hints.signs.contains(.closed) {
            tell(directory, name, identity, .finished(.closeWrite), hints.mask)
        } else if hints.signs.contains(.movedIn) {
            tell(directory, name, identity, .finished(.movedIn), hints.mask)
        } else if hints.signs.contains(.surveyed) {
            tell(directory, name, identity, .finished(.found), hints.mask)
        } else if let known, known.state != .reported {
            observeWriting(directory, name, known, identity, hints)
        } else if hints.signs.isDisjoint(with: [.created, .modified]) {
            tell(directory, name, identity, .finished(.found), hints.mask)
        } else if known == nil, links > 1 || identity.changed > identity.modified {
            // Made by link(2): its content is older than its name, and no close will be told under this name.
            tell(directory, name, identity, .finished(.found), hints.mask)
        } else {
            setKnown(directory, name, KnownFile(identity: identity, state: .writing))
            let kind: WatchNotice.Kind = known == nil ? .created : .changed
            notify(
                Int(table[directory].root), path(directory, name), kind, identity: identity, mask: hints.mask)
        }
    }

    /// A file that was told as created, looked at again before it was closed.
    private mutating func observeWriting(
        _ directory: NodeID, _ name: BytePath, _ known: KnownFile, _ identity: FileIdentity, _ hints: Hints
    ) {
        if hints.signs.contains(.settle), known.identity == identity {
            if known.state == .resting {
                tell(directory, name, identity, .finished(.found), hints.mask)
            } else {
                setKnown(directory, name, KnownFile(identity: identity, state: .resting))
            }
            return
        }
        guard known.identity != identity else { return }
        setKnown(directory, name, KnownFile(identity: identity, state: .writing))
        if hints.signs.contains(.modified) {
            notify(
                Int(table[directory].root), path(directory, name), .changed, identity: identity, mask: hints.mask)
        }
    }

    private mutating func tell(
        _ directory: NodeID, _ name: BytePath, _ identity: FileIdentity, _ kind: WatchNotice.Kind, _ mask: InotifyMask
    ) {
        setKnown(directory, name, KnownFile(identity: identity, state: .reported))
        notify(Int(table[directory].root), path(directory, name), kind, identity: identity, mask: mask)
    }

    /// The path under which a renamed file was told; it is not known there any more.
    private mutating func takeSource(
        of identity: FileIdentity, among sources: [MoveSource], to directory: NodeID, _ name: BytePath
    ) -> BytePath? {
        for source in sources where table.isValid(source.directory) && isAttached(source.directory) {
            if source.directory == directory, source.name == name { continue }
            guard let known = table[source.directory].files[source.name], known.identity.inode == identity.inode
            else { continue }
            switch known.state {
            case .reported:
                setKnown(source.directory, source.name, nil)
                return path(source.directory, source.name)
            case .writing, .resting, .special:
                return nil
            }
        }
        return nil
    }

    func path(_ directory: NodeID, _ name: BytePath) -> BytePath { table.path(of: directory).appending(name) }

    /// Every change of what is known of files, so that the counts agree. Returns what was known before.
    @discardableResult
    mutating func setKnown(_ directory: NodeID, _ name: BytePath, _ file: KnownFile?) -> KnownFile? {
        let root = Int(table[directory].root)
        let before: KnownFile?
        if let file {
            before = table[directory].files.updateValue(file, forKey: name)
        } else {
            before = table[directory].files.removeValue(forKey: name)
        }
        roots[root].knownFiles += (file == nil ? 0 : 1) - (before == nil ? 0 : 1)
        let key = DirtyNames.Key(directory: directory, name: name)
        switch file?.state {
        case .writing, .resting: roots[root].unsettled.insert(key)
        case .reported, .special, nil: roots[root].unsettled.remove(key)
        }
        return before
    }
}
