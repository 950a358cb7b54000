package import FileValues
package import LinuxKernel
import SystemPackage

/// A filing that was under way when the process ended, from its intent.
package struct PendingFiling: Hashable, Sendable {
    /// Names the temporaries.
    package let token: String
    /// Relative to the inbox.
    package let source: BytePath
    /// The source when it was examined.
    package let identity: FileIdentity
    /// The source's hash.
    package let hash: ContentHash
    /// Relative to the library: the planned path, or the recorded one.
    package let destination: BytePath
    /// Whether the filing was committed to the catalogue.
    package let isRecorded: Bool
    /// See ``PlacementPlan/numberAfter``.
    package let numberAfter: Int?

    package init(
        token: String, source: BytePath, identity: FileIdentity, hash: ContentHash, destination: BytePath,
        isRecorded: Bool, numberAfter: Int? = nil
    ) {
        self.numberAfter = numberAfter
        self.token = token
        self.source = source
        self.identity = identity
        self.hash = hash
        self.destination = destination
        self.isRecorded = isRecorded
    }
}

/// The result of recovering a pending filing. Recovery is idempotent.
package enum Recovered: Hashable, Sendable {
    /// The library has no copy: close the intent. The source, if it still exists, is a normal arrival.
    case undone
    /// A complete, equal and durable copy is in the library at this path, but unrecorded: record it, then recover again
    /// with ``PendingFiling/isRecorded`` set.
    case placed(BytePath)
    /// Filed, recorded, and the source removed: close the intent.
    case finished
    /// Filed and recorded, but the source cannot be removed: record it as kept and close the intent.
    case sourceKept(FilingError)
    /// Filed and recorded, and the source's name has another file now: close the intent; that file is an arrival.
    case sourceReplaced
    /// Recorded, but the library's copy is missing or damaged, so the source stays: close the intent and report it.
    case copyDamaged
}

