package import FileValues
import LinuxKernel
import SystemPackage

// The only code that removes photos' files. Bytes are removed only after the same bytes were verified in another file:
// each unlink(2) here consumes a warrant, which only this file can create. `SourceSearchTests` checks the other
// sources.

/// The result of a removal.
package enum Removal: Hashable, Sendable {
    case removed
    /// It cannot be removed (read-only inbox, no permission, no other file with its bytes) and keeps its name.
    case kept(FilingError)
}

/// Proof that the bytes of a file that is set aside were just verified in another file. Permits one removal.
private struct VerifiedCopy: ~Copyable {
    let aside: BytePath
}

/// A person's decision to delete a file without another copy: its `discard` is recorded, and its time in the trash is
/// over. Permits one removal.
package struct DiscardOrder: ~Copyable {
    /// The number of the request.
    let request: Int64

    package init(request: Int64) { self.request = request }
}

private enum Warrant: ~Copyable {
    case verified(VerifiedCopy)
    case discarded(DiscardOrder)
}

extension SourceFile {
    /// Removes the file durably, if its bytes are in every one of `copies`.
    ///
    /// Checking a name and then unlinking it would delete a file that another program creates under that name in
    /// between, and a copy may be this same file by another path. So the file is first renamed
    /// (``FileNames/aside(_:)``), so that no program can open it by its old name; then it is compared with the opened
    /// file and probed for writers again; then each copy is opened by its recorded path and compared; then the file is
    /// unlinked. A failure restores the name.
    ///
    /// With `hash`, that of the content, the bytes are read again where times are unreliable; see ``ChangeTimes``.
    /// Without `syncing`, the caller makes the removal durable with ``syncDirectory(work:)``, once for all sources of a
    /// set.
    ///
    /// Throws ``FilingError/Cause/sourceChanged(_:)``, also for a missing source, and
    /// ``FilingError/Cause/noOtherCopy(_:)``.
    package func remove(
        token: String, hash: ContentHash? = nil, seeing copies: [OtherCopy], probe: WriterProbe,
        work: FileWork = FileWork(), syncing: Bool = true, areTimesReliable: Bool? = nil
    ) throws(FilingError) -> Removal {
        if copies.isEmpty { throw noOtherCopy(.unrecorded) }
        let removal = try setAside(token, hash, copies, probe, work, areTimesReliable) { aside throws(FilingError) in
            try unlink(aside, .verified(try verify(copies, of: hash, inPlaceOf: aside, work)), work)
        }
        if syncing, removal == .removed { try syncDirectory(work: work) }
        return removal
    }

    /// Removes the file by a person's decision, without another copy.
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

    /// Moves the file to `name` of `directory` on the same mount without replacing a file, if its bytes are in every
    /// one of `copies`: a duplicate must not be the copy that it duplicates. Throws the errors of
    /// ``remove(token:hash:seeing:probe:work:syncing:areTimesReliable:)``, and EEXIST and EXDEV of renameat2(2).
    func move(
        to directory: borrowing OwnedDescriptor, as name: BytePath, token: String, seeing copies: [OtherCopy],
        probe: WriterProbe, work: FileWork
    ) throws(FilingError) -> Removal {
        // Fail early if possible, since setting the file aside and back causes events for watchers.
        if probe.probe(self) == .writerOpen { throw changed("a program has opened it for writing") }
        try requirePresence(of: copies)
        return try setAside(token, nil, copies, probe, work, nil) { aside throws(FilingError) in
            _ = try verify(copies, of: nil, inPlaceOf: aside, work)
            do throws(SystemCallError) { try self.directory.rename(aside, to: directory, as: name) } catch {
                throw FilingError(.move, .either, .system(error), path: path)
            }
        }
    }

    /// Makes the removal of the name durable.
    package func syncDirectory(work: FileWork = FileWork()) throws(FilingError) {
        work.willEnter(.syncSource)
        try filing(.syncSource, .source, path) { () throws(SystemCallError) in try directory.syncDirectory() }
    }

