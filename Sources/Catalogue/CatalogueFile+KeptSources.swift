package import FileValues

extension CatalogueFile {
    /// Returns the kept source with this inode, size and modification time, whatever its name and attributes are now.
    /// If its change time differs from that of `identity`, compare hashes to know whether the content is the same.
    package func keptSource(like identity: FileIdentity, inbox: String) throws(CatalogueError) -> KeptSource? {
        try arrival(identity, inbox: inbox, keys: []).kept
    }

    /// What is known of an arrival: ``keptSource(like:inbox:)``, and whether a filed set has one of the keys. Called for every
    /// photo, hence only index lookups, in one statement.
    package func arrival(
        _ identity: FileIdentity, inbox: String, keys: [[UInt8]]
    ) throws(CatalogueError) -> (kept: KeptSource?, hasSet: Bool) {
        let found = keys.indices.flatMap { index in
            ["set_key", "short_key"].map { column in
                "EXISTS (SELECT 1 FROM photo WHERE inbox = ?1 AND \(column) = ?\(8 + index) AND superseded_at IS NULL)"
            }
        }
        let arguments: SQLArguments = [
            inbox, Int64(bitPattern: identity.inode), Int64(bitPattern: identity.size), identity.modified.seconds,
            Int64(identity.modified.nanoseconds), identity.changed.seconds, Int64(identity.changed.nanoseconds),
        ]
        return try readOne("reading what is known of an arrival") { db in
            let row = try db.first(
                """
                SELECT kept.*, (\(found.isEmpty ? "1 = 0" : found.joined(separator: " OR "))) AS has_set
                FROM (SELECT 1 AS one) AS one LEFT JOIN (
                    SELECT * FROM kept_source WHERE inbox = ?1 AND inode = ?2 AND size = ?3 AND modified = ?4
                    AND modified_ns = ?5 ORDER BY changed = ?6 AND changed_ns = ?7 DESC, id DESC LIMIT 1
                ) AS kept ON 1 = 1
                """, arguments + keys.map(\.self))
            guard let row else { return (nil, false) }
            return (row["id"] == .null ? nil : try KeptSource(row), try row.value("has_set"))
        }
    }

    /// Deletes the kept source of a path, because the file is gone or is to be retried.
    package func forgetKept(inbox: String, path: BytePath) throws(CatalogueError) {
        try write("forgetting a kept source") { db in
            try forgetKept(inbox, path, db)
        }
    }

    private func forgetKept(_ inbox: String, _ path: BytePath, _ db: any CatalogueTransaction) throws {
        try db.run("DELETE FROM kept_source WHERE inbox = ? AND \(db.words.isKey("path"))", [inbox, path])
    }

    /// Has an ignored or quarantined file that was left in its inbox examined again like a new arrival.
    package func forgetIgnored(inbox: String, path: BytePath) throws(CatalogueError) {
        let last = try outcomes(forPath: path, inbox: inbox).first?.outcome.outcome
        guard last == .ignored || last == .quarantined else { return }
        try forgetKept(inbox: inbox, path: path)
    }

    /// Records a kept source in place of the one of its path.
    func remember(_ source: KeptSource, _ db: any CatalogueTransaction) throws {
        try forgetKept(source.inbox, source.path, db)
        _ = try db.insert(source.columns, into: "kept_source")
    }
}
