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
        try? withdraw(placed, from: root)
        throw error
    }
    return placed
}

/// Takes back what ``place(_:by:in:work:)`` put there, if it is still the same file: for a filing that could not be
/// recorded. A file that was there before stays.
package func withdraw(_ placed: PlacedFile, from root: DestinationRoot) throws(FilingError) {
    guard let inode = placed.inode else { return }
    try filing(.nameCopy, .destination, placed.path) { () throws(SystemCallError) in
        let directory = try root.descriptor.openDirectoryBeneath(placed.path.parent)
        guard try FileStatus(of: placed.path.name, in: directory).identity.inode == inode else { return }
        try directory.remove(placed.path.name)
        try directory.sync()
    }
}
