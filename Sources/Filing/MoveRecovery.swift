package import FileValues
package import LinuxKernel
import SystemPackage

/// A move to quarantine or duplicates that was under way when the process ended, or that failed half-way, as its row
/// tells.
package struct PendingMove: Hashable, Sendable {
    /// Names the temporaries.
    package let token: String
    /// Relative to the inbox.
    package let source: BytePath
    /// The source when it was examined.
    package let identity: FileIdentity
    /// The source's hash.
    package let hash: ContentHash
    /// Relative to the destination's root: the very name that was free, and that no other move has.
    package let destination: BytePath

    package init(token: String, source: BytePath, identity: FileIdentity, hash: ContentHash, destination: BytePath) {
        self.token = token
        self.source = source
        self.identity = identity
        self.hash = hash
        self.destination = destination
    }
}

/// What recovery made of a pending move. It changes nothing if it is done again.
package enum RecoveredMove: Hashable, Sendable {
    /// The file is in its inbox, and there alone: forget the move. It is an arrival like any.
    case undone
    /// The file stands durably at its destination, and there alone: record it.
    case moved
    /// It is in neither place, or is another file by now: forget the move.
    case vanished
}

extension Recovery {
    /// Looks at what is left of `move` and completes or undoes it. Throws where a later try could do better; the row
    /// then stays.
    package func recover(
        _ move: PendingMove, inbox: borrowing OwnedDescriptor, root: DestinationRoot, work: FileWork = FileWork()
    ) throws(FilingError) -> RecoveredMove {
        work.willEnter(.recover)
        try removeTemporary(move.token, beside: move.destination, in: root)
        try bringBack(move.source, move.token, in: inbox)
        // A copy that was being taken back.
        try bringBack(move.destination, move.token, in: root.descriptor, .destination)
        let hasArrived = try root.holds(move.destination, hash: move.hash, size: move.identity.size, work: work)
        switch (try standing(move, in: inbox, work), hasArrived) {
        case (_?, false): return .undone
        case (let source?, true):
            // Copied, and the source not removed yet: its own place is the inbox, and its bytes were just read there.
            _ = try root.takeBack(
                move.destination, token: move.token, hash: move.hash, seeing: source, probe: probe, work: work)
            return .undone
        case (nil, true):
            try sync(parentOf: move.destination, in: root.descriptor, .destination)
            try sync(parentOf: move.source, in: inbox, .source)
            return .moved
        case (nil, false): return .vanished
        }
    }

    /// The source, if it stands in its inbox with the content that it had.
    private func standing(
        _ move: PendingMove, in inbox: borrowing OwnedDescriptor, _ work: FileWork
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
    /// A name like `name` that is free in `directory`, which is made if it is missing, together with the name of its
    /// reason file. `taken` are names that others are about to take.
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
