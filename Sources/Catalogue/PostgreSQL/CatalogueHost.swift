import PostgreSQL

/// A daemon, as a catalogue in PostgreSQL knows it. Only its newest life may write there.
package struct CatalogueHost: Hashable, Sendable {
    /// Of its state directory, for good.
    package let key: String
    /// Of its machine, for people.
    package let name: String
    /// How often it has written at least, so that a database that went back while it did not run is found out.
    package let written: Int64

    package init(key: String, name: String, written: Int64 = 0) {
        (self.key, self.name, self.written) = (key, name, written)
    }
}

/// One life of a daemon: what it writes is refused once another of it has begun.
///
/// A connection that was lost may have a commit under way that nobody hears of. So each connection begins another epoch,
/// which waits for that commit, and after which no write of an earlier epoch is accepted.
struct CatalogueLife {
    private let host: CatalogueHost
    /// Of this process: its row's `life` until another process begins one.
    let token = "\(UInt64.random(in: .min ... .max))"
    private(set) var number: (host: Int64, epoch: Int64)?
    /// Writes whose commit was answered, over all lives.
    private(set) var written: Int64
    /// Whether an earlier state of the database was met: the library has photos that it does not know.
    private(set) var wentBack = false

    init(_ host: CatalogueHost) { (self.host, written) = (host, host.written) }

    mutating func wrote() { written += 1 }

    /// Begins the next epoch. Throws ``CatalogueError/Code/anotherHost`` if the catalogue is another daemon's.
    mutating func beginEpoch(on connection: PostgresConnection, within limit: Duration) throws {
        let (known, written) = (number, written)
        let found = try connection.transaction(.write, within: limit) { transaction in
            let db = PostgreSQLTransaction(transaction, PostgreSQLProgress(), while: nil)
            let row =
                if let known {
                    try db.first(
                        """
                        UPDATE host SET epoch = epoch + 1, seen = clock_timestamp()
                        WHERE id = ? AND life = ? AND forgotten_at IS NULL RETURNING id, epoch, writes
                        """, [known.host, token])
                } else { try begin(db) }
            guard let row else {
                throw CatalogueError(
                    .anotherHost, "connecting again",
                    "another photoinboxd with this one's state directory has begun since, or it was forgotten")
            }
            let writes: Int64 = try row.value("writes")
            // One more, if the answer to a commit was lost.
            let isBack = known == nil ? writes < written : writes != written && writes != written + 1
            if isBack {
                try db.run(
                    """
                    INSERT INTO pending_task (name, since) VALUES ('rebuild', extract(epoch FROM now())::bigint * 1000000000)
                    ON CONFLICT (name) DO NOTHING
                    """)
            }
            return (
                host: try row.value("id") as Int64, epoch: try row.value("epoch") as Int64, writes: writes,
                isBack: isBack
            )
        }
        number = (found.host, found.epoch)
        self.written = found.writes
        // At a start it is rebuilt before anything is filed.
        if found.isBack, known != nil { wentBack = true }
    }

    private func begin(_ db: PostgreSQLTransaction) throws -> SQLRow? {
        // Of columns that the first version has: this may be before the migration.
        let names = try db.values(String.self, "SELECT name FROM host WHERE key <> ?", [host.key])
        let name = ([host.name] + (2...names.count + 2).map { "\(host.name)-\($0)" }).first { !names.contains($0) }
        let row = try db.first(
            """
            INSERT INTO host (key, name, life, epoch, seen) VALUES (?, ?, ?, 1, clock_timestamp())
            ON CONFLICT (key) DO UPDATE SET life = excluded.life, epoch = host.epoch + 1, seen = excluded.seen,
                forgotten_at = NULL
            RETURNING id, epoch, writes
            """, [host.key, name, token])
        // What came from a file is the first one's that begins.
        if let row, try db.value(Bool.self, "SELECT to_regclass('inbox') IS NOT NULL") == true {
            let id: Int64 = try row.value("id")
            for table in ["library", "hook"] { try db.run("UPDATE \(table) SET host = ? WHERE host = 0", [id]) }
            try db.run("UPDATE trash_clock SET id = ? WHERE id = 0", [id])
        }
        return row
    }

    /// Has the server refuse all of a transaction that is not this life's, in the same round trip as what follows.
    func require(in transaction: PostgresTransaction) throws {
        guard let number else { return }
        if wentBack {
            throw CatalogueError(.replaced, "writing", "the database went back to an earlier state")
        }
        try transaction.enqueue(
            "SELECT require_life(?, ?, ?)", [.integer(number.host), .integer(number.epoch), .integer(written)])
    }
}