    /// Sets the file aside and calls `body` with its new name. A failure restores the old one.
    private func setAside(
        _ token: String, _ hash: ContentHash?, _ copies: [OtherCopy], _ probe: WriterProbe, _ work: FileWork,
        _ areTimesReliable: Bool?, then body: (BytePath) throws(FilingError) -> Void
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
            try requireSame(under: aside, probe, hash, areTimesReliable, work)
            try body(aside)
            return .removed
        } catch {
            try restore(aside, to: name, in: directory, .checkSourceAgain, path)
            if error.kind == .permission || error.kind == .readOnly, error.step == .removeSource { return .kept(error) }
            guard case .noOtherCopy(let reason) = error.cause else { throw error }
            if case .sameFile = reason { return .kept(error) }
            // The copy was missing while this name was, and exists again: they are one file with two paths.
            if case .missing(let copy) = reason, exist(copies) {
                return .kept(FilingError(.seeCopy, .either, .noOtherCopy(.sameFile(copy)), path: path))
            }
            throw error
        }
    }

    private func unlink(_ aside: BytePath, _ warrant: consuming Warrant, _ work: FileWork) throws(FilingError) {
        switch consume warrant {
        case .verified(let copy): precondition(copy.aside == aside, "a warrant for another file")
        case .discarded: break
        }
        work.willEnter(.removeSource)
        try filing(.removeSource, .source, path) { () throws(SystemCallError) in try directory.unlink(aside) }
    }

    /// Renames the file to `aside`. If the file system cannot rename without replacing, the 128 random bits of that
    /// name suffice.
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

    /// Needed because a token may be used again after a crash.
    private func requireFree(_ aside: BytePath) throws(SystemCallError) {
        do { _ = try FileStatus(of: aside, in: directory) } catch {
            if error.code == .noSuchFileOrDirectory { return }
            throw error
        }
        throw SystemCallError("renameat", .fileExists, path: aside)
    }

    /// Throws unless the file under `aside` is the open one with unchanged content. Ignores the change time, which the
    /// rename itself has changed. Opens it by its name, since network file systems then compare their cache with the
    /// server.
    private func requireSame(
        under aside: BytePath, _ probe: WriterProbe, _ hash: ContentHash?, _ areTimesReliable: Bool?,
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
        if let areTimesReliable {
            isUnchanged = areTimesReliable
        } else {
            isUnchanged = try hasReliableTimes(file, .source)
        }
        if isUnchanged { return }
        let read = try hashContent(
            of: file, expectedSize: identity.size, work: work, .checkSourceAgain, .source, path: path)
        if read != HashedContent(hash: hash, size: identity.size) { throw changed("its bytes are others") }
    }

    private func changed(_ how: String) -> FilingError {
        FilingError(.checkSourceAgain, .source, .sourceChanged(how), path: path)
    }

    private func hasReliableTimes(
        _ file: borrowing OwnedDescriptor, _ side: FilingError.Side
    ) throws(FilingError) -> Bool {
        let kind = try filing(.checkSourceAgain, side, path) { () throws(SystemCallError) in
            try FileSystemStatus(of: file).kind
        }
        return ChangeTimes.areReliable(on: kind)
    }

    // MARK: - The other copies

    private func verify(
        _ copies: [OtherCopy], of hash: ContentHash?, inPlaceOf aside: BytePath, _ work: FileWork
    ) throws(FilingError) -> VerifiedCopy {
        work.willEnter(.seeCopy)
        if copies.isEmpty { throw noOtherCopy(.unrecorded) }
        for copy in copies {
            switch copy {
            case .recorded(let copy): try verify(copy, work)
            case .source(let source, let hash): try verify(source, hash, work)
            case .stored(let stored): if stored != hash { throw noOtherCopy(.unrecorded) }
            }
        }
        return VerifiedCopy(aside: aside)
    }

    /// Throws if no copy is known, or if one is missing, without reading any.
    private func requirePresence(of copies: [OtherCopy]) throws(FilingError) {
        if copies.isEmpty { throw noOtherCopy(.unrecorded) }
        for case .recorded(let copy) in copies where !copy.mayExist { throw noOtherCopy(.missing(copy.path)) }
    }

    private func verify(_ copy: RecordedCopy, _ work: FileWork) throws(FilingError) {
        let directory = try openDirectory(of: copy)
        var opened: OwnedDescriptor?
        do { opened = try openRegular(copy.path.name, size: copy.size, in: directory, .seeCopy) } catch {
            guard isMissing(error.code) else { throw error }
        }
        guard let file = opened.take() else { throw noOtherCopy(.missing(copy.path)) }
        let now = try filing(.seeCopy, .destination, copy.path) { () throws(SystemCallError) in
            try FileStatus(of: file)
        }
        try requireOther(now, copy.path, file)
        if let last = copy.lastRead, last.device == now.device, last.identity == now.identity, isLocal(file) { return }
        file.dropCachedPages()
        let read = try hashContent(
            of: file, expectedSize: copy.size, work: work, .seeCopy, .destination, path: copy.path)
        guard read == HashedContent(hash: copy.hash, size: copy.size) else { throw noOtherCopy(.differs(copy.path)) }
        // Its creator may not have synced it, and an import that was killed may not have synced the name.
        try filing(.seeCopy, .destination, copy.path) { () throws(SystemCallError) in
            try file.sync()
            try directory.syncDirectory()
        }
    }

    private func openDirectory(of copy: RecordedCopy) throws(FilingError) -> OwnedDescriptor {
        let root: OwnedDescriptor
        do { root = try LinuxKernel.openDirectory(copy.root) } catch { throw unreachable(copy, error) }
        do { try copy.requirePlace(root) } catch { throw noOtherCopy(.otherPlace("\(error)")) }
        do { return try root.openDirectoryBeneath(copy.path.parent) } catch { throw unreachable(copy, error) }
    }

    private func unreachable(_ copy: RecordedCopy, _ error: SystemCallError) -> FilingError {
        if isMissing(error.code) { return noOtherCopy(.missing(copy.path)) }
        return FilingError(.seeCopy, .destination, .system(error), path: copy.path)
    }

    /// Verifies the source of a copy that is to be removed, opened again by its name, and makes it durable.
    private func verify(_ source: SourceFile, _ hash: ContentHash, _ work: FileWork) throws(FilingError) {
        do throws(FilingError) {
            let now = try SourceFile(source.name, beneath: source.directory)
            try requireOther(now.status, source.path, now.content)
            let mayDiffer = try now.status == source.status ? !hasReliableTimes(now.content, .source) : true
            if mayDiffer {
                guard now.identity.size == source.identity.size, try now.hash(work) == hash else {
                    throw noOtherCopy(.differs(source.path))
                }
            }
            try filing(.seeCopy, .source, source.path) { () throws(SystemCallError) in
                try now.content.sync()
                try now.directory.syncDirectory()
            }
        } catch {
            switch error.cause {
            case .refused(.leased): throw error
            case .refused, .sourceChanged: throw noOtherCopy(.missing(source.path))
            default: throw error
            }
        }
    }

    /// Throws unless `other` is another file than this one. On two mounts of a network share a file has two devices,
    /// but one inode and one time; if another file has these by chance, nothing is removed.
    private func requireOther(
        _ other: FileStatus, _ path: BytePath, _ file: borrowing OwnedDescriptor
    ) throws(FilingError) {
        guard other.identity.inode == identity.inode else { return }
        let mayBeSame = other.identity.hasSameContent(as: identity) && !(isLocal(file) && isLocal(content))
        if other.device == status.device || mayBeSame { throw noOtherCopy(.sameFile(path)) }
    }

    /// Whether only this machine's kernel changes the file system.
    private func isLocal(_ file: borrowing OwnedDescriptor) -> Bool {
        (try? FileSystemStatus(of: file))?.kind.events == .all
    }

    /// Whether every recorded path has a file of the right size.
    private func exist(_ copies: [OtherCopy]) -> Bool {
        copies.allSatisfy { copy in
            guard case .recorded(let copy) = copy else { return true }
            guard let directory = try? openDirectory(of: copy) else { return false }
            return (try? openRegular(copy.path.name, size: copy.size, in: directory, .seeCopy)) ?? nil != nil
        }
    }

    private func noOtherCopy(_ reason: CopyDoubt) -> FilingError {
        FilingError(.seeCopy, .destination, .noOtherCopy(reason), path: path)
    }
}

