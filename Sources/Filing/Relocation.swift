package import FileValues
import LinuxKernel
import SystemPackage

/// The result of moving a file from its inbox to quarantine or duplicates.
package enum Relocation: Hashable, Sendable {
    /// It is at this path, relative to the destination's root.
    case moved(BytePath)
    /// It cannot be removed from its inbox and is only there.
    case kept(FilingError)
}

extension SourceFile {
    /// Moves the unchanged file into `subdirectory` of `root`, durably.
    ///
    /// Uses a rename that replaces nothing if both are on one mount that has it, else a verified copy and a removal. The new name
    /// is `newName`, by default its own, with a number if it is taken; with `only`, exactly that name, or
    /// ``FilingError/Cause/noFreeName``. Requires that its bytes are in every one of `copies`. After an error or a
    /// crash, ``Recovery`` needs `token` and `only`.
    package func move(
        to root: DestinationRoot, subdirectory: BytePath = "", as newName: BytePath? = nil, only: BytePath? = nil,
        token: String = FileNames.makeToken(), seeing copies: [OtherCopy] = [], probe: WriterProbe,
        work: FileWork = FileWork()
    ) throws(FilingError) -> Relocation {
        let wanted = root.fitting(newName ?? name)
        work.willEnter(.openDestination)
        let destination = try root.openDirectory(subdirectory)
        work.willEnter(.move)
        try requireUnchanged(.move)
        // Where a rename may replace a file, none is tried: giving the name back takes a link, and NFS keeps a name that was
        // unlinked for as long as the file is open, so that it would have two.
        let renaming =
            root.means.contains(.renameNoReplace)
            ? try rename(to: destination, as: wanted, only, token, copies, probe, work) : .refused
        switch renaming {
        case .renamed(let moved):
            work.willEnter(.syncDestination)
            try filing(.syncDestination, .destination, path) { () throws(SystemCallError) in
                try destination.syncDirectory()
            }
            work.willEnter(.syncSource)
            try syncDirectory()
            return .moved(subdirectory.appending(moved))
        case .kept(let reason): return .kept(reason)
        case .refused:
            // Setting the file aside changed its change time.
            return try reopened().copyAndRemove(to: root, subdirectory, wanted, only, token, copies, probe, work)
        }
    }

    private enum Renaming {
        case renamed(BytePath)
        case kept(FilingError)
        /// A rename is impossible.
        case refused
    }

    private func rename(
        to destination: borrowing OwnedDescriptor, as wanted: BytePath, _ only: BytePath?, _ token: String,
        _ copies: [OtherCopy], _ probe: WriterProbe, _ work: FileWork
    ) throws(FilingError) -> Renaming {
        let there = try filing(.move, .destination, path) { () throws(SystemCallError) in
            try FileStatus(of: destination)
        }
        if there.device != status.device { return .refused }
        let renaming = try FileNames.withFreeNumber { number throws(FilingError) -> Renaming? in
            let candidate = only ?? FileNames.candidate(wanted, attempt: number)
            do throws(FilingError) {
                if copies.isEmpty {
                    do throws(SystemCallError) {
                        try directory.rename(name, to: destination, as: candidate)
                    } catch {
                        throw FilingError(.move, .either, .system(error), path: path)
                    }
                } else if case .kept(let reason) = try move(
                    to: destination, as: candidate, token: token, seeing: copies, probe: probe, work: work)
                {
                    if case .noOtherCopy = reason.cause { return .kept(reason) }
                    return .refused
                }
            } catch {
                switch error.code {
                case .fileExists: return nil
                case .noSuchFileOrDirectory:
                    throw FilingError(.move, .source, .sourceChanged("its name is gone"), path: path)
                // Another mount or an unsupported call; for permissions, only the copy shows which side refuses.
                case .improperLink, .invalidArgument, .noFunction, .notSupported, .permissionDenied, .notPermitted,
                    .readOnlyFileSystem:
                    return .refused
                default: throw error
                }
            }
            try requireArrived(candidate, in: destination)
            return .renamed(candidate)
        } isFree: { number throws(FilingError) in
            if only != nil { throw .noFreeName(.move, path) }
            return try filing(.move, .destination, path) { () throws(SystemCallError) in
                try destination.isFree(FileNames.candidate(wanted, attempt: number))
            }
        }
        guard let renaming else { throw .noFreeName(.move, path) }
        return renaming
    }

    /// Moves the file back and throws if the name belonged to another file at the time of the rename.
    private func requireArrived(_ candidate: BytePath, in destination: borrowing OwnedDescriptor) throws(FilingError) {
        let arrived: FileStatus
        do { arrived = try FileStatus(of: candidate, in: destination) } catch {
            throw FilingError(.move, .destination, .system(error), path: path)
        }
        if arrived.device == status.device, arrived.identity.hasSameContent(as: identity) { return }
        do throws(SystemCallError) {
            _ = try FileNames.withFreeNumber { number throws(SystemCallError) -> Void? in
                try nilIfExists { () throws(SystemCallError) in
                    try destination.rename(candidate, to: directory, as: FileNames.candidate(name, attempt: number))
                }
            } isFree: { number throws(SystemCallError) in
                try directory.isFree(FileNames.candidate(name, attempt: number))
            }
        } catch { throw FilingError(.move, .either, .system(error), path: path) }
        throw FilingError(.move, .source, .sourceChanged("its name led to another file"), path: path)
    }

    private func copyAndRemove(
        to root: DestinationRoot, _ subdirectory: BytePath, _ wanted: BytePath, _ only: BytePath?, _ token: String,
        _ copies: [OtherCopy], _ probe: WriterProbe, _ work: FileWork
    ) throws(FilingError) -> Relocation {
        let hash = try hash(work)
        let plan = PlacementPlan(
            token: token, directory: subdirectory, name: only ?? wanted, isExact: only != nil, hash: hash)
        let placed = try place(self, by: plan, in: root, work: work)
        var kept: Relocation?
        let failure: FilingError
        do {
            let copy = RecordedCopy(
                root: root.path, path: placed.path, hash: hash, size: identity.size, lastRead: placed.status)
            switch try remove(
                token: token, hash: hash, seeing: [.recorded(copy)] + copies, probe: probe, work: work)
            {
            case .removed: return .moved(placed.path)
            case .kept(let reason):
                kept = .kept(reason)
                failure = reason
            }
        } catch { failure = error }
        // The file must be in one place only, so the copy is removed if it is new and the source is certainly there.
        _ = try root.takeBack(placed, token: token, hash: hash, seeing: self, probe: probe, work: work)
        // After an error the source may still be set aside, so it is not reported as kept.
        if let kept { return kept }
        throw failure
    }
}
