import GRDB

/// Why the catalogue could not do something. Each operation is one transaction; where ``leavesNothing`` says so, nothing
/// of it was kept.
package struct CatalogueError: Error, Hashable, Sendable {
    /// What kind of failure; each wants its own words from the problem table.
    package enum Code: Hashable, Sendable {
        /// There is no catalogue file, and none is to be made (readers).
        case missing
        /// It was written by a newer version of this program; nothing was touched.
        case newerSchema
        /// It was written by an older version and opened by a reader, which never changes it.
        case olderSchema
        case diskFull
        /// The file is not a database any more, or contradicts itself.
        case corrupt
        /// The open file was removed from its path, or another lies there: what was recorded last may not be kept.
        case replaced
        case readOnly
        case permission
        /// Another process kept it locked for longer than the timeout.
        case busy
        case inputOutput
        /// This content is recorded already, as the photo with this identifier.
        case alreadyRecorded(photo: Int64)
        /// The path in the library belongs to the photo with this identifier. Since filing never replaces a file, that
        /// photo's copy must be missing: committing again with ``FilingCommit/supersedes`` says so.
        case pathTaken(photo: Int64)
        /// The same content is being filed just now, by this intent: to be tried again when that is closed.
        case beingFiled(intent: Int64)
        /// There is no such intent.
        case noSuchIntent(Int64)
        /// Anything else: a bug of ours, most likely.
        case other
    }

    /// The kind of failure.
    package let code: Code
    /// What was being done, as a clause: `recording a filing`.
    package let operation: String
    /// SQLite's extended result code; 0 where SQLite was not the one to complain. See sqlite.org/rescode.html.
    package let resultCode: Int32
    /// SQLite's own message, or ours.
    package let message: String

    init(_ code: Code, _ operation: String, resultCode: Int32 = 0, _ message: String) {
        self.code = code
        self.operation = operation
        self.resultCode = resultCode
        self.message = message
    }

    /// Thrown for a photo that is being returned from the library: ask again.
    package static let beingReturned = CatalogueError(
        .busy, "looking up a hash", "this photo is being returned from the library")

    init(_ error: any Error, _ operation: String) {
        switch error {
        case let error as CatalogueError: self = error
        case let error as DatabaseError:
            self.init(
                Code(error.resultCode), operation, resultCode: error.extendedResultCode.rawValue,
                error.message ?? "result code \(error.extendedResultCode.rawValue)")
        default: self.init(.other, operation, String(describing: error))
        }
    }

    /// Whether certainly nothing was kept. An error of the disk in the middle of a commit leaves that open: what was
    /// written may stand in the log, and count, when the database is opened again.
    package var leavesNothing: Bool {
        switch code {
        case .alreadyRecorded, .pathTaken, .beingFiled, .noSuchIntent, .busy: true
        case .missing, .newerSchema, .olderSchema, .diskFull, .corrupt, .replaced, .readOnly, .permission, .inputOutput,
            .other:
            false
        }
    }

    /// Whether the same operation may succeed later without anybody touching the catalogue itself.
    package var isTransient: Bool {
        switch code {
        case .diskFull, .replaced, .readOnly, .permission, .busy, .inputOutput, .beingFiled: true
        case .missing, .newerSchema, .olderSchema, .corrupt, .alreadyRecorded, .pathTaken, .noSuchIntent, .other: false
        }
    }
}

extension CatalogueError.Code {
    init(_ code: ResultCode) {
        self =
            switch code {
            case .SQLITE_FULL: .diskFull
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt
            case .SQLITE_READONLY: .readOnly
            case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH: .permission
            case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
            case .SQLITE_IOERR: .inputOutput
            default: .other
            }
    }
}

extension CatalogueError: CustomStringConvertible {
    /// One line: what was being done, and why it failed.
    package var description: String {
        resultCode == 0 ? "\(operation): \(message)" : "\(operation): \(message) (SQLite \(resultCode))"
    }
}
