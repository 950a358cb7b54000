import FileValues
import LinuxKernel
import SystemPackage

/// Puts a copy of `source` where `plan` says, durably and verified, and returns what stands there. The source is only
/// read; nothing is recorded. On any error nothing of ours is left.
///
/// The whole of ``StagedFile`` for one file; a set stages all its files first, then names them, then syncs each
/// directory once.
package func place(
    _ source: SourceFile, by plan: PlacementPlan, in root: DestinationRoot, work: FileWork = FileWork()
) throws(FilingError) -> PlacedFile {
    let staged = try StagedFile.stage(plan, from: source, in: root, work: work)
    let placed = try staged.giveName(work: work)
    do { try staged.syncDirectory(work: work) } catch {
        // A second sync could succeed without what the first one lost, so the copy is made anew another time.
        _ = try? root.takeBack(
            placed, token: plan.token, hash: plan.hash, seeing: source, probe: WriterProbe(), work: work)
        throw error
    }
    return placed
}

extension DestinationRoot {
    /// Takes back what ``place(_:by:in:work:)`` put there, for a filing that could not be recorded: removes it if it is
    /// still the same file and `source` is seen standing, unchanged. False if it stays. A file that was there before stays.
    package func takeBack(
        _ placed: PlacedFile, token: String, hash: ContentHash, seeing source: SourceFile, probe: WriterProbe,
        work: FileWork = FileWork()
    ) throws(FilingError) -> Bool {
        if placed.wasThere { return true }
        return try takeBack(
            placed.path, like: placed.status, token: token, hash: hash, seeing: source, probe: probe, work: work)
    }

    /// The same for the file at `path`; with `status`, only if it is still that one.
    func takeBack(
        _ path: BytePath, like status: FileStatus? = nil, token: String, hash: ContentHash, seeing source: SourceFile,
        probe: WriterProbe, work: FileWork
    ) throws(FilingError) -> Bool {
        let copy: SourceFile
        do { copy = try SourceFile(path, beneath: descriptor) } catch {
            // Gone, or not what was put there.
            if case .refused(let refusal) = error.cause, refusal != .leased { return true }
            throw error
        }
        if let status {
            if copy.identity.inode != status.identity.inode || copy.status.device != status.device { return true }
        } else {
            // What is found by its path alone may be somebody else's file.
            guard copy.identity.size == source.identity.size, try copy.hash(work) == hash else { return true }
        }
        do throws(FilingError) {
            switch try copy.remove(
                token: token, hash: hash, seeing: [.source(source, hash)], probe: probe, work: work)
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
    /// The same error of a file in a destination.
    fileprivate var onDestination: FilingError { FilingError(step, .destination, cause, path: path) }
}
