/// Why something was not done, or is not known to have been done.
public struct PostgresError: Error, Sendable, CustomStringConvertible {
    /// What follows from it for the caller.
    public enum Kind: Sendable, Equatable {
        /// No connection, or no usable answer in time: nothing was committed. The connection is closed. A server that is
        /// starting, or has too many clients, is this, too.
        case unreachable
        /// The commit was sent, and whether it happened must be looked up. The connection may be closed.
        case unknownOutcome
        /// The caller gave up waiting: nothing was committed. The connection is closed.
        case interrupted
        /// A constraint of the database.
        case refused
        /// A lock, a conflict with another transaction, or too little memory or too many clients: to be tried again.
        case busy
        /// Of a statement; or a wrong password, an unknown database, or another reason not to be let in.
        case permission
        case diskFull, readOnly, corrupt, inputOutput, shuttingDown, other
    }

    /// Its class.
    public let kind: Kind
    /// The server's five characters; nil if the error is not the server's.
    public let sqlState: String?
    /// What failed and why, without a password.
    public let message: String
    /// Which of several statements failed, from 0.
    public internal(set) var statement: Int?

    init(_ kind: Kind, _ message: String, sqlState: String? = nil, statement: Int? = nil) {
        self.kind = kind
        self.sqlState = sqlState
        // libpq has a line for each server that was tried, and for what may be wrong.
        self.message = message.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }
            .joined(separator: ". ")
        self.statement = statement
    }

    /// The same of statement `index` of `list`, of which the first `waited` were enqueued.
    func located(at index: Int, of list: [PostgresStatement], after waited: Int) -> PostgresError {
        guard index < waited else {
            return PostgresError(
                kind, message, sqlState: sqlState, statement: list.count - waited > 1 ? index - waited : nil)
        }
        return PostgresError(
            kind, "\(message); in the statement that was enqueued: \(list[index].sql.prefix(200))", sqlState: sqlState)
    }

    /// An error of the server.
    init(sqlState: String, message: String) {
        self.init(Self.kind(of: sqlState), message, sqlState: sqlState)
    }

    /// The message, the state, and which statement.
    public var description: String {
        message + (sqlState.map { " (SQLSTATE \($0))" } ?? "") + (statement.map { ", in statement \($0 + 1)" } ?? "")
    }

    /// See appendix A of PostgreSQL's manual.
    static func kind(of sqlState: String) -> Kind {
        switch sqlState {
        case "40001", "40P01", "53200", "53300", "53400", "55P03", "57014": .busy
        case "58030": .inputOutput
        case "53100": .diskFull
        case "25006": .readOnly
        case "XX001", "XX002": .corrupt
        case "42501": .permission
        default:
            switch sqlState.prefix(2) {
            case "23": .refused
            case "28": .permission
            default: sqlState.hasPrefix("57P") ? .shuttingDown : .other
            }
        }
    }
}
