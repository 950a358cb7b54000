import PostgreSQL

/// Whether a transaction has seen an answer of the server, and what it begins.
final class PostgreSQLProgress {
    var hasAnswer = false
    var begun: [BegunRow] = []
}

/// One transaction of a connection. What has no result is sent with what follows.
struct PostgreSQLTransaction: CatalogueTransaction {
    private let transaction: PostgresTransaction
    private let progress: PostgreSQLProgress
    private let goesOn: (() -> Bool)?
    /// Rows after which it is asked whether the transaction goes on.
    private static let rows = 500
    /// Statements of ``runEach(_:count:_:)`` that are sent at once.
    private static let most = 500

    init(_ transaction: PostgresTransaction, _ progress: PostgreSQLProgress, while goesOn: (() -> Bool)?) {
        (self.transaction, self.progress, self.goesOn) = (transaction, progress, goesOn)
    }

    var words: EngineWords { .postgresql }

    func note(_ row: BegunRow) { progress.begun.append(row) }

    func run(_ sql: String, _ values: SQLArguments) throws {
        try transaction.enqueue(sql, Self.values(values))
    }

    func rowsChanged(by sql: String, _ values: SQLArguments) throws -> Int {
        let count = try transaction.run(sql, Self.values(values))
        progress.hasAnswer = true
        return count
    }

    func scan(_ sql: String, _ values: SQLArguments, _ body: (SQLRow) throws -> Bool) throws {
        let cursor = try transaction.cursor(sql, Self.values(values))
        var isWanted = true
        do {
            var row: SQLRow?
            var count = 0
            while isWanted, let next = try cursor.next() {
                progress.hasAnswer = true
                count += 1
                if count % Self.rows == 0, goesOn?() == false {
                    throw CatalogueError(.interrupted, "reading rows", "nobody waits for them any more")
                }
                let columns = row?.columns ?? SQLColumns(next.columns)
                let found = SQLRow(columns: columns, values: next.values.map { SQLValue($0) })
                row = found
                isWanted = try body(found)
            }
        } catch {
            // The first error says more than one of what is left.
            try? cursor.close()
            throw error
        }
        progress.hasAnswer = true
        if !isWanted { try cursor.close() }
    }

    func runEach(_ sql: String, count: Int, _ fill: (Int, inout [SQLBorrowed]) throws -> Void) throws {
        var values: [SQLBorrowed] = []
        for first in stride(from: 0, to: count, by: Self.most) {
            let list = try (first..<min(count, first + Self.most)).map { index in
                values.removeAll(keepingCapacity: true)
                try fill(index, &values)
                return PostgresStatement(sql, values.map { PostgresValue($0) })
            }
            _ = try transaction.together(list)
            progress.hasAnswer = true
        }
    }

    func part<Value>(_ body: () throws -> Value) throws -> Value {
        try transaction.enqueue("SAVEPOINT part", [])
        do {
            let value = try body()
            // Waits for the answers to what `body` has sent, whose errors belong to this part.
            _ = try transaction.run("RELEASE SAVEPOINT part")
            progress.hasAnswer = true
            return value
        } catch {
            _ = try transaction.run("ROLLBACK TO SAVEPOINT part")
            try transaction.enqueue("RELEASE SAVEPOINT part", [])
            // A refusal of this part alone.
            if let error = error as? PostgresError, error.sqlState == PostgreSQLSchema.inboxOfAnother {
                throw CatalogueError(error, "recording it")
            }
            throw error
        }
    }

    func finish(_ statements: [SQLStatement]) throws -> [[SQLRow]] {
        let outcomes = try transaction.finish(
            statements.map { PostgresStatement($0.sql, Self.values($0.values)) })
        progress.hasAnswer = true
        return outcomes.map { outcome in
            outcome.rows.map { SQLRow(columns: SQLColumns($0.columns), values: $0.values.map { SQLValue($0) }) }
        }
    }

    private static func values(_ values: SQLArguments) -> [PostgresValue] {
        values.map { PostgresValue($0?.sqlValue ?? .null) }
    }
}

extension SQLValue {
    fileprivate init(_ value: PostgresValue) {
        self =
            switch value {
            case .null: .null
            case .integer(let number): .integer(number)
            case .real(let number): .real(number)
            case .text(let text): .text(text)
            case .bytes(let bytes): .bytes(bytes)
            }
    }
}

extension PostgresValue {
    fileprivate init(_ value: SQLValue) {
        self =
            switch value {
            case .null: .null
            case .integer(let number): .integer(number)
            case .real(let number): .real(number)
            case .text(let text): .text(Self.storable(text))
            case .bytes(let bytes): .bytes(bytes)
            }
    }

    fileprivate init(_ value: SQLBorrowed) {
        self =
            switch value {
            case .null: .null
            case .integer(let number): .integer(number)
            case .text(let bytes): .text(Self.storable(String(decoding: bytes, as: UTF8.self)))
            case .bytes(let bytes): .bytes([UInt8](bytes))
            }
    }

    /// PostgreSQL's texts contain no NUL.
    private static func storable(_ text: String) -> String {
        text.utf8.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text
    }
}
