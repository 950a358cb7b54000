package import FileValues
package import LinuxKernel
import SystemPackage

/// A move to quarantine or duplicates that a crash or an error interrupted, from its row in the catalogue.
package struct PendingMove: Hashable, Sendable {
    /// Names the temporaries.
    package let token: String
    /// Relative to the inbox.
    package let source: BytePath
    /// The source when it was examined.
    package let identity: FileIdentity
    /// The source's hash.
    package let hash: ContentHash
    /// Relative to the destination's root: the exact name, which was free and is reserved for this move.
    package let destination: BytePath

    package init(token: String, source: BytePath, identity: FileIdentity, hash: ContentHash, destination: BytePath) {
        self.token = token
        self.source = source
        self.identity = identity
        self.hash = hash
        self.destination = destination
    }
}

/// The result of recovering a pending move. Recovery is idempotent.
package enum RecoveredMove: Hashable, Sendable {
    /// The file is only in its inbox, a normal arrival: delete the move.
    case undone
    /// The file is only at its destination, durably: record it.
    case moved
    /// It is in neither place, or was replaced: delete the move.
    case vanished
}

extension Recovery {
    /// Completes or reverses `move`. Throws if a retry may succeed; the row must then be kept.
    package func recover(
        _ move: PendingMove, inbox: borrowing OwnedDescriptor, root: DestinationRoot, work: FileWork = FileWork()
    ) throws(FilingError) -> RecoveredMove {
        work.willEnter(.recover)
        try removeTemporary(move.token, beside: move.destination, in: root)
        try bringBack(move.source, move.token, in: inbox)
        // A copy whose removal was interrupted.
        try bringBack(move.destination, move.token, in: root.descriptor, .destination)
        let hasArrived = try root.holds(move.destination, hash: move.hash, size: move.identity.size, work: work)
        switch (try unchangedSource(of: move, in: inbox, work), hasArrived) {
        case (_?, false): return .undone
        case (let source?, true):
            // Copied, and the source not yet removed. Its bytes were just read in the inbox, so the copy is removed.
            _ = try root.takeBack(
                move.destination, token: move.token, hash: move.hash, size: move.identity.size,
                seeing: .source(source, move.hash), probe: probe, work: work)
            return .undone
        case (nil, true):
            try sync(parentOf: move.destination, in: root.descriptor, .destination)
            try sync(parentOf: move.source, in: inbox, .source)
            return .moved
        case (nil, false): return .vanished
        }
    }

    /// Returns the source if it is in its inbox with the same content.
    private func unchangedSource(
        of move: PendingMove, in inbox: borrowing OwnedDescriptor, _ work: FileWork
    ) throws(FilingError) -> SourceFile? {
        do throws(FilingError) {
            let source = try SourceFile(move.source, beneath: inbox)
            guard source.identity.hasSameContent(as: move.identity), try source.hash(work) == move.hash else {
                return nil
            }
            return source
        } catch {
            switch error.cause {
            case .refused(.leased): throw error
            case .refused: return nil
            default: throw error
            }
        }
    }

    private func sync(
        parentOf path: BytePath, in root: borrowing OwnedDescriptor, _ side: FilingError.Side
    ) throws(FilingError) {
        guard let directory = try openParent(of: path, in: root, side) else { return }
        try filing(.recover, side, path) { () throws(SystemCallError) in try directory.syncDirectory() }
    }
}

extension DestinationRoot {
    /// Returns a name like `name` that is free in `directory`, as is the name of its reason file. Creates the directory
    /// if missing. `taken` are names reserved by others.
    package func freeName(
        like name: BytePath, in directory: BytePath, butNot taken: Set<BytePath>
    ) throws(FilingError) -> BytePath {
        let parent = try openDirectory(directory)
        let name = fitting(name)
        return try filing(.openDestination, .destination, directory) { () throws(SystemCallError) in
            func isFree(_ number: Int) throws(SystemCallError) -> Bool {
                let candidate = FileNames.candidate(name, attempt: number)
                guard !taken.contains(candidate), try parent.isFree(candidate) else { return false }
                return try parent.isFree(FileNames.reason(for: candidate, attempt: 0))
            }
            if try isFree(0) { return name }
            return FileNames.candidate(name, attempt: try FileNames.freeNumber(above: 0, isFree: isFree))
        }
    }
}
