import PostgreSQL

/// What a server says of itself before a daemon uses it.
package struct ServerCheck: Sendable {
    /// Which server answered, for people.
    package private(set) var facts = ""
    /// Settings by which a power cut of the server may lose what was committed.
    package private(set) var risks: [String] = []
    /// Why a daemon could not use it.
    package private(set) var faults: [String] = []

    /// Asks `server`, and changes nothing. Waits for some seconds at most. Throws if it cannot be reached, or accepts no writes.
    package init(_ server: CatalogueServer) throws(CatalogueError) {
        let engine = PostgreSQLEngine(server, writes: true)
        do {
            // It may let the role in without a password.
            if let file = try server.named().passwordFile, let fault = PostgresPasswordFile.fault(of: file) {
                risks.append(fault)
            }
            _ = try engine.read { db in try db.value(Int64.self, "SELECT 1") }
            let start = ContinuousClock.now
            _ = try engine.readOne { db in try db.value(Int64.self, "SELECT 1") }
            let away = start.duration(to: .now) / .milliseconds(1)
            try ask(engine, server.schema, "\((away * 10).rounded() / 10) ms away")
        } catch { throw CatalogueError(error, "opening the schema \(server.schema)") }
    }

    private mutating func ask(_ engine: PostgreSQLEngine, _ schema: String, _ away: String) throws {
        let found = try engine.schema(forWriting: true)
        try engine.read { db in
            func text(_ sql: String) throws -> String { try db.value(String.self, sql) ?? "" }
            func isTrue(_ sql: String) throws -> Bool { try db.value(Bool.self, sql, [schema]) ?? false }
            let timeline = "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint"
            facts =
                "PostgreSQL \(try text("SELECT current_setting('server_version')")), timeline "
                + "\(try text("SELECT CAST(\(timeline) AS TEXT)")), \(away); "
                + (found.version == 0 ? "no schema \(schema) yet" : "schema \(schema), version \(found.version)")
            for setting in ["fsync", "full_page_writes", "synchronous_commit"]
            where try text("SELECT current_setting('\(setting)')") == "off" {
                risks.append("\(setting) is off on the server: a power cut there may lose what was recorded")
            }
            if let fault = try PostgreSQLSchema.encodingFault(db) { faults.append(fault) }
            let role = try text("SELECT CAST(current_user AS TEXT)")
            if found.isNewer { faults.append("the schema \(schema) was written by a newer photoinboxd") }
            if try isTrue("SELECT to_regnamespace(quote_ident(?)) IS NULL") {
                if try db.value(Bool.self, "SELECT has_database_privilege(current_database(), 'CREATE')") != true {
                    faults.append("the role \(role) may not create the schema \(schema)")
                }
                return
            }
            if found.version == 0, try !isTrue("SELECT has_schema_privilege(to_regnamespace(quote_ident(?)), 'CREATE')")
            {
                faults.append("the role \(role) may not make tables in the schema \(schema)")
            }
            let tables = try db.values(
                String.self,
                """
                SELECT CAST(relname AS TEXT) FROM pg_class
                WHERE relnamespace = to_regnamespace(quote_ident(?)) AND relkind = 'r' AND NOT (
                    has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
                    AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))
                ORDER BY relname
                """, [schema])
            if let table = tables.first {
                faults.append(
                    "the role \(role) may not write the table \(schema).\(table)"
                        + (tables.count > 1 ? " and \(tables.count - 1) more" : ""))
            } else if !found.isCurrent, found.version > 0,
                try isTrue(
                    """
                    SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(?))
                    AND relkind = 'r' AND NOT pg_has_role(relowner, 'USAGE'))
                    """)
            {
                faults.append("the role \(role) does not own the tables of \(schema), which have to be migrated")
            }
        }
    }
}
