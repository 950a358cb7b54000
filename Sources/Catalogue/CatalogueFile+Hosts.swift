import LinuxKernel

/// A daemon that has written in a catalogue in PostgreSQL.
package struct CatalogueHostRow: Hashable, Sendable {
    package let key: String
    package let name: String
    /// When it was last seen, in seconds since 1970, and how many seconds ago that is: by the server's clock. On a standby,
    /// before the last of them was seen: it may have lost its primary long ago.
    package let seen: Int64
    package let silence: Int64
    /// The names of its inboxes.
    package let inboxes: [String]
    /// Whether nothing of it is accepted any more.
    package let isForgotten: Bool
    /// What it said of itself then; nil if it has said nothing.
    package let said: String?

    /// Whether it is not known to run.
    package var isSilent: Bool { !isForgotten && silence > Int64(CatalogueFile.lease) }

    private init(_ row: SQLRow) throws {
        key = try row.value("key")
        name = try row.value("name")
        seen = try row.value("seen_at")
        silence = try row.value("silence")
        let inboxes: String? = try row.optional("inboxes")
        self.inboxes = inboxes?.split(separator: "\n").map(String.init) ?? []
        isForgotten = try row.value("is_forgotten")
        said = try row.optional("said")
    }

    /// All hosts but the one with this `life`.
    static func all(_ db: any CatalogueTransaction, but life: String? = nil) throws -> [CatalogueHostRow] {
        try db.rows(
            """
            SELECT key, name, extract(epoch FROM seen)::bigint AS seen_at,
                extract(epoch FROM CASE WHEN pg_is_in_recovery() THEN (SELECT max(seen) FROM host) ELSE clock_timestamp() END
                    - seen)::bigint AS silence,
                (SELECT string_agg(inbox.name, E'\\n' ORDER BY inbox.name) FROM inbox WHERE inbox.host = host.id) AS inboxes,
                forgotten_at IS NOT NULL AS is_forgotten,
                CASE WHEN octet_length(said) <= \(CatalogueFile.longestStatement) THEN said END AS said
            FROM host WHERE life IS DISTINCT FROM ? ORDER BY name, id
            """, [life]
        ).map { try CatalogueHostRow($0) }
    }
}

extension CatalogueFile {
    /// The most bytes of what a host says of itself.
    package static let longestStatement = 32_768

    /// How often the daemon has written over all its lives; 0 for a file.
    package var written: Int64 { server?.record.withLock { $0.written } ?? 0 }

    /// A number that only daemons with this database have, and that a standby keeps when it takes over; nil for a file.
    package func databaseNumber() throws(CatalogueError) -> UInt64? {
        if server == nil { return nil }
        return try read("identifying the database") { db in
            let name = try db.value(
                String.self,
                """
                SELECT concat_ws('/', (SELECT system_identifier FROM pg_control_system()), oid, current_schema())
                FROM pg_database WHERE datname = current_database()
                """)
            // FNV-1a, which is the same in each process.
            return (name ?? "").utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        }
    }

    /// Which host has this inbox and was not forgotten; nil if none has, or it is the one with this `key`.
    package func owner(ofInbox name: String, but key: String?) throws(CatalogueError) -> String? {
        try hosts().first { !$0.isForgotten && $0.key != key && $0.inboxes.contains(name) }?.name
    }

    /// Has what is read be what the daemon with this key reads, as of which library it has accepted; returns what the catalogue
    /// knows of it, nil if it knows none. For who opened it for reading alone.
    package func readAsHost(_ key: String) throws(CatalogueError) -> CatalogueHostRow? {
        guard let server else { return nil }
        let id = try read("reading which host this is") { db in
            try db.value(Int64.self, "SELECT id FROM host WHERE key = ?", [key])
        }
        server.record.withLock { $0.host = id }
        return try hosts().first { $0.key == key }
    }

    /// The other host that has this inbox and was not forgotten, as a daemon asks; nil if none has.
    package func otherHost(ofInbox name: String) throws(CatalogueError) -> String? {
        try owner(ofInbox: name, but: server?.memory?.key)
    }

    /// The host that has an inbox of this name, or had it until it was forgotten.
    package func host(ofInbox name: String) throws(CatalogueError) -> CatalogueHostRow? {
        let hosts = try hosts().filter { $0.inboxes.contains(name) }
        return hosts.first { !$0.isForgotten } ?? hosts.first
    }

