/// What the catalogue is kept in: a database that runs SQL, and knows no photo.
///
/// Every statement of this module is written once, in words that all engines understand: `?`, or `?1`, for an argument;
/// 0 and 1 for what is true or not; ``EngineWords`` for the rest.
protocol CatalogueEngine: Sendable {
    /// Runs `body` in one read transaction. It fails with ``CatalogueError/Code/interrupted`` when `goesOn` does not hold any
    /// more, which is asked often while the engine works.
    func read<Value>(
        while goesOn: (() -> Bool)?, _ body: (any CatalogueTransaction) throws -> Value
    ) throws -> Value

    /// Runs `body` in a read transaction of a single statement, for which an engine may need less.
    func readOne<Value>(_ body: (any CatalogueTransaction) throws -> Value) throws -> Value

    /// Runs `body` in one write transaction, durable on return, rolled back if `body` throws.
    func write<Value>(_ body: (any CatalogueTransaction) throws -> Value) throws -> Value
}

extension CatalogueEngine {
    func readOne<Value>(_ body: (any CatalogueTransaction) throws -> Value) throws -> Value {
        try read(while: nil, body)
    }
}

/// Arguments of a statement, in order.
typealias SQLArguments = [(any SQLConvertible)?]
/// The values of a row to insert, by column.
typealias Columns = [String: (any SQLConvertible)?]

/// For an INSERT; quoted, since some are words of SQL.
func columnNames(_ columns: [Columns.Element]) -> String {
    columns.map { "\"\($0.key)\"" }.joined(separator: ", ")
}

func columnMarks(_ columns: [Columns.Element]) -> String { columns.map { _ in "?" }.joined(separator: ", ") }

/// One transaction of an engine. It must not leave the closure that it is given to.
protocol CatalogueTransaction {
    var words: EngineWords { get }

    /// Runs a statement without a result. An engine may send it together with what follows: then its error is thrown by a later
    /// call, at the latest by the commit.
    func run(_ sql: String, _ values: SQLArguments) throws

    /// Runs a statement, and returns how many rows it has changed.
    func rowsChanged(by sql: String, _ values: SQLArguments) throws -> Int

    /// Calls `body` with each row while it returns true. Holds one row in memory. `body` may run other statements only where
    /// few rows are expected: an engine may have to fetch all of them before.
    func scan(_ sql: String, _ values: SQLArguments, _ body: (SQLRow) throws -> Bool) throws

    /// Runs a statement without a result `count` times. `fill` appends the arguments of each to an empty array.
    func runEach(_ sql: String, count: Int, _ fill: (Int, inout [SQLBorrowed]) throws -> Void) throws

    /// Runs `body`; if it throws, what it has changed is undone, and the transaction goes on.
    func part<Value>(_ body: () throws -> Value) throws -> Value

    /// The row is inserted by this transaction: see ``ServerMemory``.
    func note(_ row: BegunRow)

    /// Runs statements, and returns the rows of each. Nothing may follow: an engine may commit with them.
    func finish(_ statements: [SQLStatement]) throws -> [[SQLRow]]
}

typealias SQLStatement = (sql: String, values: SQLArguments)

/// An argument whose bytes are not copied: they stay where they are until ``CatalogueTransaction/runEach(_:count:_:)`` returns.
enum SQLBorrowed {
    case null
    case integer(Int64)
    case text(UnsafeRawBufferPointer)
    case bytes(UnsafeRawBufferPointer)
}

extension CatalogueTransaction {
    func note(_ row: BegunRow) {}

    func finish(_ statements: [SQLStatement]) throws -> [[SQLRow]] {
        try statements.map { try rows($0.sql, $0.values) }
    }

    func run(_ sql: String) throws { try run(sql, []) }

    func each(_ sql: String, _ values: SQLArguments = [], _ body: (SQLRow) throws -> Void) throws {
        try scan(sql, values) { row in
            try body(row)
            return true
        }
    }

    func rows(_ sql: String, _ values: SQLArguments = []) throws -> [SQLRow] {
        var rows: [SQLRow] = []
        try each(sql, values) { rows.append($0) }
        return rows
    }

    func first(_ sql: String, _ values: SQLArguments = []) throws -> SQLRow? {
        var first: SQLRow?
        try scan(sql, values) { row in
            first = row
            return false
        }
        return first
    }

