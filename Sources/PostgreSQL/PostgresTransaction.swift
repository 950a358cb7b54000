/// A transaction under way, within the closure that was given it.
public struct PostgresTransaction {
    private let connection: PostgresConnection
    private let number: Int

    init(_ connection: PostgresConnection, _ number: Int) {
        self.connection = connection
        self.number = number
    }

    /// Returns the number of changed rows.
    @discardableResult
    public func run(_ sql: String, _ values: [PostgresValue] = []) throws -> Int {
        try together([PostgresStatement(sql, values)]).first?.count ?? 0
    }

    /// All rows of a query.
    public func rows(_ sql: String, _ values: [PostgresValue] = []) throws -> [PostgresRow] {
        try together([PostgresStatement(sql, values)]).first?.rows ?? []
    }

    /// Sends a statement together with the next one that has a result, or with COMMIT; its error is thrown there. At an
    /// error what was not sent is dropped.
    public func enqueue(_ sql: String, _ values: [PostgresValue] = []) throws {
        try connection.check(number)
        try connection.enqueue(PostgresStatement(sql, values))
    }

    /// The rows of a query one by one, with one in memory. When another statement runs, the rest of them is received
    /// into memory first.
    public func cursor(_ sql: String, _ values: [PostgresValue] = []) throws -> PostgresCursor {
        try connection.check(number)
        return PostgresCursor(connection, number, try connection.open(PostgresStatement(sql, values)))
    }

    /// Runs several statements in one round trip. After an error of any statement the transaction can only be rolled
    /// back: whole, or by `ROLLBACK TO SAVEPOINT`, after which it goes on.
    public func together(_ list: [PostgresStatement]) throws -> [PostgresOutcome] {
        try connection.check(number)
        return try connection.execute(list)
    }

    /// Runs several statements, and commits, in one round trip. Nothing may follow.
    public func finish(_ list: [PostgresStatement]) throws -> [PostgresOutcome] {
        try connection.check(number)
        return try connection.finish(list)
    }
}
