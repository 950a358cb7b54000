import CPostgres

/// A connection to PostgreSQL, for one thread or queue at a time: it is not Sendable. Every call blocks until it is
/// done, at most until its time is over; then the connection is closed, and a new one has to be made.
public final class PostgresConnection {
    /// The server at the other end.
    public struct Server: Sendable, Equatable {
        /// As libpq has it: 150018 is 15.18.
        public let version: Int
        /// Equal on a primary and its standbys.
        public let systemIdentifier: Int64
        /// Greater after each promotion.
        public let timeline: Int64
        /// A standby.
        public let isInRecovery: Bool
    }

    /// What a transaction is for.
    public enum Access: Sendable {
        /// READ COMMITTED.
        case write
        /// One state of the database for all statements.
        case read

        var begin: String {
            switch self {
            case .write: "BEGIN ISOLATION LEVEL READ COMMITTED"
            case .read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            }
        }
    }

    /// What the server said of itself when the connection was made.
    public private(set) var server: Server
    /// The last of what the server said beside its answers.
    public var notices: [String] { wire.notices.lines }
    /// False after every failure of the connection.
    public var isOpen: Bool { wire.isOpen }

    let wire: PostgresWire
    let statements: PreparedStatements
    private(set) var state = State.idle
    /// Tells a transaction's handle from those of earlier ones.
    private(set) var transactions = 0

    enum State {
        case idle
        /// `hasBegun`: BEGIN was sent. It goes with the first statement.
        case inTransaction(Access, hasBegun: Bool)
        /// Rows are being received.
        case streaming
    }

    /// Connects, which may block for the connection's timeout for each address of each host.
    public init(_ parameters: PostgresParameters) throws {
        wire = try PostgresWire(parameters)
        statements = PreparedStatements(wire)
        server = Server(version: 0, systemIdentifier: 0, timeline: 0, isInRecovery: false)
        let version = wire.version
        guard version >= 140_000 else {
            throw wire.closed("PostgreSQL \(version / 10_000) is too old: version 14 or later is needed")
        }
        let facts = try together(
            .read,
            [
                PostgresStatement(
                    """
                    SELECT (SELECT system_identifier FROM pg_control_system()), pg_is_in_recovery(),
                        CASE WHEN pg_is_in_recovery() THEN (SELECT timeline_id FROM pg_control_checkpoint())::bigint
                        ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END
                    """)
            ], within: .seconds(parameters.connectSeconds))
        guard case .integer(let system)? = facts.first?.rows.first?.values.first,
            case .integer(let recovers)? = facts.first?.rows.first?.values.dropFirst().first,
            case .integer(let timeline)? = facts.first?.rows.first?.values.last
        else { throw wire.closed("PostgreSQL does not say which server it is") }
        server = Server(
            version: version, systemIdentifier: system, timeline: timeline, isInRecovery: recovers != 0)
    }

    /// Runs `body` in a transaction, and commits it; an error rolls back. BEGIN is sent with the first statement.
    @discardableResult
    public func transaction<R>(
        _ access: Access, within limit: Duration, _ body: (PostgresTransaction) throws -> R
    ) throws -> R {
        try begin(access, limit)
        let result: R
        do {
            result = try body(PostgresTransaction(self, transactions))
        } catch {
            rollBack()
            throw error
        }
        guard case .inTransaction(access, hasBegun: true) = state else {
            state = .idle
            return result
        }
        do {
            _ = try execute([], commits: true)
        } catch {
            rollBack()
            throw error
        }
        return result
    }

    /// Runs all of `list` as one transaction in one round trip, BEGIN and COMMIT included; a statement that is new to
    /// this connection costs one more for all of these. Nothing is done if one fails; the error says which.
    public func together(
        _ access: Access, _ list: [PostgresStatement], within limit: Duration
    ) throws -> [PostgresOutcome] {
        try begin(access, limit)
        do {
            return try execute(list, commits: true)
        } catch {
            rollBack()
            throw error
        }
    }

    private func begin(_ access: Access, _ limit: Duration) throws(PostgresError) {
        guard case .idle = state else { throw PostgresError(.other, "a transaction is under way on this connection") }
        guard isOpen else { throw PostgresError(.unreachable, "the connection to PostgreSQL is closed") }
        wire.deadline = .now + limit
        transactions += 1
        state = .inTransaction(access, hasBegun: false)
    }