    /// How much of what this daemon had begun a database lacked that went back, and is finished again; since the last call.
    package func takeBegunAgain() -> Int { server?.memory?.takeBegunAgain() ?? 0 }

    /// The daemons that have written in it; none for a file, which says nothing of its daemon.
    package func hosts() throws(CatalogueError) -> [CatalogueHostRow] {
        if server == nil { return [] }
        return try read("reading which hosts there are") { db in try CatalogueHostRow.all(db) }
    }

    /// Says that this daemon runs, and how it is; returns the other hosts. It waits for no disk and no standby of the server:
    /// what is lost is said again. For a file it does nothing.
    @discardableResult
    package func heartbeat(_ said: String) throws(CatalogueError) -> [CatalogueHostRow] {
        let operation = "reporting to the other hosts"
        guard let server else { return [] }
        do {
            // Which begins a life, where the server was not there yet.
            _ = try engine(operation)
            return try server.writeUncounted { db, life in
                try db.run("SELECT set_config('synchronous_commit', 'off', true)")
                let changed = try db.rowsChanged(
                    by: """
                        UPDATE host SET said = ?, seen = clock_timestamp() WHERE life = ? AND forgotten_at IS NULL
                        """, [said, life])
                guard changed > 0 else {
                    throw try CatalogueError.anotherHost(operation, db, "id = ?", server.record.withLock { $0.host })
                }
                return try CatalogueHostRow.all(db, but: life)
            }
        } catch { throw CatalogueError(error, operation) }
    }

    /// The server's version, how long it takes to ask it something, and whether it is a standby; nil for a file.
    package func serverFacts() throws(CatalogueError) -> (version: String, roundTrip: Duration, isStandby: Bool)? {
        if server == nil { return nil }
        return try read("asking the server for its version") { db in
            // Without what a distribution adds: `15.18 (Debian 15.18-0+deb12u1)`.
            func version() throws -> String? {
                try db.value(String.self, "SELECT split_part(current_setting('server_version'), ' ', 1)")
            }
            // The first time it connects, and prepares the statement.
            let found = try version() ?? "?"
            let begun = ContinuousClock.now
            _ = try version()
            let roundTrip = ContinuousClock.now - begun
            return (found, roundTrip, try db.value(Bool.self, "SELECT pg_is_in_recovery()") ?? false)
        }
    }

    /// Has an inbox be this daemon's, as recording something of it does. Throws ``CatalogueError/Code/inboxOfAnother`` if it
    /// is that of another one that was not forgotten.
    package func claimInbox(_ name: String) throws(CatalogueError) {
        if server == nil { return }
        try write("serving an inbox") { db in try db.run("SELECT claim_inbox(?)", [name]) }
    }

    /// Has the server refuse all that the daemon writes which the catalogue knows by this name, and its inboxes be free for
    /// others. Started again, it is a host like any other. Returns whether there was one.
    package func forgetHost(_ name: String) throws(CatalogueError) -> Bool {
        if server == nil { return false }
        return try write("forgetting a host") { db in
            let host = try db.value(
                Int64.self,
                """
                UPDATE host SET forgotten_at = clock_timestamp(), epoch = epoch + 1
                WHERE name = ? AND forgotten_at IS NULL RETURNING id
                """, [name])
            guard let host else { return false }
            for table in ["library", "hook"] { try db.run("DELETE FROM \(table) WHERE host = ?", [host]) }
            try db.run("DELETE FROM trash_clock WHERE id = ?", [host])
            let isOwn = "inbox IN (SELECT name FROM inbox WHERE host = ?)"
            try db.run(
                """
                DELETE FROM pending_task WHERE EXISTS (SELECT 1 FROM outcome WHERE \(isOwn) AND id =
                    CASE WHEN pending_task.name LIKE 'hook %' THEN split_part(pending_task.name, ' ', 3)::bigint END)
                """, [host])
            try db.run("UPDATE request SET trash_from = NULL WHERE \(isOwn)", [host])
            try db.run("UPDATE intent SET step = 'lost' WHERE step = 'begun' AND \(isOwn)", [host])
            return true
        }
    }
}
