package import FileValues
package import LinuxKernel

extension Recovery {
    /// Takes back the copy at `path`, which ``recover(_:inbox:library:work:)`` found, of a filing that is undone: if the
    /// source is still there with the same bytes, which are made durable. False if the copy stays, since it may be the
    /// only one. Only for a copy that nobody has recorded.
    package func takeBack(
        _ pending: PendingFiling, at path: BytePath, inbox: borrowing OwnedDescriptor, in library: DestinationRoot,
        work: FileWork = FileWork()
    ) throws(FilingError) -> Bool {
        let source: SourceFile
        do { source = try SourceFile(pending.source, beneath: inbox) } catch {
            if case .refused(let refusal) = error.cause, refusal != .leased { return false }
            throw error
        }
        // Whatever its times say: what matters is that these bytes are there.
        guard source.identity.size == pending.identity.size, try source.hash(work) == pending.hash else { return false }
        return try library.takeBack(
            path, token: pending.token, hash: pending.hash, seeing: source, probe: probe, work: work)
    }
}
