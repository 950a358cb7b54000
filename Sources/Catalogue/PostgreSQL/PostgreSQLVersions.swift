extension PostgreSQLSchema {
    /// What a database has.
    struct Found: Hashable, Sendable {
        /// 0: nothing is there.
        let version: Int
        /// The oldest versions whose programs may write it, and read it.
        let oldestWriter: Int
        let oldestReader: Int

        /// Whether it was made by a newer program, that this one must not read, or write.
        var isTooNewToRead: Bool { version > newest && oldestReader > newest }
        var isTooNewToWrite: Bool { version > newest && oldestWriter > newest }
        private var newest: Int { PostgreSQLSchema.versions.count }
    }

    static func found(_ db: any CatalogueTransaction) throws -> Found {
        if try db.value(Bool.self, "SELECT to_regclass('schema_version') IS NOT NULL") == true,
            let row = try db.first(
                "SELECT version, oldest_writer, oldest_reader FROM schema_version ORDER BY version DESC LIMIT 1")
        {
            return Found(
                version: try row.value("version"), oldestWriter: try row.value("oldest_writer"),
                oldestReader: try row.value("oldest_reader"))
        }
        return Found(version: 0, oldestWriter: 0, oldestReader: 0)
    }

    /// Why there can be no catalogue in a database of this encoding; nil if there can be.
    static func encodingFault(_ db: any CatalogueTransaction) throws -> String? {
        guard let encoding = try db.value(String.self, "SELECT current_setting('server_encoding')"), encoding != "UTF8"
        else { return nil }
        return "the database has the encoding \(encoding): make one with ENCODING 'UTF8' TEMPLATE template0"
    }

    /// Brings the tables to the newest version, in a write transaction of its own, which must be READ COMMITTED. Another program
    /// that begins at the same time waits for it, and then finds nothing to do.
    static func migrate(_ db: any CatalogueTransaction) throws {
        let operation = "making the tables of the catalogue"
        if let fault = try encodingFault(db) { throw CatalogueError(.other, operation, fault) }
        guard try db.value(String.self, "SELECT CAST(current_schema() AS TEXT)") != nil else {
            throw CatalogueError(.other, operation, "the schema for them is not there")
        }
        // Another program that makes it is waited for, and then found as a duplicate.
        try db.run(
            """
            DO $$ BEGIN
                CREATE TABLE IF NOT EXISTS schema_version (
                    version bigint PRIMARY KEY, name text COLLATE "C" NOT NULL, oldest_writer bigint NOT NULL,
                    oldest_reader bigint NOT NULL);
            EXCEPTION WHEN unique_violation OR duplicate_table THEN
                NULL;
            END $$
            """)
        try db.run("LOCK TABLE schema_version IN SHARE ROW EXCLUSIVE MODE")
        let known = try found(db).version
        for (index, version) in versions.enumerated().dropFirst(known) {
            try db.run(version.sql)
            try db.run(
                "INSERT INTO schema_version (version, name, oldest_writer, oldest_reader) VALUES (?, ?, ?, ?)",
                [index + 1, version.name, version.oldestWriter, version.oldestReader])
        }
    }
}
