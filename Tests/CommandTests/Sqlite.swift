import GRDB

/// A database as any other program sees it.
enum Sqlite {
    /// The rows that a query gives, as text.
    static func rows(_ sql: String, in path: String) throws -> [[String?]] {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(10)
        return try DatabaseQueue(path: path, configuration: configuration).read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { String.fromDatabaseValue($0) ?? number($0) }
            }
        }
    }

    static func execute(_ sql: String, in path: String) throws {
        try DatabaseQueue(path: path).write { db in try db.execute(sql: sql) }
    }

    private static func number(_ value: DatabaseValue) -> String? { Int64.fromDatabaseValue(value).map { "\($0)" } }
}
