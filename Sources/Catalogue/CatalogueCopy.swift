/// Copies a whole catalogue into another, which may be kept by another engine: in steps, each a transaction, so that it
/// goes on where it was interrupted. Until it has ended, the other cannot be opened for anything else. Nobody else may
/// write to either meanwhile.
package struct CatalogueCopy {
    package struct Progress: Hashable, Sendable {
        package let table: String
        /// Copied or compared so far.
        package let rows: Int
        package let isComparing: Bool
    }

    private let source: CatalogueFile
    private let target: CatalogueFile
    private let shouldStop: () -> Bool
    private let report: (Progress) throws -> Void

    /// - Parameter shouldStop: asked before each step; then the copy ends with ``CatalogueError/Code/interrupted``.
    package init(
        from source: CatalogueFile, to target: CatalogueFile, shouldStop: @escaping () -> Bool = { false },
        report: @escaping (Progress) throws -> Void = { _ in }
    ) {
        self.source = source
        self.target = target
        self.shouldStop = shouldStop
        self.report = report
    }

    /// Rows of one step.
    private static let step = 2_000
    /// The row of `pending_task` while a copy is unfinished. Its `since` is the number of the table that is copied.
    static let task = "copy"
    private static let operation = "copying the catalogue"

    /// Copies what is missing, compares every row, and makes the other one usable. Returns the rows of each table.
    package func run() throws(CatalogueError) -> [(table: String, rows: Int)] {
        do {
            for catalogue in [source, target] { try Self.requireKnown(catalogue) }
            try Self.requireOneHost(source)
            let before = try source.foreignChanges()
            for index in try begin()..<CopiedTable.all.count { try copy(index) }
            let counts = try compare()
            guard try source.foreignChanges() == before else {
                throw CatalogueError(
                    .other, Self.operation,
                    "the catalogue was changed while it was copied. Delete the copy, stop what writes to it, and copy again"
                )
            }
            try end()
            return counts
        } catch { throw CatalogueError(error, Self.operation) }
    }

    /// One of a newer program, which it lets others read, has tables or columns that would be missing in the copy.
    private static func requireKnown(_ catalogue: CatalogueFile) throws {
        guard let server = catalogue.server,
            try server.schema(forWriting: false).version > PostgreSQLSchema.versions.count
        else { return }
        throw CatalogueError(
            .newerSchema, operation,
            "the one \(catalogue.path) was written by a newer photoinboxd and may have more than this program copies: "
                + "use the newer one")
    }

    /// Throws unless the catalogue is one daemon's, as its copy is.
    package static func requireOneHost(_ source: CatalogueFile) throws(CatalogueError) {
        let others = try source.hosts().filter { !$0.isForgotten }.map(\.name)
        guard others.count < 2 else {
            throw CatalogueError(
                .other, operation,
                """
                it is that of \(others.joined(separator: ", ")). Stop photoinboxd on all of them, and have all but one forgotten, \
                each by: photoinbox hosts forget NAME
                """
            )
        }
        guard source.server != nil else { return }
        let isTaken = try source.read(Self.operation) { db in
            try db.value(Bool.self, "SELECT EXISTS (SELECT 1 FROM intent WHERE step = 'lost')")
        }
        guard isTaken != true else {
            throw CatalogueError(
                .other, Self.operation,
                "filings that another host has taken over are to be finished first: start photoinboxd, and stop it when "
                    + "photoinbox status says that nothing is pending")
        }
    }

    /// Returns the table to go on with.
    private func begin() throws -> Int {
        try target.write(Self.operation) { db in
            if let table = try Self.table(db) { return max(0, table) }
            for table in CopiedTable.all.map(\.name) where !CopiedTable.filledByMigrations.contains(table) {
                guard try db.first("SELECT 1 AS found FROM \(table) LIMIT 1") == nil else {
                    throw CatalogueError(
                        .other, Self.operation,
                        "the catalogue to copy into is not empty: it has rows of \(table). Name one that does not exist."
                    )
                }
            }
            try Self.markUnfinished(db)
            return 0
        }
    }

    private static func table(_ db: any CatalogueTransaction) throws -> Int? {
        try db.value(Int.self, "SELECT since FROM pending_task WHERE name = ?", [task])
    }

    static func markUnfinished(_ db: any CatalogueTransaction) throws {
        try db.run("INSERT INTO pending_task (name, since) VALUES (?, -1)", [task])
    }

    static func isUnfinished(_ db: any CatalogueTransaction) throws -> Bool { try table(db) != nil }

    private func copy(_ index: Int) throws {
        let table = CopiedTable.all[index]
        var (last, count) = try target.write(Self.operation) { db in
            if try Self.table(db) != index {
                try advance(from: index - 1, to: index, db)
                // What migrations and triggers have made.
                if table.updated.isEmpty { try db.run("DELETE FROM \(table.name)") }
            }
            return (try table.lastKey(db), try table.count(db))
        }
        while true {
            let rows = try rows(of: source, table, after: last)
            guard let end = rows.last else { return }
            try target.write(Self.operation) { db in
                try advance(from: index, to: index, db)
                for row in rows { try table.copy(row, db) }
            }
            last = try table.key(of: end)
            count += rows.count
            try report(Progress(table: table.name, rows: count, isComparing: false))
        }
    }

    /// Throws if another copy into the same catalogue is at work, or was done.
    private func advance(from table: Int, to next: Int, _ db: any CatalogueTransaction) throws {
        let changed = try db.rowsChanged(
            by: "UPDATE pending_task SET since = ? WHERE name = ? AND since = ?", [next, Self.task, table])
        guard changed == 1 else {
            throw CatalogueError(.other, Self.operation, "another copy into the same catalogue is at work, or is done")
        }
    }

    private func rows(of catalogue: CatalogueFile, _ table: CopiedTable, after last: [SQLValue]?) throws -> [SQLRow] {
        if shouldStop() { throw CatalogueError(.interrupted, Self.operation, "it was stopped") }
        return try catalogue.read(Self.operation) { db in try table.rows(after: last, limit: Self.step, db) }
    }

    /// Compares every row. Returns the rows of each table.
    func compare() throws -> [(table: String, rows: Int)] {
        try CopiedTable.compared.map { ($0.name, try compare($0)) }
    }

    private func compare(_ table: CopiedTable) throws -> Int {
        var (last, lastCopy): ([SQLValue]?, [SQLValue]?)
        var count = 0
        while true {
            let rows = try rows(of: source, table, after: last)
            let copies = try self.rows(of: target, table, after: lastCopy)
            for (row, copy) in zip(rows, copies) where table.content(of: row) != table.content(of: copy) {
                throw differs(table, row)
            }
            if rows.count != copies.count {
                throw differs(table, rows.count > copies.count ? rows[copies.count] : copies[rows.count])
            }
            guard let end = rows.last, let endOfCopy = copies.last else { return count }
            (last, lastCopy) = (try table.key(of: end), try table.key(of: endOfCopy))
            count += rows.count
            try report(Progress(table: table.name, rows: count, isComparing: true))
        }
    }

    private func differs(_ table: CopiedTable, _ row: SQLRow) -> CatalogueError {
        let key = table.key.map { "\($0) \(row[$0].map { "\($0)" } ?? "")" }.joined(separator: ", ")
        return CatalogueError(
            .other, Self.operation,
            "the copy differs in a row of \(table.name) (\(key)): one of the two was changed meanwhile. "
                + "Delete the copy, stop what writes to the catalogue, and copy again.")
    }

    /// Has the other one give numbers to rows behind the last ones that the source has given, also to rows that are deleted.
    /// Nothing is done if `first`, in the same transaction, throws.
    func continueNumbers(after first: (any CatalogueTransaction) throws -> Void = { _ in }) throws {
        let tables = CopiedTable.all.filter { $0.key == ["id"] && $0.updated.isEmpty }.map(\.name)
        let numbers = try source.read(Self.operation) { db in
            try tables.map { try db.value(Int64.self, db.words.copies.lastNumber($0)) }
        }
        try target.write(Self.operation) { db in
            try first(db)
            for (table, number) in zip(tables, numbers) {
                _ = try db.rows(db.words.copies.continueNumbers(table), [number])
            }
        }
    }

    private func end() throws {
        let tasks = try source.read(Self.operation) { db in try db.rows("SELECT name, since FROM pending_task") }
        try continueNumbers { db in
            let last = CopiedTable.all.count - 1
            try advance(from: last, to: last, db)
            try db.run("DELETE FROM pending_task")
            for task in tasks { try db.run("INSERT INTO pending_task (name, since) VALUES (?, ?)", task.values) }
            for table in CopiedTable.compared.map(\.name) + ["photo_text"] {
                if let statement = db.words.copies.statistics(table) { try db.run(statement) }
            }
        }
    }
}