    /// Ends a transaction without effect. If that cannot be done, the connection is closed, which does it, too.
    private func rollBack() {
        defer { state = .idle }
        guard case .inTransaction(_, hasBegun: true) = state, isOpen else { return }
        do {
            try wire.send(command: "ROLLBACK")
            try wire.send { $0.pipelineSync($1) }
            if let error = try wire.answer() { throw error }
            try wire.endOfPipeline()
        } catch {
            _ = wire.closed("ROLLBACK failed")
        }
    }

    /// Sends `list`, with BEGIN before and COMMIT behind where they are due, and receives everything.
    func execute(_ list: [PostgresStatement], commits: Bool) throws -> [PostgresOutcome] {
        var rows = [[PostgresRow]](repeating: [], count: list.count)
        var size = 0
        let counts = try execute(list, commits: commits) { index, row in
            size += row.size
            guard size <= 4 * wire.largestAnswer else {
                throw PostgresError(.other, "the rows of PostgreSQL's answer do not fit: more than \(size) bytes")
            }
            rows[index].append(row)
        }
        return zip(counts, rows).map { PostgresOutcome(count: $0, rows: $1) }
    }

    /// The same with each row given to `body` as it comes. What `body` throws is thrown when all rows have passed.
    func execute(
        _ list: [PostgresStatement], commits: Bool, _ body: (Int, PostgresRow) throws -> Void
    ) throws -> [Int] {
        guard case .inTransaction(let access, let hasBegun) = state else {
            throw PostgresError(
                .other, "no statement can run here: rows of another are being received, or the transaction is over")
        }
        let prepared = try statements.prepare(list)
        let arguments = try zip(list, prepared).enumerated().map { index, pair in
            do { return try pair.1.encoded(pair.0.values) } catch var error as PostgresError {
                error.statement = index
                throw error
            }
        }
        if !hasBegun { try wire.send(command: access.begin) }
        for (statement, arguments) in zip(prepared, arguments) { try statement.send(arguments, wire) }
        if commits {
            // Before it is sent: when that fails, some of it may have been transmitted.
            wire.isCommitUnderWay = access == .write
            try wire.send(command: "COMMIT")
        }
        try wire.send { $0.pipelineSync($1) }
        state = .streaming
        defer { if case .streaming = state { state = .inTransaction(access, hasBegun: true) } }

        var failure = hasBegun ? nil : try wire.answer()
        if failure != nil { wire.isCommitUnderWay = false }
        var thrown: (any Error)?
        var counts: [Int] = []
        for (index, statement) in prepared.enumerated() {
            wire.receiveRowByRow()
            let error = try wire.answer { result in
                for row in 0..<result.rowCount where thrown == nil {
                    do {
                        try body(index, result.row(row, names: statement.columns, types: statement.types))
                    } catch {
                        thrown = error
                    }
                }
                if result.status != CPOSTGRES_SINGLE_TUPLE { counts.append(result.changed) }
            }
            guard var error, failure == nil else { continue }
            // The server skips the rest, COMMIT included.
            wire.isCommitUnderWay = false
            if error.sqlState == "0A000" || error.sqlState == "26000" { statements.forget() }
            error.statement = list.count > 1 ? index : nil
            failure = error
        }
        if commits { try receiveCommit(&failure, access) }
        try wire.endOfPipeline()
        wire.isCommitUnderWay = false
        if let failure { throw failure }
        if commits { state = .idle }
        if let thrown {
            guard commits, access == .write else { throw thrown }
            throw PostgresError(
                .unknownOutcome, "the transaction was committed, but its answer cannot be read: \(thrown)")
        }
        guard counts.count == list.count else {
            throw wire.closed("PostgreSQL sent \(counts.count) answers to \(list.count) statements")
        }
        return counts
    }

    /// Receives the answer to COMMIT. A warning that comes with it says that a standby has not confirmed it.
    private func receiveCommit(_ failure: inout PostgresError?, _ access: Access) throws(PostgresError) {
        wire.notices.hasWarning = false
        var tag = ""
        let error = try wire.answer { tag = $0.tag }
        if let error {
            // An error, and not a loss of the connection: it was rolled back.
            failure = failure ?? error
            if tag.isEmpty, error.sqlState != nil { wire.isCommitUnderWay = false }
        } else if failure == nil, wire.notices.hasWarning, access == .write {
            failure = PostgresError(
                .unknownOutcome, "the commit came with a warning: \(wire.notices.lines.last ?? "")")
        } else if failure == nil, tag != "COMMIT" {
            failure = PostgresError(.refused, "the transaction was rolled back, as a statement in it had failed")
        }
        // Either way no transaction is open, unless the server has skipped COMMIT.
        if error == nil { state = .idle }
    }
}