/// Completes or reverses filings that a crash interrupted. Runs on the file queue before anything else is filed.
package struct Recovery: Sendable {
    let probe: WriterProbe
    /// See ``RecordedCopy/requirePlace``; for the library.
    let requirePlace: @Sendable (borrowing OwnedDescriptor) throws -> Void

    package init(
        probe: WriterProbe, requirePlace: @escaping @Sendable (borrowing OwnedDescriptor) throws -> Void = { _ in }
    ) {
        self.probe = probe
        self.requirePlace = requirePlace
    }

    /// Completes or reverses `pending`. Throws if a retry may succeed; the intent must then be kept.
    package func recover(
        _ pending: PendingFiling, inbox: borrowing OwnedDescriptor, library: DestinationRoot,
        work: FileWork = FileWork()
    ) throws(FilingError) -> Recovered {
        work.willEnter(.recover)
        try removeTemporary(pending.token, beside: pending.destination, in: library)
        // A copy whose removal was interrupted.
        try bringBack(pending.destination, pending.token, in: library.descriptor, .destination)
        guard pending.isRecorded else {
            try bringBack(pending.source, pending.token, in: inbox)
            guard let path = try findCopy(of: pending, in: library, work) else { return .undone }
            return .placed(path)
        }
        // Restore its name, so that the normal removal applies.
        try bringBack(pending.source, pending.token, in: inbox)
        guard let copy = try recordedCopy(of: pending, in: library, work) else { return .copyDamaged }
        return try removeSource(of: pending, in: inbox, seeing: copy, work)
    }

    package func removeTemporary(
        _ token: String, beside path: BytePath, in root: DestinationRoot
    ) throws(FilingError) {
        guard let directory = try openParent(of: path, in: root.descriptor, .destination) else { return }
        do { try removeUnfinished(FileNames.temporary(token), in: directory) } catch {
            // The usual case of a temporary without a name.
            if error.code == .noSuchFileOrDirectory { return }
            throw FilingError(.recover, .destination, .system(error), path: path)
        }
        try filing(.recover, .destination, path) { () throws(SystemCallError) in try directory.syncDirectory() }
    }

    /// Restores the name of a file that was set aside, even if it is not the file that was filed.
    package func bringBack(
        _ path: BytePath, _ token: String, in root: borrowing OwnedDescriptor, _ side: FilingError.Side = .source
    ) throws(FilingError) {
        let aside = FileNames.aside(token)
        guard let directory = try openParent(of: path, in: root, side) else { return }
        do { _ = try FileStatus(of: aside, in: directory) } catch {
            if error.code == .noSuchFileOrDirectory { return }
            throw FilingError(.recover, side, .system(error), path: path)
        }
        try restore(aside, to: path.name, in: directory, .recover, path)
        try filing(.recover, side, path) { () throws(SystemCallError) in try directory.syncDirectory() }
    }

    private func findCopy(
        of pending: PendingFiling, in library: DestinationRoot, _ work: FileWork
    ) throws(FilingError) -> BytePath? {
        try findCopies(of: pending, atMost: 1, in: library, work).first
    }

    /// Returns the paths of whole, durable copies under the names that the filing may have given.
    package func findCopies(
        of pending: PendingFiling, atMost limit: Int = .max, in library: DestinationRoot, _ work: FileWork = FileWork()
    ) throws(FilingError) -> [BytePath] {
        guard let directory = try openParent(of: pending.destination, in: library.descriptor, .destination) else {
            return []
        }
        var found: [BytePath] = []
        let (wanted, size) = (pending.destination.name, pending.identity.size)
        // It may have any number, and lower numbers may be free by now.
        let numbers = try filing(.recover, .destination, pending.destination) { () throws(SystemCallError) in
            try FileNames.numbers(like: wanted, numberAfter: pending.numberAfter, in: directory)
        }
        for number in numbers where found.count < limit {
            let name = FileNames.candidate(wanted, attempt: number, numberAfter: pending.numberAfter)
            if try verifiedFile(name, in: directory, hash: pending.hash, size: size, work, .recover) != nil {
                // Opened again through the root, which syncs the directories above.
                let parent = try library.openDirectory(pending.destination.parent)
                try filing(.recover, .destination, pending.destination) { () throws(SystemCallError) in
                    try parent.syncDirectory()
                }
                found.append(pending.destination.parent.appending(name))
            }
        }
        return found
    }

    private func recordedCopy(
        of pending: PendingFiling, in library: DestinationRoot, _ work: FileWork
    ) throws(FilingError) -> RecordedCopy? {
        guard let directory = try openParent(of: pending.destination, in: library.descriptor, .destination),
            let status = try verifiedFile(
                pending.destination.name, in: directory, hash: pending.hash, size: pending.identity.size, work, .recover
            )
        else { return nil }
        return RecordedCopy(
            root: library.path, path: pending.destination, hash: pending.hash, size: pending.identity.size,
            lastRead: status, requirePlace: requirePlace)
    }

    private func removeSource(
        of pending: PendingFiling, in inbox: borrowing OwnedDescriptor, seeing copy: RecordedCopy, _ work: FileWork
    ) throws(FilingError) -> Recovered {
        let source: SourceFile
        do { source = try SourceFile(pending.source, beneath: inbox) } catch {
            switch error.cause {
            case .refused(.gone):
                // It may have been unlinked just before the crash, and the directory not yet synced.
                if let directory = try openParent(of: pending.source, in: inbox, .source) {
                    try filing(.recover, .source, pending.source) { () throws(SystemCallError) in
                        try directory.syncDirectory()
                    }
                }
                return .finished
            case .refused: return .sourceReplaced
            default: throw error
            }
        }
        // Setting it aside and restoring its name changed its change time, so the bytes are compared.
        guard source.identity.hasSameContent(as: pending.identity), try source.hash(work) == pending.hash else {
            return .sourceReplaced
        }
        // Throws if it was changed or opened since it was read; the retry then compares it again.
        switch try source.remove(
            token: pending.token, hash: pending.hash, seeing: [.recorded(copy)], probe: probe, work: work)
        {
        case .removed: return .finished
        case .kept(let reason): return .sourceKept(reason)
        }
    }

    /// Opens the parent directory of `path`; nil if there is no longer a path of plain directories to it.
    func openParent(
        of path: BytePath, in root: borrowing OwnedDescriptor, _ side: FilingError.Side
    ) throws(FilingError) -> OwnedDescriptor? {
        do { return try root.openDirectoryBeneath(path.parent) } catch {
            if [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(error.code) { return nil }
            throw FilingError(.recover, side, .system(error), path: path)
        }
    }
}
