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

    /// Gives each row to `body`, with one in memory. `body` can run no statement. When it throws, the rest of the rows
    /// is received first.
    public func each(_ sql: String, _ values: [PostgresValue] = [], _ body: (PostgresRow) throws -> Void) throws {
        try check()
        _ = try connection.execute([PostgresStatement(sql, values)], commits: false) { try body($1) }
    }

    /// Runs several statements in one round trip. After an error the transaction can only be rolled back.
    public func together(_ list: [PostgresStatement]) throws -> [PostgresOutcome] {
        try check()
        return try connection.execute(list, commits: false)
    }

    private func check() throws(PostgresError) {
        guard number == connection.transactions else {
            throw PostgresError(.other, "the transaction is over")
        }
    }
}
