package import FileValues
import Foundation
import GRDB
import GRDBSQLite

extension CatalogueFile {
    /// Returns where the import of a table stopped, if it did and the table has not changed since.
    package func placeOfImport(_ path: BytePath, _ identity: FileIdentity) throws(CatalogueError) -> ImportPlace? {
        try read("looking where an import stopped") { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT * FROM description_import
                    WHERE path = ? AND inode = ? AND size = ? AND modified = ? AND modified_ns = ?
                    """,
                arguments: [
                    path.data, Int64(bitPattern: identity.inode), Int64(bitPattern: identity.size),
                    identity.modified.seconds, Int64(identity.modified.nanoseconds),
                ])
            return try row.map { row in
                ImportPlace(
                    offset: try row.unsigned("offset"), line: try row.value("line"), rows: try row.value("rows"),
                    rejected: try row.value("rejected"), rejectsLength: try row.unsigned("rejects_length"))
            }
        }
    }

    /// Imports a batch and the table's new position in one transaction. The values of a row replace recorded ones;
    /// values that it omits stay.
    ///
    /// `settle` is called before the commit with the rows whose paths no photo has, and returns the new position. An
    /// error of it rolls everything back.
    package func describe(
        _ batch: DescriptionBatch, from path: BytePath, _ identity: FileIdentity,
        settle: (_ unknown: [Int]) throws -> ImportPlace
    ) throws(CatalogueError) {
        try write("taking in descriptions") { db in
            var unknown: [Int] = []
            let insertion = try db.cachedStatement(sql: Self.insertion)
            let libraries = try Self.libraries(db)
            try batch.bytes.withUnsafeBytes { bytes in
                for (index, row) in batch.rows.enumerated() {
                    let key = UnsafeRawBufferPointer(rebasing: bytes[row.key])
                    switch row.subject {
                    case .content: try insert(row, key, bytes, insertion.sqliteStatement)
                    case .path:
                        guard let hash = try Self.hash(at: BytePath(key), in: libraries, db) else {
                            unknown.append(index)
                            continue
                        }
                        try hash.withUnsafeBytes { try insert(row, $0, bytes, insertion.sqliteStatement) }
                    }
                }
            }
            let place = try settle(unknown)
            try db.execute(
                sql: "INSERT OR REPLACE INTO description_import VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    Int64(bitPattern: identity.inode), Int64(bitPattern: identity.size), identity.modified.seconds,
                    Int64(identity.modified.nanoseconds), path.data, Int64(place.offset), place.line, place.rows,
                    place.rejected, Int64(place.rejectsLength),
                ])
        }
    }

    /// Returns the rows of a batch whose paths no photo has. Changes nothing.
    package func unknown(in batch: DescriptionBatch) throws(CatalogueError) -> [Int] {
        try read("looking for photos") { db in
            var unknown: [Int] = []
            let libraries = try Self.libraries(db)
            for (index, row) in batch.rows.enumerated() where row.subject == .path {
                if try Self.hash(at: BytePath(batch.bytes[row.key]), in: libraries, db) == nil { unknown.append(index) }
            }
            return unknown
        }
    }

    /// Deletes the position of a table that was imported to its end, so that another import of it starts at the
    /// beginning.
    package func finishImport(_ path: BytePath) throws(CatalogueError) {
        try write("ending an import") { db in
            try db.execute(sql: "DELETE FROM description_import WHERE path = ?", arguments: [path.data])
        }
    }

    private static let insertion = """
        INSERT INTO description (sha256, title, keywords, rating, taken, place) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (sha256) DO UPDATE SET
            title = coalesce(excluded.title, title), keywords = coalesce(excluded.keywords, keywords),
            rating = coalesce(excluded.rating, rating), taken = coalesce(excluded.taken, taken),
            place = coalesce(excluded.place, place)
        WHERE (coalesce(excluded.title, title), coalesce(excluded.keywords, keywords),
            coalesce(excluded.rating, rating), coalesce(excluded.taken, taken), coalesce(excluded.place, place))
            IS NOT (title, keywords, rating, taken, place)
        """

    /// Returns the libraries that have photos, by one index lookup each. DISTINCT would scan the whole index.
    private static func libraries(_ db: Database) throws -> [Data] {
        try Data.fetchAll(
            db,
            sql: """
                WITH RECURSIVE each (path) AS (
                    SELECT min(library) FROM photo WHERE superseded_at IS NULL
                    UNION ALL
                    SELECT (SELECT min(library) FROM photo WHERE superseded_at IS NULL AND library > each.path)
                    FROM each WHERE each.path IS NOT NULL
                ) SELECT path FROM each WHERE path IS NOT NULL
                """)
    }

    /// Returns the hash of the photo at a library path, absolute or relative; else of the last photo that arrived at
    /// the path, or at it as INBOX/PATH.
    private static func hash(at path: BytePath, in libraries: [Data], _ db: Database) throws -> [UInt8]? {
        let known = try db.cachedStatement(
            sql: "SELECT sha256 FROM photo WHERE library = ? AND library_path = ? AND superseded_at IS NULL")
        for library in libraries {
            let root = BytePath(library)
            let relative = path.bytes.first == UInt8(ascii: "/") ? path.relative(to: root) : path
            guard let relative else { continue }
            if let found = try Data.fetchOne(known, arguments: [library, relative.data]) { return Array(found) }
        }
        let source = try Data.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT photo.sha256 FROM outcome JOIN photo ON photo.id = outcome.photo_id
                    WHERE outcome.path = ? AND outcome.outcome = 'filed' AND superseded_at IS NULL
                    ORDER BY outcome.id DESC LIMIT 1
                    """), arguments: [path.data])
        if let source { return Array(source) }
        guard let inbox = path.components.first, path.components.count > 1, !path.isAbsolute else { return nil }
        let rest = path.components.dropFirst(2).reduce(path.components[1]) { $0.appending($1) }
        return try Data.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT photo.sha256 FROM outcome JOIN photo ON photo.id = outcome.photo_id
                    WHERE outcome.inbox = ? AND outcome.path = ? AND outcome.outcome = 'filed'
                    AND superseded_at IS NULL ORDER BY outcome.id DESC LIMIT 1
                    """), arguments: [String(decoding: inbox.bytes, as: UTF8.self), rest.data]
        ).map { Array($0) }
    }
}

/// Inserts one row, without copying its texts.
private func insert(
    _ row: DescriptionBatch.Row, _ key: UnsafeRawBufferPointer, _ bytes: UnsafeRawBufferPointer,
    _ statement: OpaquePointer
) throws {
    sqlite3_bind_blob(statement, 1, key.baseAddress, CInt(key.count), nil)
    for (number, text) in [(CInt(2), row.title), (3, row.keywords), (5, row.taken), (6, row.place)] {
        if text.isEmpty {
            sqlite3_bind_null(statement, number)
        } else {
            let start = bytes.baseAddress.map { ($0 + text.lowerBound).assumingMemoryBound(to: CChar.self) }
            sqlite3_bind_text(statement, number, start, CInt(text.count), nil)
        }
    }
    if let rating = row.rating {
        sqlite3_bind_int64(statement, 4, Int64(rating))
    } else {
        sqlite3_bind_null(statement, 4)
    }
    let code = sqlite3_step(statement)
    let message = code == SQLITE_DONE ? nil : String(cString: sqlite3_errmsg(sqlite3_db_handle(statement)))
    sqlite3_reset(statement)
    // The bound memory is valid only during this call.
    sqlite3_clear_bindings(statement)
    if let message { throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message) }
}
