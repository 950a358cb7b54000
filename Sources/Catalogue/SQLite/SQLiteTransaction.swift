import GRDB
import GRDBSQLite
import LinuxKernel

/// One transaction of a connection. Statements are kept prepared, and are run without GRDB's own values and rows.
struct SQLiteTransaction: CatalogueTransaction {
    let db: Database
    let statements: Locked<[String: SQLColumns]>
    /// Whether a statement that writes is an error.
    let isReading: Bool
    /// Statements that are kept. Searches have many forms, so the number is limited.
    private static let most = 300

    var words: EngineWords { .sqlite }

    func run(_ sql: String, _ values: SQLArguments) throws { try scan(sql, values) { _ in true } }

    func rowsChanged(by sql: String, _ values: SQLArguments) throws -> Int {
        try run(sql, values)
        return Int(sqlite3_changes(db.sqliteConnection))
    }

    func scan(_ sql: String, _ values: SQLArguments, _ body: (SQLRow) throws -> Bool) throws {
        let (prepared, columns) = try prepare(sql)
        try withExtendedLifetime(prepared) {
            let statement = prepared.sqliteStatement
            defer { Self.end(statement) }
            guard values.count == Int(sqlite3_bind_parameter_count(statement)) else {
                throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "wrong number of arguments", sql: sql)
            }
            for (index, value) in values.enumerated() {
                try check(Self.bind(value?.sqlValue ?? .null, to: CInt(index + 1), of: statement))
            }
            guard try step(statement) else { return }
            // Another process may have added columns since it was prepared.
            let isCurrent = columns.count == Int(sqlite3_column_count(statement))
            let columns = isCurrent ? columns : Self.columns(of: statement)
            if !isCurrent { statements.withLock { $0[sql] = columns } }
            var row = SQLRow(columns: columns, values: Array(repeating: .null, count: columns.count))
            repeat {
                // In place, unless `body` has kept the last one.
                for index in 0..<columns.count { row.values[index] = Self.value(CInt(index), of: statement) }
                guard try body(row) else { return }
            } while try step(statement)
        }
    }

    func runEach(_ sql: String, count: Int, _ fill: (Int, inout [SQLBorrowed]) throws -> Void) throws {
        let prepared = try prepare(sql).statement
        try withExtendedLifetime(prepared) {
            let statement = prepared.sqliteStatement
            // The memory is valid only during this call.
            defer { Self.end(statement) }
            var values: [SQLBorrowed] = []
            for index in 0..<count {
                values.removeAll(keepingCapacity: true)
                try fill(index, &values)
                for (index, value) in values.enumerated() {
                    try check(Self.bind(value, to: CInt(index + 1), of: statement))
                }
                while try step(statement) {}
                sqlite3_reset(statement)
            }
        }
    }

    func part<Value>(_ body: () throws -> Value) throws -> Value {
        var value: Value?
        try db.inSavepoint {
            value = try body()
            return .commit
        }
        guard let value else { throw DatabaseError(message: "a savepoint has no value") }
        return value
    }

    // MARK: - Statements

    private func prepare(_ sql: String) throws -> (statement: Statement, columns: SQLColumns) {
        let prepared = try compiled(sql)
        guard !isReading || sqlite3_stmt_readonly(prepared.statement.sqliteStatement) != 0 else {
            throw DatabaseError(resultCode: .SQLITE_READONLY, message: "this statement writes", sql: sql)
        }
        return prepared
    }

    private func compiled(_ sql: String) throws -> (statement: Statement, columns: SQLColumns) {
        let (known, count) = statements.withLock { ($0[sql], $0.count) }
        guard known != nil || count < Self.most else {
            let statement = try db.makeStatement(sql: sql)
            return (statement, Self.columns(of: statement.sqliteStatement))
        }
        let statement = try db.cachedStatement(sql: sql)
        if let known {
            // It is used inside of itself.
            let isBusy = sqlite3_stmt_busy(statement.sqliteStatement) != 0
            return (isBusy ? try db.makeStatement(sql: sql) : statement, known)
        }
        let columns = Self.columns(of: statement.sqliteStatement)
        statements.withLock { $0[sql] = columns }
        return (statement, columns)
    }

    private static func columns(of statement: OpaquePointer) -> SQLColumns {
        SQLColumns(
            (0..<sqlite3_column_count(statement)).map { index in
                sqlite3_column_name(statement, index).map { String(cString: $0) } ?? ""
            })
    }

    /// Returns whether there is a row.
    private func step(_ statement: OpaquePointer) throws -> Bool {
        let code = sqlite3_step(statement)
        if code == SQLITE_ROW { return true }
        try check(code == SQLITE_DONE ? SQLITE_OK : code)
        return false
    }

    private func check(_ code: CInt) throws {
        if code == SQLITE_OK { return }
        throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
    }

    private static func end(_ statement: OpaquePointer) {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
    }

    // MARK: - Values

    private static func value(_ index: CInt, of statement: OpaquePointer) -> SQLValue {
        func bytes(_ start: UnsafeRawPointer?) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index)))
        }
        switch sqlite3_column_type(statement, index) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, index))
        case SQLITE_TEXT:
            let start = sqlite3_column_text(statement, index)
            return .text(String(decoding: bytes(start), as: UTF8.self))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(statement, index)
            return .bytes([UInt8](bytes(start)))
        default: return .null
        }
    }

    private static func bind(_ value: SQLValue, to index: CInt, of statement: OpaquePointer) -> CInt {
        switch value {
        case .null: return sqlite3_bind_null(statement, index)
        case .integer(let number): return sqlite3_bind_int64(statement, index, number)
        case .real(let number): return sqlite3_bind_double(statement, index, number)
        case .text(var text): return text.withUTF8 { bind(text: .init($0), isCopied: true, to: index, of: statement) }
        case .bytes(let bytes):
            return bytes.withUnsafeBytes { bind(bytes: $0, isCopied: true, to: index, of: statement) }
        }
    }

    private static func bind(_ value: SQLBorrowed, to index: CInt, of statement: OpaquePointer) -> CInt {
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .text(let text): bind(text: text, isCopied: false, to: index, of: statement)
        case .bytes(let bytes): bind(bytes: bytes, isCopied: false, to: index, of: statement)
        }
    }

    private static func bind(
        text: UnsafeRawBufferPointer, isCopied: Bool, to index: CInt, of statement: OpaquePointer
    ) -> CInt {
        // SQLite takes a null pointer for NULL.
        guard let start = text.baseAddress?.assumingMemoryBound(to: CChar.self) else {
            return sqlite3_bind_text(statement, index, "", 0, copied)
        }
        return sqlite3_bind_text64(
            statement, index, start, UInt64(text.count), isCopied ? copied : nil, UInt8(SQLITE_UTF8))
    }

    private static func bind(
        bytes: UnsafeRawBufferPointer, isCopied: Bool, to index: CInt, of statement: OpaquePointer
    ) -> CInt {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
        return sqlite3_bind_blob64(statement, index, start, UInt64(bytes.count), isCopied ? copied : nil)
    }

    /// SQLITE_TRANSIENT.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
}
