package import FileValues
import LinuxKernel
import SystemPackage

/// What became of a file that was to leave its inbox for quarantine or duplicates.
package enum Relocation: Hashable, Sendable {
    /// It stands there now, under this path relative to that root.
    case moved(BytePath)
    /// It can't be taken away from its inbox and is only there.
    case kept(FilingError)
}

extension SourceFile {
    /// Moves the file, unchanged, into `subdirectory` of `root`: by a rename that replaces nothing where both lie on one
    /// mount, else by a verified copy and a removal. It gets `newName`, its own by default; a taken name gets a suffix, or
    /// is ``FilingError/Cause/noFreeName`` if it must be `only`. Durable when it returns; what an error or a crash leaves
    /// is for ``Recovery``, which needs to know `token` and `only`.
    package func move(
        to root: DestinationRoot, subdirectory: BytePath = "", as newName: BytePath? = nil, only: BytePath? = nil,
        token: String = FileNames.makeToken(), probe: WriterProbe, work: FileWork = FileWork()
    ) throws(FilingError) -> Relocation {
        let wanted = newName ?? name
        work.willEnter(.openDestination)
        let destination = try root.openDirectory(subdirectory)
        work.willEnter(.move)
        try requireUnchanged(.move)
        if let moved = try rename(to: destination, as: wanted, only) {
            work.willEnter(.syncDestination)
            try filing(.syncDestination, .destination, path) { () throws(SystemCallError) in try destination.sync() }
            work.willEnter(.syncSource)
            try syncDirectory()
            return .moved(subdirectory.appending(moved))
        }
        return try copyAndRemove(to: root, subdirectory, wanted, only, token, probe, work)
    }

    /// The name it got; nil if a rename can't do it.
    private func rename(
        to destination: borrowing OwnedDescriptor, as wanted: BytePath, _ only: BytePath?
    ) throws(FilingError) -> BytePath? {
        for attempt in 0..<(only == nil ? StagedFile.attempts : 1) {
            let candidate = only ?? FileNames.candidate(wanted, attempt: attempt)
            do {
                try directory.rename(name, to: destination, as: candidate)
            } catch {
                switch error.code {
                case .fileExists: continue
                case .noSuchFileOrDirectory:
                    throw FilingError(.move, .source, .sourceChanged("its name is gone"), path: path)
                // Other mounts, or no such rename; and with permissions only the copy tells which side refuses.
                case .improperLink, .invalidArgument, .noFunction, .notSupported, .permissionDenied, .notPermitted,
                    .readOnlyFileSystem:
                    return nil
                default: throw FilingError(.move, .either, .system(error), path: path)
                }
            }
            try requireArrived(candidate, in: destination)
            return candidate
        }
        throw FilingError(.move, .destination, .noFreeName, path: path)
    }

    /// The name may have led to another file by the time of the rename; that one goes back.
    private func requireArrived(_ candidate: BytePath, in destination: borrowing OwnedDescriptor) throws(FilingError) {
        let arrived: FileStatus
        do { arrived = try FileStatus(of: candidate, in: destination) } catch {
            throw FilingError(.move, .destination, .system(error), path: path)
        }
        if arrived.device == status.device, arrived.identity.hasSameContent(as: identity) { return }
        for attempt in 0..<StagedFile.attempts {
            do {
                try destination.rename(candidate, to: directory, as: FileNames.candidate(name, attempt: attempt))
                break
            } catch {
                guard error.code == .fileExists else { throw FilingError(.move, .either, .system(error), path: path) }
            }
        }
        throw FilingError(.move, .source, .sourceChanged("its name led to another file"), path: path)
    }

    private func copyAndRemove(
        to root: DestinationRoot, _ subdirectory: BytePath, _ wanted: BytePath, _ only: BytePath?, _ token: String,
        _ probe: WriterProbe, _ work: FileWork
    ) throws(FilingError) -> Relocation {
        let hash = try hash(work)
        let plan = PlacementPlan(
            token: token, directory: subdirectory, name: only ?? wanted, isExact: only != nil, hash: hash)
        let placed = try place(self, by: plan, in: root, work: work)
        var kept: Relocation?
        let failure: FilingError
        do {
            switch try remove(token: token, hash: hash, probe: probe, work: work) {
            case .removed: return .moved(placed.path)
            case .kept(let reason):
                kept = .kept(reason)
                failure = reason
            }
        } catch { failure = error }
        // One file, one place: the copy goes again, if it is ours and the source is certainly there.
        if !placed.wasThere, (try? requireStanding(.move)) != nil {
            let parent = try root.openDirectory(subdirectory)
            try filing(.move, .destination, placed.path) { () throws(SystemCallError) in
                try parent.remove(placed.path.name)
                try parent.sync()
            }
        }
        // Whatever was thrown may have left the source under its aside name: that is no file that stays.
        if let kept { return kept }
        throw failure
    }
}
