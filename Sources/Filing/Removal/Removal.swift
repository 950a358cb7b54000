package import FileValues
import LinuxKernel
import SystemPackage

// The one place that removes photos' files. Nobody removes bytes unless the same bytes were just seen standing somewhere
// else: each unlink(2) here consumes a warrant, and only this file can make one. `SourceSearchTests` holds the other
// sources against that.

/// What became of a file that was to be removed.
package enum Removal: Hashable, Sendable {
    case removed
    /// It can't be removed (read-only inbox, no permission, no other file with its bytes): it stays, under its name.
    case kept(FilingError)
}

/// The bytes of a file that is set aside were just seen in another file. Good for one removal.
private struct StandingCopy: ~Copyable {
    let aside: BytePath
}

/// A person decided that a file is deleted although no other copy is known: its `discard` is recorded, and its time in the
/// trash is over. Good for one removal.
package struct DiscardOrder: ~Copyable {
    /// The number of the request.
    let request: Int64

    package init(request: Int64) { self.request = request }
}

private enum Warrant: ~Copyable {
    case standing(StandingCopy)
    case discarded(DiscardOrder)
}

extension SourceFile {
    /// Removes the file, whose bytes are to be in every one of `copies`, and makes that durable.
    ///
    /// Looking at a name and then unlinking it would delete whatever another program puts under that name in between,
    /// and a copy may be this very file by another path. So the name is first moved aside (``FileNames/aside(_:)``),
    /// where nobody else looks; then the file is compared with what was opened, and asked for writers once more, since from
    /// now on it can't be opened by its old name; then each copy is opened by its recorded path and compared; then the
    /// file is unlinked. What fails gives the name back.
    ///
    /// With `hash`, that of the content, the bytes are read again where times may hide a change; see ``ChangeTimes``.
    /// Without `syncing`, the caller makes the removal durable with ``syncDirectory(work:)``: the sources of a set share
    /// that.
    ///
    /// Throws ``FilingError/Cause/sourceChanged(_:)``, also for a source that is gone, and
    /// ``FilingError/Cause/noOtherCopy(_:)``.
    package func remove(
        token: String, hash: ContentHash? = nil, seeing copies: [OtherCopy], probe: WriterProbe,
        work: FileWork = FileWork(), syncing: Bool = true, timesTellEverything: Bool? = nil
    ) throws(FilingError) -> Removal {
        if copies.isEmpty { throw doubt(.unrecorded) }
        let removal = try setAside(token, hash, copies, probe, work, timesTellEverything) { aside throws(FilingError) in
            try unlink(aside, .standing(try see(copies, inPlaceOf: aside, work)), work)
        }
        if syncing, removal == .removed { try syncDirectory(work: work) }
        return removal
    }

    /// The same on a person's word, without another copy.
    package func remove(
        token: String, hash: ContentHash? = nil, by order: consuming DiscardOrder, probe: WriterProbe,
        work: FileWork = FileWork()
    ) throws(FilingError) -> Removal {
        // A closure cannot consume what it captures.
        var warrant: Warrant? = .discarded(order)
        let removal = try setAside(token, hash, [], probe, work, nil) { aside throws(FilingError) in
            guard let warrant = warrant.take() else { preconditionFailure("a warrant was used twice") }
            try unlink(aside, warrant, work)
        }
        if removal == .removed { try syncDirectory(work: work) }
        return removal
    }

    /// Moves the file to `name` of `directory` on the same mount, replacing nothing, while its bytes are in every one of
    /// `copies`: a duplicate leaves its inbox only if it is not the copy that it duplicates. Errors are those of
    /// ``remove(token:hash:seeing:probe:work:syncing:timesTellEverything:)``; EEXIST and EXDEV are those of renameat2(2).
    func move(
        to directory: borrowing OwnedDescriptor, as name: BytePath, token: String, seeing copies: [OtherCopy],
        probe: WriterProbe, work: FileWork
    ) throws(FilingError) -> Removal {
        // What is certain to fail is not begun: a name that goes and comes back is an event for who watches.
        if probe.probe(self) == .writerOpen { throw changed("a program has opened it for writing") }
        try requireLikely(copies)
        return try setAside(token, nil, copies, probe, work, nil) { aside throws(FilingError) in
            _ = try see(copies, inPlaceOf: aside, work)
            do throws(SystemCallError) { try self.directory.rename(aside, to: directory, as: name) } catch {
                throw FilingError(.move, .either, .system(error), path: path)
            }
        }
    }