    /// Returns the first column of the first row; nil if that is NULL or there is none.
    func value<Value: SQLConvertible>(
        _ type: Value.Type, _ sql: String, _ values: SQLArguments = []
    ) throws -> Value? {
        guard let found = try first(sql, values)?[0], found != .null else { return nil }
        guard let value = Value(sqlValue: found) else { throw UnreadableRow(column: "1 of \(sql)") }
        return value
    }

    /// Returns the first column of all rows.
    func values<Value: SQLConvertible>(
        _ type: Value.Type, _ sql: String, _ values: SQLArguments = []
    ) throws -> [Value] {
        try rows(sql, values).map { row in
            guard let value = Value(sqlValue: row[0]) else { throw UnreadableRow(column: "1 of \(sql)") }
            return value
        }
    }

    /// Inserts a row and returns its identifier. `table` and the column names are not escaped: constants only.
    func insert(_ columns: Columns, into table: String) throws -> Int64 {
        let columns = columns.sorted { $0.key < $1.key }
        let sql = "INSERT INTO \(table) (\(columnNames(columns))) VALUES (\(columnMarks(columns))) RETURNING id"
        // To the end, so that what is checked after the statement is checked.
        guard let id = try values(Int64.self, sql, columns.map(\.value)).first else {
            throw UnreadableRow(column: "\(table).id")
        }
        return id
    }
}

/// What the engines call differently. The functions take and return SQL.
struct EngineWords: Sendable {
    typealias Word = @Sendable (String) -> String
    typealias Words = @Sendable (String, String) -> String

    /// Whether a column of 0 and 1 is 1, as the conditions of partial indexes have it.
    let isSet: Word
    /// The text that bytes are; some text if they are none.
    let text: Word
    /// What stands for bytes of any length in a unique index, and so in its conflicts and its order.
    let key: Word
    /// A number without its fraction.
    let truncated: Word
    /// The local day of nanoseconds since 1970: `2026-11-21`.
    let localDay: Word
    /// Whether a text contains another, ignoring the case of ASCII letters.
    let contains: Words
    /// Whether bytes contain others.
    let containsBytes: Words
    /// The bytes of a directory, `/` and those of a path.
    let joinedPath: Words
    let texts: Texts
    /// What a copy needs.
    let copies: Copies
    /// What differs between the daemons of one catalogue. A file has one daemon.
    let own: Own

    struct Texts: Sendable {
        /// The condition of `photo_text` for the argument ``query``, and the column with the photo's identifier.
        let matches: String
        let photo: String
        /// The conditions of a search on texts; nil for none.
        let query: @Sendable (SearchQuery) -> String?
    }

    /// Conditions begin with ` AND `.
    struct Own: Sendable {
        /// The number of this daemon.
        let host: String
        /// Whether what another writer records may be missed by a transaction that has looked for it.
        let mayMiss: Bool
        /// Whether a row with a column `host` is this daemon's, and that column with another, as their unique index has them.
        let isHost: String
        let key: Word
        /// Whether an inbox, a column's, is this daemon's, or nobody's.
        let isInbox: Word
        /// Whether this daemon sees to what was filed from an inbox: as ``isInbox``, or of a daemon that is away.
        let cares: Word
        /// Whether the daemon of an inbox is another, from which what it has begun may be taken over.
        let isAway: Word
        /// Whether the daemon of an inbox was forgotten.
        let isGone: Word
    }

    struct Copies: Sendable {
        /// A query for the last number that a table has given to a row; NULL for none.
        let lastNumber: Word
        /// A query after which a table gives numbers above the argument, and above those of its rows.
        let continueNumbers: Word
        /// A statement that has a table counted, for plans; nil where none is needed.
        let statistics: @Sendable (String) -> String?
    }

    /// Whether bytes of any length that are unique are those of an argument, as an index finds them.
    func isKey(_ column: String, _ mark: String = "?") -> String { "\(key(column)) = \(key(mark))" }

    /// Whether a photo has a path of a library.
    func isAt(_ library: String = "?", _ path: String = "?") -> String {
        "\(isKey("library", library)) AND \(isKey("library_path", path)) AND superseded_at IS NULL"
    }
}

/// An error of an engine.
protocol EngineError: Error {
    var catalogueCode: CatalogueError.Code { get }
    /// See ``CatalogueError/resultCode``.
    var number: Int32 { get }
    var text: String { get }
    /// See ``CatalogueError/remedy``.
    var remedy: String? { get }
}

extension EngineError {
    var remedy: String? { nil }
}
