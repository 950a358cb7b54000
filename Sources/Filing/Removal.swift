package import FileValues
import LinuxKernel
import SystemPackage

/// What became of a source whose photo is filed and recorded.
package enum Removal: Hashable, Sendable {
    case removed
    /// It can't be removed (read-only inbox, no permission): filed, source kept.
    case kept(FilingError)
}

extension SourceFile {
    /// Removes the source, after its photo was filed, synced and recorded, and makes that durable.
    ///
    /// Looking at a name and then unlinking it would delete whatever another program puts under that name in between.
    /// So the name is first moved aside (``FileNames/aside(_:)``), where nobody else looks; then the file is compared
    /// with what was filed, and asked for writers once more, since from now on it can't be opened by its old name;
    /// then it is unlinked. If it is another file or was written to, it gets its name back, and the error says so.
    ///
    /// With `hash`, that of what was filed, the bytes are read again where times may hide a change; see
    /// ``ChangeTimes``. Without `syncing`, who calls makes it durable with ``syncDirectory(work:)``: the sources of a set
    /// share that.
    ///
    /// Throws ``FilingError/Cause/sourceChanged(_:)``; a source that is gone counts as changed.
    package func remove(
        token: String, hash: ContentHash? = nil, probe: WriterProbe, work: FileWork = FileWork(), syncing: Bool = true,
        timesTellEverything: Bool? = nil
    ) throws(FilingError) -> Removal {
        work.willEnter(.setSourceAside)
        try requireUnchanged(.setSourceAside)
        let aside = FileNames.aside(token)
        let standsAside: Bool
        do { standsAside = try setAside(as: aside) } catch {
            if error.kind == .permission || error.kind == .readOnly { return .kept(error) }
            throw error
        }
        work.willEnter(.checkSourceAgain)
        if standsAside {
            do {
                try requireSame(under: aside, probe)
                try requireSameBytes(hash, timesTellEverything, work)
            } catch {
                try putBack(aside)
                throw error
            }
        } else {
            // No way to move aside here: the old look, then unlink, with a moment between them.
            try requireUnchanged(.checkSourceAgain)
        }
        work.willEnter(.removeSource)
        do { try directory.remove(standsAside ? aside : name) } catch {
            let failure = FilingError(.removeSource, .source, .system(error), path: path)
            if standsAside { try putBack(aside) }
            if failure.kind == .permission || failure.kind == .readOnly { return .kept(failure) }
            throw failure
        }
        if syncing { try syncDirectory(work: work) }
        return .removed
    }

    /// Makes the loss of the name durable.
    package func syncDirectory(work: FileWork = FileWork()) throws(FilingError) {
        work.willEnter(.syncSource)
        try filing(.syncSource, .source, path) { () throws(SystemCallError) in try directory.sync() }
    }

    /// False where the file system can't move without replacing.
    private func setAside(as aside: BytePath) throws(FilingError) -> Bool {
        do {
            try directory.rename(name, to: directory, as: aside)
            return true
        } catch {
            switch error.code {
            case .invalidArgument, .noFunction, .notSupported: return false
            case .noSuchFileOrDirectory:
                throw FilingError(.setSourceAside, .source, .sourceChanged("its name is gone"), path: path)
            default: throw FilingError(.setSourceAside, .source, .system(error), path: path)
            }
        }
    }

    /// Whether the file under `aside` is the one that is open here, with its content as it was. The rename itself has
    /// changed the change time, so that is left out.
    private func requireSame(under aside: BytePath, _ probe: WriterProbe) throws(FilingError) {
        let named = try filing(.checkSourceAgain, .source, path) { () throws(SystemCallError) in
            try FileStatus(of: aside, in: directory)
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
        if let difference {
            throw FilingError(.checkSourceAgain, .source, .sourceChanged(difference), path: path)
        }
    }

    /// Reads the file once more, where a write right after it was read the first time may have left its times alone.
    /// Nobody can open it by its old name now, and nobody has it open for writing.
    private func requireSameBytes(
        _ hash: ContentHash?, _ timesTellEverything: Bool?, _ work: FileWork
    ) throws(FilingError) {
        guard let hash else { return }
        let kind = try? FileSystemStatus(of: content).kind
        if timesTellEverything ?? (kind.map { ChangeTimes.tellEverything(on: $0) } ?? false) { return }
        let read = try hashContent(
            of: content, expectedSize: identity.size, work: work, .checkSourceAgain, .source, path: path)
        if read != HashedContent(hash: hash, size: identity.size) {
            throw FilingError(.checkSourceAgain, .source, .sourceChanged("its bytes are others"), path: path)
        }
    }

    /// Gives the file its name back, or one like it if that is taken now. If even that fails it stays under its aside
    /// name until ``Recovery`` comes by.
    private func putBack(_ aside: BytePath) throws(FilingError) {
        try restore(aside, to: name, in: directory, .checkSourceAgain, path)
    }
}

/// Moves `aside` to `name`, or to the next free name like it.
func restore(
    _ aside: BytePath, to name: BytePath, in directory: borrowing OwnedDescriptor, _ step: FilingStep, _ path: BytePath
) throws(FilingError) {
    for attempt in 0..<StagedFile.attempts {
        do {
            try directory.rename(aside, to: directory, as: FileNames.candidate(name, attempt: attempt))
            return
        } catch {
            guard error.code == .fileExists else { throw FilingError(step, .source, .system(error), path: path) }
        }
    }
    throw FilingError(step, .source, .noFreeName, path: path)
}

extension FileIdentity {
    /// Whether it is the same file with the same content, as far as size and time of the last write tell; attributes
    /// and names may have changed.
    package func hasSameContent(as other: FileIdentity) -> Bool {
        inode == other.inode && size == other.size && modified == other.modified
    }
}