    /// Makes the loss of the name durable.
    package func syncDirectory(work: FileWork = FileWork()) throws(FilingError) {
        work.willEnter(.syncSource)
        try filing(.syncSource, .source, path) { () throws(SystemCallError) in try directory.syncDirectory() }
    }

    /// Sets the file aside and calls `body` with its name; whatever fails gives the name back.
    private func setAside(
        _ token: String, _ hash: ContentHash?, _ copies: [OtherCopy], _ probe: WriterProbe, _ work: FileWork,
        _ timesTellEverything: Bool?, then body: (BytePath) throws(FilingError) -> Void
    ) throws(FilingError) -> Removal {
        work.willEnter(.setSourceAside)
        try requireUnchanged(.setSourceAside)
        let aside = FileNames.aside(token)
        do { try rename(to: aside) } catch {
            if error.kind == .permission || error.kind == .readOnly { return .kept(error) }
            throw error
        }
        do {
            work.willEnter(.checkSourceAgain)
            try requireSame(under: aside, probe, hash, timesTellEverything, work)
            try body(aside)
            return .removed
        } catch {
            try restore(aside, to: name, in: directory, .checkSourceAgain, path)
            if error.kind == .permission || error.kind == .readOnly, error.step == .removeSource { return .kept(error) }
            guard case .noOtherCopy(let doubt) = error.cause else { throw error }
            if case .sameFile = doubt { return .kept(error) }
            // It vanished with this name, and has come back with it: one file, two paths.
            if case .missing(let copy) = doubt, stand(copies) {
                return .kept(FilingError(.seeCopy, .either, .noOtherCopy(.sameFile(copy)), path: path))
            }
            throw error
        }
    }

    private func unlink(_ aside: BytePath, _ warrant: consuming Warrant, _ work: FileWork) throws(FilingError) {
        switch consume warrant {
        case .standing(let copy): precondition(copy.aside == aside, "a warrant for another file")
        case .discarded: break
        }
        work.willEnter(.removeSource)
        try filing(.removeSource, .source, path) { () throws(SystemCallError) in try directory.unlink(aside) }
    }

    /// Moves the name to `aside`. Where the file system can't promise not to replace, the 128 random bits of that name do.
    private func rename(to aside: BytePath) throws(FilingError) {
        do {
            do throws(SystemCallError) { try directory.rename(name, to: directory, as: aside) } catch {
                guard error.isRefusal else { throw error }
                try requireFree(aside)
                try directory.rename(name, replacing: aside)
            }
        } catch let error as SystemCallError {
            if error.code == .noSuchFileOrDirectory {
                throw FilingError(.setSourceAside, .source, .sourceChanged("its name is gone"), path: path)
            }
            throw FilingError(.setSourceAside, .source, .system(error), path: path)
        } catch { preconditionFailure("renaming throws system call errors alone") }
    }

    /// A token may be used again after a crash.
    private func requireFree(_ aside: BytePath) throws(SystemCallError) {
        do { _ = try FileStatus(of: aside, in: directory) } catch {
            if error.code == .noSuchFileOrDirectory { return }
            throw error
        }
        throw SystemCallError("renameat", .fileExists, path: aside)
    }

