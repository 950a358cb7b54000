package import FileValues
package import LinuxKernel
import SystemPackage

/// A filing that was under way when the process ended, as its intent row tells.
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
    /// Whether the commit to the catalogue had happened.
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

/// What recovery made of a pending filing. It changes nothing if it is done again.
package enum Recovered: Hashable, Sendable {
    /// Nothing of it stands in the library: close the intent. The source, if it is still there, is an arrival like any.
    case undone
    /// The copy stands in the library under this path, whole, equal and durable, but unrecorded: record it, then
    /// recover again with ``PendingFiling/isRecorded`` set.
    case placed(BytePath)
    /// Filed and recorded, and the source was removed, now or before: close the intent.
    case finished
    /// Filed and recorded; the source can't be removed: remember it as kept and close the intent.
    case sourceKept(FilingError)
    /// Filed and recorded, but what lies under the source's name is something else now: close the intent, take it as
    /// an arrival.
    case sourceReplaced
    /// Recorded, but the library's copy is missing or damaged: the source stays; close the intent and report it.
    case copyDamaged
}

/// Finishes or undoes what a crash interrupted. Runs on the file queue before anything else is filed.
package struct Recovery: Sendable {
    let probe: WriterProbe
    /// See ``RecordedCopy/requirePlace``; of the library.
    let requirePlace: @Sendable (borrowing OwnedDescriptor) throws -> Void

    package init(
        probe: WriterProbe, requirePlace: @escaping @Sendable (borrowing OwnedDescriptor) throws -> Void = { _ in }
    ) {
        self.probe = probe
        self.requirePlace = requirePlace
    }

    /// Looks at what is left of `pending` and completes or removes it. Throws where a later try could do better; the
    /// intent then stays.
    package func recover(
        _ pending: PendingFiling, inbox: borrowing OwnedDescriptor, library: DestinationRoot,
        work: FileWork = FileWork()
    ) throws(FilingError) -> Recovered {
        work.willEnter(.recover)
        try removeTemporary(pending.token, beside: pending.destination, in: library)
        // A copy that was being taken back.
        try bringBack(pending.destination, pending.token, in: library.descriptor, .destination)
        guard pending.isRecorded else {
            try bringBack(pending.source, pending.token, in: inbox)
            guard let path = try findCopy(of: pending, in: library, work) else { return .undone }
            return .placed(path)
        }
        // Under its own name again, so that one way of removing serves all cases.
        try bringBack(pending.source, pending.token, in: inbox)
        guard let copy = try wholeCopy(of: pending, in: library, work) else { return .copyDamaged }
        return try removeSource(of: pending, in: inbox, seeing: copy, work)
    }

    func removeTemporary(
        _ token: String, beside path: BytePath, in root: DestinationRoot
    ) throws(FilingError) {
        guard let directory = try openParent(of: path, in: root.descriptor, .destination) else { return }
        do { try removeUnfinished(FileNames.temporary(token), in: directory) } catch {
            // The usual case: the temporary had no name.
            if error.code == .noSuchFileOrDirectory { return }
            throw FilingError(.recover, .destination, .system(error), path: path)
        }
        try filing(.recover, .destination, path) { () throws(SystemCallError) in try directory.syncDirectory() }
    }

    /// Whatever stands under the aside name gets its old name back: it may be another file than the one that was filed.
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

    func findCopy(
        of pending: PendingFiling, in library: DestinationRoot, _ work: FileWork
    ) throws(FilingError) -> BytePath? {
        guard let directory = try openParent(of: pending.destination, in: library.descriptor, .destination) else {
            return nil
        }
        let (wanted, size) = (pending.destination.name, pending.identity.size)
        // It may have got any number, and those before it may be free by now.
        let numbers = try filing(.recover, .destination, pending.destination) { () throws(SystemCallError) in
            try FileNames.numbers(like: wanted, numberAfter: pending.numberAfter, in: directory)
        }
        for number in numbers {
            let name = FileNames.candidate(wanted, attempt: number, numberAfter: pending.numberAfter)
            if try holds(name, in: directory, hash: pending.hash, size: size, work, .recover) != nil {
                // Opened once more through the root, which sees to the directories above.
                let parent = try library.openDirectory(pending.destination.parent)
                try filing(.recover, .destination, pending.destination) { () throws(SystemCallError) in
                    try parent.syncDirectory()
                }
                return pending.destination.parent.appending(name)
            }
        }
        return nil
    }

    private func wholeCopy(
        of pending: PendingFiling, in library: DestinationRoot, _ work: FileWork
    ) throws(FilingError) -> RecordedCopy? {
        guard let directory = try openParent(of: pending.destination, in: library.descriptor, .destination),
            let status = try holds(
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
                // It may have been unlinked just before the crash, and that not yet be durable.
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
        // The change time differs after a move aside and back, so the bytes are compared instead.
        guard source.identity.hasSameContent(as: pending.identity), try source.hash(work) == pending.hash else {
            return .sourceReplaced
        }
        // Changed or opened since it was read: the next try compares again, and tells.
        switch try source.remove(
            token: pending.token, hash: pending.hash, seeing: [.recorded(copy)], probe: probe, work: work)
        {
        case .removed: return .finished
        case .kept(let reason): return .sourceKept(reason)
        }
    }

    /// The directory that holds `path`'s name; nil if there is no way of plain directories to it any more.
    func openParent(
        of path: BytePath, in root: borrowing OwnedDescriptor, _ side: FilingError.Side
    ) throws(FilingError) -> OwnedDescriptor? {
        do { return try root.openDirectoryBeneath(path.parent) } catch {
            if [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(error.code) { return nil }
            throw FilingError(.recover, side, .system(error), path: path)
        }
    }
}
