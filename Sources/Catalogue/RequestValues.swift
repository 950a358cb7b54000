package import FileValues

/// The kind of a request. Raw values are stored and never change.
package enum RequestKind: String, Hashable, Sendable, CaseIterable {
    case pause, resume, rescan, retry, release, discard, undo, store
}

/// The move of a file for a request. Roots are absolute, or the address of a bucket; paths are relative to them.
package struct RequestedMove: Hashable, Sendable {
    /// Names its temporaries.
    package var token: String
    package var sourceRoot: BytePath
    package var sourcePath: BytePath
    package var destinationRoot: BytePath
    /// The planned path; the actual one once the move is done.
    package var destinationPath: BytePath
    /// The file's hash before the move, 32 bytes.
    package var sha256: [UInt8]
    /// The file's identity before the move; after it once the move is done.
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

/// A person's request.
package struct RequestRecord: Hashable, Sendable {
    package var at: FileTime
    package var what: RequestKind
    /// The user's number, and the name it had then.
    package var user: UInt32
    package var userName: String?
    package var inbox: String?
    /// Relative to the inbox.
    package var path: BytePath?
    package var outcomeID: Int64?
    package var photoID: Int64?
    /// Whether the file is to be filed as it is.
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

/// The row of a request.
package struct StoredRequest: Hashable, Sendable {
    package enum Step: String, Hashable, Sendable {
        case begun, done
        /// It failed or was reversed, and the file was not moved.
        case undone
        /// It was done, and the file that it put into the trash is deleted.
        case expired
    }

    package let id: Int64
    package let step: Step
    package let endedAt: FileTime?
    /// A remark to show with the request.
    package let note: String?
    package let request: RequestRecord
}