/// A table as it is copied, in the order of its key.
private struct CopiedTable {
    let name: String
    let key: [String]
    /// Columns that refer to rows that are copied later.
    var omitted: [String] = []
    /// Those columns, when the rows are there.
    var updated: [String] = []

    /// What they refer to comes before. Descriptions come first: where there is no photo, triggers make no metadata of theirs.
    /// What triggers have made due is replaced in the end.
    static let all = [
        CopiedTable(name: "description", key: ["id"]), CopiedTable(name: "description_import", key: ["id"]),
        CopiedTable(name: "photo", key: ["id"], omitted: ["superseded_by", "undone_by"]),
        CopiedTable(name: "outcome", key: ["id"]), CopiedTable(name: "request", key: ["id"]),
        CopiedTable(name: "photo", key: ["id"], updated: ["superseded_by", "undone_by"]),
        CopiedTable(name: "intent", key: ["id"]), CopiedTable(name: "kept_source", key: ["id"]),
        CopiedTable(name: "move", key: ["id"]), CopiedTable(name: "metadata", key: ["photo_id"]),
        CopiedTable(name: "library", key: ["path"]), CopiedTable(name: "verification", key: ["library"]),
        CopiedTable(name: "damage", key: ["photo_id"]), CopiedTable(name: "hook", key: ["name"]),
        CopiedTable(name: "rendition", key: ["photo_id", "kind"]), CopiedTable(name: "trash_clock", key: ["id"]),
        CopiedTable(name: "metadata_reader", key: ["id"]), CopiedTable(name: "metadata_due", key: ["photo_id"]),
        CopiedTable(name: "sidecar", key: ["photo_id"]),
    ]

