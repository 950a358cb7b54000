/// A failure of one catalogue operation. Each operation is one transaction; ``leavesNothing`` is true if certainly
/// nothing of it was kept.
package struct CatalogueError: Error, Hashable, Sendable {
    /// The kind of failure, which selects a row of the problem table.
    package enum Code: Hashable, Sendable {
        /// There is no catalogue file, and readers do not create one.
        case missing
        /// The file was written by a newer version of this program. It was not changed.
        case newerSchema
        /// The file was written by an older version, and readers do not migrate it.
        case olderSchema
        case diskFull
        /// The file is no longer a valid database.
        case corrupt
        /// The open file was removed from its path or replaced, so the latest records may be lost.
        case replaced
        case readOnly
        case permission
        /// Another process kept it locked for longer than the timeout.
        case busy
        case inputOutput
        /// The database server cannot be reached, or did not answer in time. Nothing was kept.
        case unreachable
        /// The server did not answer to a commit, so that it is unknown whether it was kept.
        case unknownOutcome
        /// A newer life of this daemon writes in this database, or it was forgotten: nothing of this one is accepted there.
        case anotherHost
        /// The inbox is that of another daemon that uses this catalogue.
        case inboxOfAnother
        /// It was ended, since nobody waits for it.
        case interrupted
        /// This content is already recorded as this photo.
        case alreadyRecorded(photo: Int64)
        /// The path in the library belongs to this photo. Since filing never replaces a file, that photo's copy must be
        /// missing: commit again with ``FilingCommit/supersedes``.
        case pathTaken(photo: Int64)
        /// This intent is filing the same content now; retry when it is closed.
        case beingFiled(intent: Int64)
        /// There is no such intent.
        case noSuchIntent(Int64)
        /// Anything else; most likely a bug.
        case other
    }

    package let code: Code
    /// The operation that failed, as in `recording a filing`.
    package let operation: String
    /// SQLite's extended result code, or 0 if SQLite did not fail. See sqlite.org/rescode.html.
    package let resultCode: Int32
    /// The message of SQLite or of this module.
    package let message: String
    /// What mends it, as a clause; nil if that is unknown here.
    package let remedy: String?

    init(_ code: Code, _ operation: String, resultCode: Int32 = 0, _ message: String, remedy: String? = nil) {
        self.code = code
        self.operation = operation
        self.resultCode = resultCode
        self.message = message
        self.remedy = remedy
    }

    /// The photo is being returned from the library; retry.
    package static let beingReturned = CatalogueError(
        .busy, "looking up a hash", "this photo is being returned from the library")

    init(_ error: any Error, _ operation: String) {
        switch error {
        case let error as CatalogueError: self = error
        case let error as any EngineError:
            self.init(
                error.catalogueCode, operation, resultCode: error.number, error.text, remedy: error.remedy)
        default: self.init(.other, operation, String(describing: error))
        }
    }

    /// Whether certainly nothing was kept. After a disk error during a commit it is unknown: the log may contain the
    /// transaction, which then counts when the database is next opened.
    package var leavesNothing: Bool {
        switch code {
        case .alreadyRecorded, .pathTaken, .beingFiled, .noSuchIntent, .busy, .interrupted, .inboxOfAnother: true
        // Nothing was, but another daemon may have recorded what this one has copied, once the server is there again.
        case .unreachable, .anotherHost: false
        case .missing, .newerSchema, .olderSchema, .diskFull, .corrupt, .replaced, .readOnly, .permission, .inputOutput,
            .unknownOutcome, .other:
            false
        }
    }

    /// Whether a database is out of reach for now, or held by what an earlier connection has left there: another attempt
    /// repeats all of it.
    package var isAway: Bool { [.unreachable, .unknownOutcome, .busy].contains(code) }

    /// Whether it is of a content or an inbox alone, and shows nothing of the catalogue.
    package var isOfOneFileAlone: Bool {
        switch code {
        case .alreadyRecorded, .beingFiled, .pathTaken, .noSuchIntent, .inboxOfAnother: true
        default: false
        }
    }

    /// Whether a retry may succeed without a repair of the catalogue.
    package var isTransient: Bool {
        switch code {
        case .diskFull, .replaced, .readOnly, .permission, .busy, .inputOutput, .beingFiled, .interrupted, .unreachable,
            .unknownOutcome:
            true
        case .missing, .newerSchema, .olderSchema, .corrupt, .alreadyRecorded, .pathTaken, .noSuchIntent, .anotherHost,
            .inboxOfAnother, .other:
            false
        }
    }
}

extension CatalogueError: CustomStringConvertible {
    /// One line: the operation and the reason.
    package var description: String {
        resultCode == 0 ? "\(operation): \(message)" : "\(operation): \(message) (SQLite \(resultCode))"
    }

    /// The same with what mends it, where that is known.
    package var explained: String { remedy.map { "\(self); \($0)" } ?? description }
}
