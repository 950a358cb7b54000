package import FileValues
package import LinuxKernel

extension Recovery {
    /// Whether a set of which not every copy stands can be undone: the source of this one is still there with the same
    /// bytes, durably, so its copy is not the only one.
    package func sourceStands(
        of pending: PendingFiling, inbox: borrowing OwnedDescriptor, work: FileWork = FileWork()
    ) throws(FilingError) -> Bool {
        let source: SourceFile
        do { source = try SourceFile(pending.source, beneath: inbox) } catch {
            if case .refused = error.cause { return false }
            throw error
        }
        // Whatever its times say: what matters is that these bytes are there.
        guard source.identity.size == pending.identity.size, try source.hash(work) == pending.hash else { return false }
        try filing(.recover, .source, pending.source) { () throws(SystemCallError) in
            try source.content.sync()
            try source.directory.sync()
        }
        return true
    }

    /// Removes the copy at `path`, which ``recover(_:inbox:library:work:)`` found, of a set that is undone. Only after
    /// ``sourceStands(of:inbox:work:)`` said so, and only if nobody has recorded it.
    package func takeBack(
        _ pending: PendingFiling, at path: BytePath, in library: DestinationRoot, work: FileWork = FileWork()
    ) throws(FilingError) {
        guard let directory = try openParent(of: path, in: library.descriptor, .destination),
            try holds(path.name, in: directory, hash: pending.hash, size: pending.identity.size, work, .recover)
        else { return }
        try filing(.recover, .destination, path) { () throws(SystemCallError) in
            try directory.remove(path.name)
            try directory.sync()
        }
    }
}