/// Renames `aside` to `name`, or to a free name like it.
func restore(
    _ aside: BytePath, to name: BytePath, in directory: borrowing OwnedDescriptor, _ step: FilingStep, _ path: BytePath
) throws(FilingError) {
    let done = try filing(step, .source, path) { () throws(SystemCallError) in
        try directory.moveToFreeName(aside, in: directory, like: name)
    }
    if done == nil { throw .noFreeName(step, path, on: .source) }
}

/// Removes a temporary of staging, an import or a trial. It is recorded nowhere, and its bytes are those of a file that
/// is still in its place.
func removeUnfinished(_ name: BytePath, in directory: borrowing OwnedDescriptor) throws(SystemCallError) {
    precondition(FileNames.isOurs(name) || FileNames.isCopyNumber(name), "not a temporary of ours")
    try directory.unlink(name)
}

/// Removes a file of a file system's trial, which contains no photo.
func removeTrialFile(_ name: BytePath, in directory: borrowing OwnedDescriptor) throws(SystemCallError) {
    guard try FileStatus(of: name, in: directory).identity.size <= 2 else { return }
    try directory.unlink(name)
}

extension FileIdentity {
    /// Whether it is the same file with the same content, as far as size and modification time show. Attributes and
    /// names may have changed.
    package func hasSameContent(as other: FileIdentity) -> Bool {
        inode == other.inode && size == other.size && modified == other.modified
    }
}
