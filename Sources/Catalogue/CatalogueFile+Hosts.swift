import LinuxKernel

/// A daemon that has written in a catalogue in PostgreSQL.
package struct CatalogueHostRow: Hashable, Sendable {
    package let key: String
    package let name: String
    /// Seconds since it last wrote, by the server's clock.
    package let silence: Int64
    /// Whether nothing of it is accepted any more.
    package let isForgotten: Bool

    private init(_ row: SQLRow) throws {
        key = try row.value("key")
        name = try row.value("name")
        silence = try row.value("silence")
        isForgotten = try row.value("is_forgotten")
    }

    static func all(_ db: any CatalogueTransaction) throws -> [CatalogueHostRow] {
        try db.rows(
            """
            SELECT key, name, extract(epoch FROM clock_timestamp() - seen)::bigint AS silence,
                forgotten_at IS NOT NULL AS is_forgotten
            FROM host ORDER BY id
            """
        ).map { try CatalogueHostRow($0) }
    }
}

extension CatalogueFile {
    /// How often the daemon has written over all its lives; 0 for a file.
    package var written: Int64 { server?.record.withLock { $0.written } ?? 0 }

    /// The daemons that have written in it; none for a file, which says nothing of its daemon.
    package func hosts() throws(CatalogueError) -> [CatalogueHostRow] {
        if server == nil { return [] }
        return try read("reading which hosts there are") { db in try CatalogueHostRow.all(db) }
    }

    /// Has the server refuse all that the daemon on this machine writes from now on, so that another one can be the
    /// catalogue's. Returns whether there was one.
    package func forgetHost(_ name: String) throws(CatalogueError) -> Bool {
        if server == nil { return false }
        return try write("forgetting a host") { db in
            try db.rowsChanged(
                by: """
                    UPDATE host SET forgotten_at = clock_timestamp(), epoch = epoch + 1
                    WHERE name = ? AND forgotten_at IS NULL
                    """, [name]) > 0
        }
    }
}
