package import FileValues

/// What people ask for. Raw values are stored and never change.
package enum RequestKind: String, Hashable, Sendable, CaseIterable {
    case pause, resume, rescan, retry, release, discard, undo
}

/// The move of a file that a request wants. Roots are absolute, paths relative to them.
package struct RequestedMove: Hashable, Sendable {
    /// Names its temporaries.
    package var token: String
    package var sourceRoot: BytePath
    package var sourcePath: BytePath
    package var destinationRoot: BytePath
    /// The wanted path; the real one once it is done.
    package var destinationPath: BytePath
    /// 32 bytes; of the file as it was found.
    package var sha256: [UInt8]
    /// Of the file where it lies: before the move, and once it is done after it.
    package var identity: FileIdentity

    package init(
        token: String, sourceRoot: BytePath, sourcePath: BytePath, destinationRoot: BytePath,
        destinationPath: BytePath, sha256: [UInt8], identity: FileIdentity
    ) {
        self.token = token
        self.sourceRoot = sourceRoot
        self.sourcePath = sourcePath
        self.destinationRoot = destinationRoot
        self.destinationPath = destinationPath
        self.sha256 = sha256
        self.identity = identity
    }
}

/// What somebody asked for.
package struct RequestRecord: Hashable, Sendable {
    package var at: FileTime
    package var what: RequestKind
    /// Who, by number, and by name as of then.
    package var user: UInt32
    package var userName: String?
    package var inbox: String?
    /// Relative to the inbox.
    package var path: BytePath?
    package var outcomeID: Int64?
    package var photoID: Int64?
    /// Whether the file is to be filed whatever it looks like.
    package var isAsIs: Bool
    package var move: RequestedMove?

    package init(
        at: FileTime, what: RequestKind, user: UInt32, userName: String?, inbox: String? = nil, path: BytePath? = nil,
        outcomeID: Int64? = nil, photoID: Int64? = nil, isAsIs: Bool = false, move: RequestedMove? = nil
    ) {
        self.at = at
        self.what = what
        self.user = user
        self.userName = userName
        self.inbox = inbox
        self.path = path
        self.outcomeID = outcomeID
        self.photoID = photoID
        self.isAsIs = isAsIs
        self.move = move
    }

    /// `ana`, else `user 1000`.
    package var asker: String { userName ?? "user \(user)" }
}

/// A request of the catalogue.
package struct StoredRequest: Hashable, Sendable {
    /// How far it came.
    package enum Step: String, Hashable, Sendable {
        case begun, done
        /// It came to nothing, and everything is as it was.
        case undone
        /// What it had put into the trash is deleted.
        case expired
    }

    package let id: Int64
    package let step: Step
    package let endedAt: FileTime?
    /// What is to be said besides.
    package let note: String?
    package let request: RequestRecord
}