    /// Whether the file under `aside` is the one that is open here, with its content as it was. The rename itself has
    /// changed the change time, so that is left out. Opened by its name, since a network's file system compares what it
    /// has cached with the server then.
    private func requireSame(
        under aside: BytePath, _ probe: WriterProbe, _ hash: ContentHash?, _ timesTellEverything: Bool?,
        _ work: FileWork
    ) throws(FilingError) {
        let seen = try filing(.checkSourceAgain, .source, path) { () throws(SystemCallError) in
            try FileStatus(of: aside, in: directory)
        }
        guard seen.kind == .regular else { throw changed("its name led to another file") }
        let file = try filing(.checkSourceAgain, .source, path) { () throws(SystemCallError) in
            try directory.openBeneath(aside, [.read, .nonBlocking])
        }
        let named = try filing(.checkSourceAgain, .source, path) { () throws(SystemCallError) in
            try FileStatus(of: file)
        }
        let difference: String? =
            if named.identity.inode != identity.inode || named.device != status.device {
                "its name led to another file"
            } else if !named.identity.hasSameContent(as: identity) {
                "it was written to"
            } else if named.links != 1 {
                "it has \(named.links) names now"
            } else if probe.probe(self) == .writerOpen {
                "a program has opened it for writing"
            } else {
                nil
            }
        if let difference { throw changed(difference) }
        guard let hash else { return }
        let isUnchanged: Bool
        if let timesTellEverything {
            isUnchanged = timesTellEverything
        } else {
            isUnchanged = try tellsEveryChange(file, .source)
        }
        if isUnchanged { return }
        let read = try hashContent(
            of: file, expectedSize: identity.size, work: work, .checkSourceAgain, .source, path: path)
        if read != HashedContent(hash: hash, size: identity.size) { throw changed("its bytes are others") }
    }

    private func changed(_ how: String) -> FilingError {
        FilingError(.checkSourceAgain, .source, .sourceChanged(how), path: path)
    }

    private func tellsEveryChange(
        _ file: borrowing OwnedDescriptor, _ side: FilingError.Side
    ) throws(FilingError) -> Bool {
        let kind = try filing(.checkSourceAgain, side, path) { () throws(SystemCallError) in
            try FileSystemStatus(of: file).kind
        }
        return ChangeTimes.tellEverything(on: kind)
    }

    // MARK: - The other copies

    private func see(
        _ copies: [OtherCopy], inPlaceOf aside: BytePath, _ work: FileWork
    ) throws(FilingError) -> StandingCopy {
        work.willEnter(.seeCopy)
        if copies.isEmpty { throw doubt(.unrecorded) }
        for copy in copies {
            switch copy {
            case .recorded(let copy): try see(copy, work)
            case .source(let source, let hash): try see(source, hash, work)
            }
        }
        return StandingCopy(aside: aside)
    }

    /// Throws where a name alone shows that a copy is missing, or none is known.
    private func requireLikely(_ copies: [OtherCopy]) throws(FilingError) {
        if copies.isEmpty { throw doubt(.unrecorded) }
        for case .recorded(let copy) in copies where !copy.mayStand { throw doubt(.missing(copy.path)) }
    }

    private func see(_ copy: RecordedCopy, _ work: FileWork) throws(FilingError) {
        let directory = try openDirectory(of: copy)
        var opened: OwnedDescriptor?
        do { opened = try openRegular(copy.path.name, size: copy.size, in: directory, .seeCopy) } catch {
            guard isMissing(error.code) else { throw error }
        }
        guard let file = opened.take() else { throw doubt(.missing(copy.path)) }
        let now = try filing(.seeCopy, .destination, copy.path) { () throws(SystemCallError) in
            try FileStatus(of: file)
        }
        try requireOther(now, copy.path, file)
        if let last = copy.lastRead, last.device == now.device, last.identity == now.identity, isOurs(file) { return }
        file.dropCachedPages()
        let read = try hashContent(
            of: file, expectedSize: copy.size, work: work, .seeCopy, .destination, path: copy.path)
        guard read == HashedContent(hash: copy.hash, size: copy.size) else { throw doubt(.differs(copy.path)) }
        // Whoever put it there may not have made it durable, and an import that was killed may not have synced the name.
        try filing(.seeCopy, .destination, copy.path) { () throws(SystemCallError) in
            try file.sync()
            try directory.syncDirectory()
        }
    }

    private func openDirectory(of copy: RecordedCopy) throws(FilingError) -> OwnedDescriptor {
        let root: OwnedDescriptor
        do { root = try LinuxKernel.openDirectory(copy.root) } catch { throw lost(copy, error) }
        do { try copy.requirePlace(root) } catch { throw doubt(.otherPlace("\(error)")) }
        do { return try root.openDirectoryBeneath(copy.path.parent) } catch { throw lost(copy, error) }
    }

