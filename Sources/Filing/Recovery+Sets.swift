package import FileValues
package import LinuxKernel

extension Recovery {
    /// Removes the unrecorded copy at `path` that ``recover(_:inbox:library:work:)`` found, to reverse its filing, if
    /// the source is still there with the same bytes, which are then made durable. Returns false if the copy stays
    /// because it may be the only one.
    package func takeBack(
        _ pending: PendingFiling, at path: BytePath, inbox: borrowing OwnedDescriptor, in library: DestinationRoot,
        work: FileWork = FileWork()
    ) throws(FilingError) -> Bool {
        let source: SourceFile
        do { source = try SourceFile(pending.source, beneath: inbox) } catch {
            if case .refused(let refusal) = error.cause, refusal != .leased { return false }
            throw error
        }
        // Times are ignored; only the bytes matter.
        guard source.identity.size == pending.identity.size, try source.hash(work) == pending.hash else { return false }
        return try library.takeBack(
            path, token: pending.token, hash: pending.hash, size: pending.identity.size,
            seeing: .source(source, pending.hash), probe: probe, work: work)
    }

    /// Removes the unrecorded copy at `path` if `other`, which is recorded, still stands. Returns false if the copy stays.
    package func removeCopy(
        of pending: PendingFiling, at path: BytePath, in library: DestinationRoot, seeing other: RecordedCopy
    ) throws(FilingError) -> Bool {
        try library.takeBack(
            path, token: pending.token, hash: pending.hash, size: pending.identity.size, seeing: .recorded(other),
            probe: probe, work: FileWork())
    }
}
