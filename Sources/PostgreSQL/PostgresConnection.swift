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
        /// A single query, with what is enqueued before it, in one round trip.
        case one

        /// Nil: up to its end a pipeline is a transaction by itself.
        var begin: String? {
            switch self {
            case .write: "BEGIN ISOLATION LEVEL READ COMMITTED"
            case .read: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            case .one: nil
            }
        }
    }

    /// What the server said of itself when the connection was made.
    public private(set) var server: Server
    /// The last of what the server said beside its answers.
    public var notices: [String] { wire.notices.lines }
    /// False after every failure of the connection.
    public var isOpen: Bool { wire.isOpen }

    /// Whether it can be used again: false if the server has closed it while nobody waited. Does not block.
    public func isStillOpen() -> Bool { wire.isStillOpen() }

    let wire: PostgresWire
    let statements: PreparedStatements
    private var state = State.idle
    /// Tells a transaction's handle from those of earlier ones.
    private var transactions = 0
    /// What is sent with the next statement, and the bytes of its arguments.
    private var queue: [PostgresStatement] = []
    private var queueSize = 0
    /// The cursor whose rows are on their way.
    private var reception: PostgresReception?
    /// Why the transaction can only be rolled back, to a savepoint or whole.
    private var failed: PostgresError?

    private enum State {
        case idle
        /// `hasBegun`: BEGIN was sent. It goes with the first statement.
        case inTransaction(Access, hasBegun: Bool)
        /// An answer is being received.
        case receiving
    }

    /// Statements that are sent together.
    private struct Batch {
        let statements: [PostgresStatement]
        /// How many of them were enqueued.
        let waited: Int
        var encoded: [(PreparedStatement, PreparedStatement.Arguments)] = []
        /// Of the first whose arguments are none.
        var misfit: PostgresError?
    }

    /// What the statements of a pipeline are followed by.
    private enum Continuation { case statements, cursor, commit }

    /// Connects, which takes no longer than `connectSeconds` twice, but for looking up names. If several servers are named,
    /// all are asked, and that of the highest timeline is used.
    public init(_ parameters: PostgresParameters) throws {
        var connections: [PostgresConnection] = []
        var failures: [PostgresError] = []
        for wire in try PostgresServers.connected(parameters) {
            do {
                connections.append(try PostgresConnection(wire, within: .seconds(parameters.connectSeconds)))
            } catch let error as PostgresError { failures.append(error) }
        }
        guard let index = PostgresServers.newest(of: connections.map(\.server)) else {
            throw failures.count == 1 ? failures[0] : PostgresServers.failure(failures)
        }
        let chosen = connections[index]
        (wire, statements, server) = (chosen.wire, chosen.statements, chosen.server)
    }

    /// Asks a server which it is.
    private init(_ wire: PostgresWire, within limit: Duration) throws {
        self.wire = wire
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
            ], within: limit)
        guard case .integer(let system)? = facts.first?.rows.first?.values.first,
            case .integer(let recovers)? = facts.first?.rows.first?.values.dropFirst().first,
            case .integer(let timeline)? = facts.first?.rows.first?.values.last
        else { throw wire.closed("PostgreSQL does not say which server it is") }
        server = Server(
            version: version, systemIdentifier: system, timeline: timeline, isInRecovery: recovers != 0)
    }

    /// Runs `body` in a transaction, and commits it; an error rolls back. BEGIN is sent with the first statement.
    /// `limit` is for each wait: it begins anew when bytes come or go. While something is waited for, `goesOn` is asked
    /// every 100 ms; false closes the connection.
    @discardableResult
    public func transaction<R>(
        _ access: Access, within limit: Duration, while goesOn: (() -> Bool)? = nil,
        _ body: (PostgresTransaction) throws -> R
    ) throws -> R {
        try begin(access, limit, goesOn)
        defer { end() }
        let result = try body(PostgresTransaction(self, transactions))
        if case .inTransaction(.one, _) = state, failed == nil { return result }
        if case .inTransaction(_, hasBegun: false) = state, queue.isEmpty, failed == nil { return result }
        // It has committed.
        if case .idle = state { return result }
        _ = try execute([], then: .commit)
        return result
    }

    /// Runs all of `list` as one transaction in one round trip, BEGIN and COMMIT included; a statement that is new to
    /// this connection costs one more for all of these. Nothing is done if one fails; the error says which.
    public func together(
        _ access: Access, _ list: [PostgresStatement], within limit: Duration
    ) throws -> [PostgresOutcome] {
        try begin(access, limit, nil)
        defer { end() }
        return try execute(list, then: .commit)
    }

    private func begin(_ access: Access, _ limit: Duration, _ goesOn: (() -> Bool)?) throws(PostgresError) {
        guard case .idle = state else { throw PostgresError(.other, "a transaction is under way on this connection") }
        guard isOpen else { throw PostgresError(.unreachable, "the connection to PostgreSQL is closed") }
        wire.limit = limit
        wire.goesOn = goesOn
        transactions += 1
        state = .inTransaction(access, hasBegun: false)
    }

    /// Ends a transaction; what is not committed has no effect. If ROLLBACK fails, the connection is closed, which does
    /// it, too.
    private func end() {
        if case .inTransaction(let access, hasBegun: true) = state, isOpen {
            state = .receiving
            do {
                try receiveRest(keeps: false)
                if access.begin != nil {
                    try wire.send(command: "ROLLBACK")
                    try wire.send { $0.pipelineSync($1) }
                    if let error = try wire.answer() { throw error }
                    try wire.endOfPipeline()
                }
            } catch {
                _ = wire.closed("ROLLBACK failed")
            }
        }
        state = .idle
        (queue, queueSize, reception, failed) = ([], 0, nil, nil)
        wire.goesOn = nil
    }

    /// Throws if a handle of the transaction `number` cannot be used now.
    func check(_ number: Int) throws(PostgresError) {
        guard number == transactions, case .inTransaction = state else {
            throw PostgresError(.other, "the transaction is over, or an answer is being received")
        }
    }

    /// Throws if the transaction has failed: then the server does nothing but roll back.
    private func admit(_ sql: String) throws(PostgresError) {
        guard let failed, !isRollback(sql) else { return }
        throw PostgresError(
            failed.kind, "not done, as a statement before it failed: \(failed.message)", sqlState: failed.sqlState)
    }

    private func isRollback(_ sql: String) -> Bool {
        sql.drop(while: \.isWhitespace).prefix(8).lowercased() == "rollback"
    }

    private func fail(_ error: PostgresError) -> PostgresError {
        failed = error
        (queue, queueSize) = ([], 0)
        if error.sqlState == "0A000" || error.sqlState == "26000" { statements.forget() }
        return error
    }

    // MARK: Statements

    /// Sends `statement` with the next one that has a result, or with COMMIT.
    func enqueue(_ statement: PostgresStatement) throws {
        try sendFirst([statement])
        if queue.isEmpty { try admit(statement.sql) }
        queue.append(statement)
        queueSize += statement.size
        if queue.count >= 1_000 || queueSize >= 1 << 20 { _ = try execute([], then: .statements) }
    }

    /// Sends what is enqueued, where `list` cannot go with it.
    private func sendFirst(_ list: [PostgresStatement]) throws {
        guard !queue.isEmpty, let first = list.first else { return }
        if case .inTransaction(.one, _) = state { return }
        if isRollback(first.sql) {
            // An error of what is rolled back would have the server skip the rollback.
            do { _ = try execute([], then: .statements) } catch { guard isOpen else { throw error } }
        } else if list.contains(where: { !statements.contains($0.sql) }) {
            // To be prepared, a statement may need what those before it make.
            _ = try execute([], then: .statements)
        }
    }

    /// Runs `list` in the transaction, after what is enqueued.
    func execute(_ list: [PostgresStatement]) throws -> [PostgresOutcome] { try execute(list, then: .statements) }

    /// The same, and commits with it.
    func finish(_ list: [PostgresStatement]) throws -> [PostgresOutcome] { try execute(list, then: .commit) }

    /// Sends `statement`, and leaves its rows to be received.
    func open(_ statement: PostgresStatement) throws -> PostgresReception {
        _ = try execute([statement], then: .cursor)
        guard let reception else { throw wire.closed("PostgreSQL did not answer a query") }
        return reception
    }

    /// Sends what is enqueued and `list`, with BEGIN and COMMIT where they are due, and receives everything but a
    /// cursor's rows.
    private func execute(_ list: [PostgresStatement], then continuation: Continuation) throws -> [PostgresOutcome] {
        try receiveRest(keeps: continuation != .commit)
        try sendFirst(list)
        guard case .inTransaction(let access, var hasBegun) = state, access != .one || !hasBegun else {
            throw PostgresError(.other, "no statement can run here: the transaction is over")
        }
        state = .receiving
        defer { if case .receiving = state { state = .inTransaction(access, hasBegun: hasBegun) } }
        let batch = try batch(list)
        let continuation = batch.misfit == nil ? continuation : .statements
        let begins = !hasBegun && access.begin != nil
        hasBegun = true
        if begins, let begin = access.begin { try wire.send(command: begin) }
        for (statement, arguments) in batch.encoded { try statement.send(arguments, wire) }
        if continuation == .commit {
            // Before it is sent: when that fails, some of it may have been transmitted.
            wire.isCommitUnderWay = access == .write
            try wire.send(command: "COMMIT")
        }
        try wire.send { $0.pipelineSync($1) }

        var failure = begins ? try wire.answer() : nil
        if failure != nil { wire.isCommitUnderWay = false }
        var unreadable: PostgresError?
        var outcomes: [PostgresOutcome] = []
        var size = 0
        for (index, (statement, _)) in batch.encoded.enumerated() {
            let reception = PostgresReception(statement, isWanted: index >= batch.waited, size: size)
            wire.receiveRowByRow()
            if continuation == .cursor, index == batch.statements.count - 1, failure == nil {
                failed = nil
                self.reception = reception
                return []
            }
            let error = try wire.answer { reception.add($0, most: 4 * wire.largestAnswer) }
            size = reception.size
            unreadable = unreadable ?? reception.failure
            outcomes.append(PostgresOutcome(count: reception.count ?? 0, rows: reception.rows))
            guard error != nil || reception.count != nil else {
                throw wire.closed("PostgreSQL did not say that a statement was done")
            }
            guard let error, failure == nil else { continue }
            // The server skips the rest, COMMIT included.
            wire.isCommitUnderWay = false
            failure = error.located(at: index, of: batch.statements, after: batch.waited)
        }
        if continuation == .commit { try receiveCommit(&failure, access) }
        try wire.endOfPipeline()
        wire.isCommitUnderWay = false
        if let failure {
            // The savepoint is missing because of what failed before.
            if failure.sqlState == "3B001", let failed { throw failed }
            throw fail(failure)
        }
        if continuation == .commit { state = .idle }
        if let unreadable {
            guard continuation == .commit, access == .write else { throw fail(unreadable) }
            throw PostgresError(
                .unknownOutcome, "the transaction was committed, but its answer cannot be read: \(unreadable)")
        }
        if let misfit = batch.misfit { throw fail(misfit) }
        failed = nil
        return Array(outcomes.dropFirst(batch.waited))
    }

    /// What is enqueued, and `list`, ready to be sent.
    private func batch(_ list: [PostgresStatement]) throws(PostgresError) -> Batch {
        if queue.isEmpty { try admit(list.first?.sql ?? "COMMIT") }
        var batch = Batch(statements: queue + list, waited: queue.count)
        (queue, queueSize) = ([], 0)
        let prepared: [PreparedStatement]
        do { prepared = try statements.prepare(batch.statements, mayDiscard: failed == nil) } catch {
            throw fail(error)
        }
        for (index, (statement, values)) in zip(prepared, batch.statements.map(\.values)).enumerated() {
            do { batch.encoded.append((statement, try statement.encoded(values))) } catch {
                // What was enqueued before it is sent all the same: a savepoint may be among it.
                batch.encoded.removeLast(max(0, index - batch.waited))
                batch.misfit = error.located(at: index, of: batch.statements, after: batch.waited)
                break
            }
        }
        if let misfit = batch.misfit, batch.encoded.isEmpty { throw fail(misfit) }
        return batch
    }

    // MARK: Cursors

    /// The next row of a cursor; nil after the last.
    func next(of cursor: PostgresReception) throws(PostgresError) -> PostgresRow? {
        while true {
            if let row = cursor.next() { return row }
            guard cursor === reception else {
                if let failure = cursor.failure { throw failure }
                return nil
            }
            _ = try receive(cursor)
        }
    }

    /// Receives the rest of a cursor's rows without keeping them.
    func close(_ cursor: PostgresReception) throws(PostgresError) {
        cursor.isWanted = false
        guard cursor === reception else { return }
        try receiveRest(keeps: false)
        if let failure = cursor.failure { throw failure }
    }

    /// Receives what is left of the open cursor's rows, so that something can be sent.
    private func receiveRest(keeps: Bool) throws(PostgresError) {
        guard let reception else { return }
        if !keeps { reception.isWanted = false }
        while try receive(reception) {}
    }

    /// Receives one result of the open cursor. False at its end; then it is no longer open.
    private func receive(_ cursor: PostgresReception) throws(PostgresError) -> Bool {
        let before = state
        state = .receiving
        defer { state = before }
        var error: PostgresError?
        let goesOn = try wire.step(&error) { cursor.add($0, most: 4 * wire.largestAnswer) }
        if let error { cursor.fail(error) }
        guard !goesOn else { return true }
        try wire.endOfPipeline()
        reception = nil
        if let failure = cursor.failure { _ = fail(failure) }
        return false
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