    static let filledByMigrations: Set = ["metadata_reader"]

    /// With what only triggers write.
    static let compared =
        all.filter(\.updated.isEmpty).map { CopiedTable(name: $0.name, key: $0.key) } + [
            CopiedTable(name: "tile", key: ["day", "second", "photo_id"]), CopiedTable(name: "tile_day", key: ["day"]),
        ]

    /// Whether a column is the number of their daemon, which the copy has another one of.
    private func isHost(_ column: String) -> Bool { column == (name == "trash_clock" ? "id" : "host") }

    /// `WHERE` for rows that are copied, with `more`.
    private func condition(_ more: String? = nil) -> String {
        let isUpdated = updated.map { "\($0) IS NOT NULL" }.joined(separator: " OR ")
        let conditions = [isUpdated.isEmpty ? nil : "(\(isUpdated))", more].compactMap(\.self)
        return conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
    }

    private var order: String { key.joined(separator: ", ") }

    func rows(after last: [SQLValue]?, limit: Int, _ db: any CatalogueTransaction) throws -> [SQLRow] {
        let marks = key.map { _ in "?" }.joined(separator: ", ")
        return try db.rows(
            "SELECT * FROM \(name) \(condition(last.map { _ in "(\(order)) > (\(marks))" })) ORDER BY \(order) LIMIT ?",
            (last ?? []).map { $0 } + [limit])
    }

    func key(of row: SQLRow) throws -> [SQLValue] {
        try key.map { column in
            guard let value = row[column] else { throw UnreadableRow(column: "\(name).\(column)") }
            return value
        }
    }

    func lastKey(_ db: any CatalogueTransaction) throws -> [SQLValue]? {
        let descending = key.map { "\($0) DESC" }.joined(separator: ", ")
        return try db.first("SELECT \(order) FROM \(name) \(condition()) ORDER BY \(descending) LIMIT 1")?.values
    }

    func count(_ db: any CatalogueTransaction) throws -> Int {
        try db.value(Int.self, "SELECT count(*) FROM \(name) \(condition())") ?? 0
    }

    func copy(_ row: SQLRow, _ db: any CatalogueTransaction) throws {
        guard updated.isEmpty else {
            let sets = updated.map { "\($0) = ?" }.joined(separator: ", ")
            return try db.run(
                "UPDATE \(name) SET \(sets) WHERE \(key.map { "\($0) = ?" }.joined(separator: " AND "))",
                updated.map { row[$0] } + (try key(of: row)).map { $0 })
        }
        let columns = row.columns.names.filter { !omitted.contains($0) && !isHost($0) }
        if name == "trash_clock" {
            let names = columns.joined(separator: ", ")
            return try db.run(
                "INSERT INTO trash_clock (id, \(names)) VALUES (\(db.words.own.host), ?, ?, ?, ?)",
                columns.map { row[$0] })
        }
        // Quoted, since some are words of SQL.
        try db.run(
            "INSERT INTO \(name) (\(columns.map { "\"\($0)\"" }.joined(separator: ", "))) "
                + "VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))", columns.map { row[$0] })
    }

    /// What both engines must have. PostgreSQL's texts contain no NUL.
    func content(of row: SQLRow) -> [String: SQLValue] {
        Dictionary(
            row.columns.names.filter { !isHost($0) }.map { name in
                guard case .text(let text)? = row[name], text.utf8.contains(0) else {
                    return (name, row[name] ?? .null)
                }
                return (name, .text(text.replacing("\0", with: "\u{FFFD}")))
            }
        ) { first, _ in first }
    }
}
