import CPostgres

/// The rows of a query, of one transaction.
public final class PostgresCursor {
    private let connection: PostgresConnection
    private let transaction: Int
    private let reception: PostgresReception

    init(_ connection: PostgresConnection, _ transaction: Int, _ reception: PostgresReception) {
        self.connection = connection
        self.transaction = transaction
        self.reception = reception
    }

    deinit { reception.isWanted = false }

    /// The next row; nil after the last one, and when it is closed. An error if the transaction is over.
    public func next() throws -> PostgresRow? {
        try connection.check(transaction)
        return try connection.next(of: reception)
    }

    /// Receives the rows that are left, and drops them, as other statements and the end of the transaction do. Without
    /// effect when the transaction is over.
    public func close() throws {
        do { try connection.check(transaction) } catch { return }
        try connection.close(reception)
    }
}

/// Rows of one statement that were received and not yet taken.
final class PostgresReception {
    private let statement: PreparedStatement
    private var taken = 0
    private(set) var rows: [PostgresRow] = []
    /// About the bytes of the rows.
    private(set) var size: Int
    /// What the server said at the end: how many rows were changed or returned.
    private(set) var count: Int?
    private(set) var failure: PostgresError?
    /// False: rows are dropped as they come.
    var isWanted: Bool {
        didSet { if !isWanted { rows = [] } }
    }

    init(_ statement: PreparedStatement, isWanted: Bool, size: Int) {
        self.statement = statement
        self.isWanted = isWanted
        self.size = size
    }

    func add(_ result: borrowing PostgresResult, most: Int) {
        if result.status != CPOSTGRES_SINGLE_TUPLE { count = result.changed }
        for index in 0..<result.rowCount where isWanted && failure == nil {
            do throws(PostgresError) {
                let row = try result.row(index, names: statement.columns, types: statement.types)
                size += row.size
                guard size <= most else {
                    throw PostgresError(
                        .other, "the rows of PostgreSQL's answer do not fit: more than \(most) bytes")
                }
                rows.append(row)
            } catch {
                fail(error)
            }
        }
    }

    func fail(_ error: PostgresError) {
        failure = failure ?? error
        rows = []
    }

    func next() -> PostgresRow? {
        guard taken < rows.count else { return nil }
        let row = rows[taken]
        taken += 1
        size -= row.size
        if taken == rows.count {
            rows.removeAll(keepingCapacity: true)
            taken = 0
        }
        return row
    }
}
