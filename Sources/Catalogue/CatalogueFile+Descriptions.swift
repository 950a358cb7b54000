package import FileValues

extension CatalogueFile {
    /// Returns where the import of a table stopped, if it did and the table has not changed since.
    package func placeOfImport(_ path: BytePath, _ identity: FileIdentity) throws(CatalogueError) -> ImportPlace? {
        try read("looking where an import stopped") { db in
            let row = try db.first(
                """
                SELECT * FROM description_import
                WHERE \(db.words.isKey("path")) AND inode = ? AND size = ? AND modified = ? AND modified_ns = ?
                """,
                [
                    path, Int64(bitPattern: identity.inode), Int64(bitPattern: identity.size),
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
            let libraries = try Self.libraries(db)
            // The hashes of the photos at paths.
            var found: [UInt8] = []
            var rows: [(row: DescriptionBatch.Row, found: Range<Int>?)] = []
            rows.reserveCapacity(batch.rows.count)
            for (index, row) in batch.rows.enumerated() {
                guard row.subject == .path else {
                    rows.append((row, nil))
                    continue
                }
                guard let hash = try Self.hash(at: BytePath(batch.bytes[row.key]), in: libraries, db) else {
                    unknown.append(index)
                    continue
                }
                rows.append((row, found.count..<found.count + hash.count))
                found += hash
            }
            try batch.bytes.withUnsafeBytes { bytes in
                try found.withUnsafeBytes { found in
                    try db.runEach(Self.insertion, count: rows.count) { index, values in
                        let (row, hash) = rows[index]
                        func text(_ range: Range<Int>) -> SQLBorrowed {
                            range.isEmpty ? .null : .text(UnsafeRawBufferPointer(rebasing: bytes[range]))
                        }
                        values.append(
                            .bytes(UnsafeRawBufferPointer(rebasing: hash.map { found[$0] } ?? bytes[row.key])))
                        values.append(text(row.title))
                        values.append(text(row.keywords))
                        values.append(row.rating.map { .integer(Int64($0)) } ?? .null)
                        values.append(text(row.taken))
                        values.append(text(row.place))
                    }
                }
            }
            let place = try settle(unknown)
            try db.run(
                """
                INSERT INTO description_import
                    (inode, size, modified, modified_ns, path, "offset", line, rows, rejected, rejects_length)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (\(db.words.key("path"))) DO UPDATE SET
                    inode = excluded.inode, size = excluded.size, modified = excluded.modified,
                    modified_ns = excluded.modified_ns, "offset" = excluded."offset", line = excluded.line,
                    rows = excluded.rows, rejected = excluded.rejected, rejects_length = excluded.rejects_length
                """,
                [
                    Int64(bitPattern: identity.inode), Int64(bitPattern: identity.size), identity.modified.seconds,
                    Int64(identity.modified.nanoseconds), path, Int64(place.offset), place.line, place.rows,
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
            try db.run("DELETE FROM description_import WHERE \(db.words.isKey("path"))", [path])
        }
    }

    private static let insertion = """
        INSERT INTO description (sha256, title, keywords, rating, taken, place) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (sha256) DO UPDATE SET
            title = coalesce(excluded.title, description.title),
            keywords = coalesce(excluded.keywords, description.keywords),
            rating = coalesce(excluded.rating, description.rating),
            taken = coalesce(excluded.taken, description.taken),
            place = coalesce(excluded.place, description.place)
        WHERE (coalesce(excluded.title, description.title), coalesce(excluded.keywords, description.keywords),
            coalesce(excluded.rating, description.rating), coalesce(excluded.taken, description.taken),
            coalesce(excluded.place, description.place))
            IS DISTINCT FROM (description.title, description.keywords, description.rating, description.taken,
                description.place)
        """

    /// Returns the libraries that have photos, by one index lookup each. DISTINCT would scan the whole index.
    private static func libraries(_ db: any CatalogueTransaction) throws -> [BytePath] {
        let first = "SELECT library FROM photo WHERE superseded_at IS NULL"
        let key = db.words.key("library")
        return try db.values(
            BytePath.self,
            """
            WITH RECURSIVE known (path) AS (
                SELECT (\(first) ORDER BY \(key) LIMIT 1)
                UNION ALL
                SELECT (\(first) AND \(key) > \(db.words.key("known.path")) ORDER BY \(key) LIMIT 1)
                FROM known WHERE known.path IS NOT NULL
            ) SELECT path FROM known WHERE path IS NOT NULL ORDER BY path
            """)
    }

    /// Returns the hash of the photo at a library path, absolute or relative; else of the last photo that arrived at
    /// the path, or at it as INBOX/PATH.
    private static func hash(
        at path: BytePath, in libraries: [BytePath], _ db: any CatalogueTransaction
    ) throws -> [UInt8]? {
        for library in libraries {
            let relative = path.bytes.first == UInt8(ascii: "/") ? path.relative(to: library) : path
            guard let relative else { continue }
            let known = try db.value(
                [UInt8].self,
                "SELECT sha256 FROM photo WHERE \(db.words.isAt())", [library, relative])
            if let known { return known }
        }
        let source = try db.value(
            [UInt8].self,
            """
            SELECT photo.sha256 FROM outcome JOIN photo ON photo.id = outcome.photo_id
            WHERE outcome.path = ? AND outcome.outcome = 'filed' AND superseded_at IS NULL
            ORDER BY outcome.id DESC LIMIT 1
            """, [path])
        if let source { return source }
        guard let inbox = path.components.first, path.components.count > 1, !path.isAbsolute else { return nil }
        let rest = path.components.dropFirst(2).reduce(path.components[1]) { $0.appending($1) }
        return try db.value(
            [UInt8].self,
            """
            SELECT photo.sha256 FROM outcome JOIN photo ON photo.id = outcome.photo_id
            WHERE outcome.inbox = ? AND outcome.path = ? AND outcome.outcome = 'filed'
            AND superseded_at IS NULL ORDER BY outcome.id DESC LIMIT 1
            """, [String(decoding: inbox.bytes, as: UTF8.self), rest])
    }
}