    private func lost(_ copy: RecordedCopy, _ error: SystemCallError) -> FilingError {
        if isMissing(error.code) { return doubt(.missing(copy.path)) }
        return FilingError(.seeCopy, .destination, .system(error), path: copy.path)
    }

    /// The source of a copy that is taken back, opened by its name anew: its bytes, made durable.
    private func see(_ source: SourceFile, _ hash: ContentHash, _ work: FileWork) throws(FilingError) {
        do throws(FilingError) {
            let now = try SourceFile(source.name, beneath: source.directory)
            try requireOther(now.status, source.path, now.content)
            let mayDiffer = try now.status == source.status ? !tellsEveryChange(now.content, .source) : true
            if mayDiffer {
                guard now.identity.size == source.identity.size, try now.hash(work) == hash else {
                    throw doubt(.differs(source.path))
                }
            }
            try filing(.seeCopy, .source, source.path) { () throws(SystemCallError) in
                try now.content.sync()
                try now.directory.syncDirectory()
            }
        } catch {
            switch error.cause {
            case .refused(.leased): throw error
            case .refused, .sourceChanged: throw doubt(.missing(source.path))
            default: throw error
            }
        }
    }

    /// Throws unless `other` is another file than this one. Two mounts of one network share give it two devices, but one
    /// number and one time; a copy that has them by chance only stays.
    private func requireOther(
        _ other: FileStatus, _ path: BytePath, _ file: borrowing OwnedDescriptor
    ) throws(FilingError) {
        guard other.identity.inode == identity.inode else { return }
        let mayBeElsewhere = other.identity.hasSameContent(as: identity) && !(isOurs(file) && isOurs(content))
        if other.device == status.device || mayBeElsewhere { throw doubt(.sameFile(path)) }
    }

    /// Whether nobody but this machine's kernel changes files there.
    private func isOurs(_ file: borrowing OwnedDescriptor) -> Bool {
        (try? FileSystemStatus(of: file))?.kind.events == .all
    }

    /// Whether files of the size lie at every recorded path.
    private func stand(_ copies: [OtherCopy]) -> Bool {
        copies.allSatisfy { copy in
            guard case .recorded(let copy) = copy else { return true }
            guard let directory = try? openDirectory(of: copy) else { return false }
            return (try? openRegular(copy.path.name, size: copy.size, in: directory, .seeCopy)) ?? nil != nil
        }
    }

    private func doubt(_ doubt: CopyDoubt) -> FilingError {
        FilingError(.seeCopy, .destination, .noOtherCopy(doubt), path: path)
    }
}

/// Moves `aside` to `name`, or to the next free name like it.
func restore(
    _ aside: BytePath, to name: BytePath, in directory: borrowing OwnedDescriptor, _ step: FilingStep, _ path: BytePath
) throws(FilingError) {
    let done = try filing(step, .source, path) { () throws(SystemCallError) in
        try directory.giveNumberedName(like: name, in: directory, to: aside)
    }
    if done == nil { throw .noFreeName(step, path, on: .source) }
}

/// A copy under a name of ours that no record and no person knows: what staging, an import or a trial leaves. The bytes
/// are those of a file that is still where it was.
func removeUnfinished(_ name: BytePath, in directory: borrowing OwnedDescriptor) throws(SystemCallError) {
    precondition(FileNames.isOurs(name) || FileNames.isCopyNumber(name), "not a temporary of ours")
    try directory.unlink(name)
}

/// A file of a trial of a file system, which holds no photo.
func removeTrialFile(_ name: BytePath, in directory: borrowing OwnedDescriptor) throws(SystemCallError) {
    guard try FileStatus(of: name, in: directory).identity.size <= 2 else { return }
    try directory.unlink(name)
}

extension FileIdentity {
    /// Whether it is the same file with the same content, as far as size and time of the last write tell; attributes
    /// and names may have changed.
    package func hasSameContent(as other: FileIdentity) -> Bool {
        inode == other.inode && size == other.size && modified == other.modified
    }
}
