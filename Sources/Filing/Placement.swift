import FileValues
import LinuxKernel
import SystemPackage

/// Places a verified, durable copy of `source` by `plan`. Only reads the source, and records nothing. Leaves no file
/// after an error.
///
/// In a shared root a copy that has its name stays after an error, for recovery.
///
/// Runs all steps of ``StagedFile`` for one file. A set instead stages all its files, names them, and syncs the
/// directory once.
package func place(
    _ source: SourceFile, by plan: PlacementPlan, in root: DestinationRoot, work: FileWork = FileWork()
) throws(FilingError) -> PlacedFile {
    let staged = try StagedFile.stage(plan, from: source, in: root, work: work)
    let placed = try staged.assignName(work: work)
    do { try staged.syncDirectory(work: work) } catch {
        // A second sync may succeed although the first one lost data, so a retry must begin with a new copy.
        if !root.isShared {
            _ = try? root.takeBack(
                placed, token: plan.token, hash: plan.hash, seeing: source, probe: WriterProbe(), work: work)
        }
        throw error
    }
    return placed
}

extension DestinationRoot {
    /// Removes the copy that ``place(_:by:in:work:)`` created, for a filing that could not be recorded, if it is still
    /// the same file and `source` exists unchanged. Returns false if the copy stays. A file that was there before
    /// stays, too.
    package func takeBack(
        _ placed: PlacedFile, token: String, hash: ContentHash, seeing source: SourceFile, probe: WriterProbe,
        work: FileWork = FileWork()
    ) throws(FilingError) -> Bool {
        if placed.wasThere { return true }
        return try takeBack(
            placed.path, like: placed.status, token: token, hash: hash, size: source.identity.size,
            seeing: .source(source, hash), probe: probe, work: work)
    }

    /// Removes the copy at `path`; with `status`, only if it is still that file.
    func takeBack(
        _ path: BytePath, like status: FileStatus? = nil, token: String, hash: ContentHash, size: UInt64,
        seeing other: OtherCopy, probe: WriterProbe, work: FileWork
    ) throws(FilingError) -> Bool {
        let copy: SourceFile
        do { copy = try SourceFile(path, beneath: descriptor) } catch {
            // It is removed or replaced.
            if case .refused(let refusal) = error.cause, refusal != .leased { return true }
            throw error
        }
        if let status {
            if copy.identity.inode != status.identity.inode || copy.status.device != status.device { return true }
        } else {
            // A file known only by its path may be another program's.
            guard copy.identity.size == size, try copy.hash(work) == hash else { return true }
        }
        do throws(FilingError) {
            switch try copy.remove(
                token: token, hash: hash, seeing: [other], probe: probe, work: work)
            {
            case .removed: return true
            case .kept(let error):
                if case .noOtherCopy = error.cause { return false }
                throw error.onDestination
            }
        } catch {
            if case .noOtherCopy = error.cause { return false }
            throw error.onDestination
        }
    }
}

extension FilingError {
    fileprivate var onDestination: FilingError { FilingError(step, .destination, cause, path: path) }
}
