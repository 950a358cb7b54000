import FleetRules
import PostgreSQL

/// A daemon, as a catalogue in PostgreSQL knows it. Only its newest life may write there.
package struct CatalogueHost: Sendable {
    /// Of its state directory, for good.
    package let key: String
    /// Of its machine, for people.
    package let name: String
    let memory: ServerMemory?

    package init(key: String, name: String, memory: ServerMemory? = nil) {
        (self.key, self.name, self.memory) = (key, name, memory)
    }
}

extension CatalogueError {
    /// Why nothing more is accepted of the daemon whose row has this `value`.
    static func anotherHost(
        _ operation: String, _ db: any CatalogueTransaction, _ condition: String, _ value: (any SQLConvertible)?
    ) throws -> CatalogueError {
        let row = try db.first(
            "SELECT name, forgotten_at IS NOT NULL AS is_forgotten FROM host WHERE \(condition)", [value])
        let name = try row.map { try $0.value("name") as String } ?? "?"
        let isForgotten = try row.map { try $0.value("is_forgotten") as Bool } ?? false
        return CatalogueError(
            .anotherHost, operation,
            isForgotten
                ? "this host, \(name), was forgotten"
                : "another daemon has begun since as this host, \(name), with a copy of its state directory")
    }
}

/// One life of a daemon: what it writes is refused once another of it has begun.
///
/// A connection that was lost may have a commit under way that nobody hears of. So each connection begins another epoch,
/// which waits for that commit, and after which no write of an earlier epoch is accepted.
struct CatalogueLife {
    private let host: CatalogueHost
    /// The schema was made just now: it has lost more than what this daemon had begun.
    private let isFirst: Bool
    /// Of this process: its row's `life` until another process begins one.
    let token = "\(UInt64.random(in: .min ... .max))"
    private(set) var number: (host: Int64, epoch: Int64)?
    /// Writes whose commit was answered, over all lives.
    private(set) var written: Int64
    /// Whether an earlier state of the database was met: the library has photos that it does not know.
    private(set) var wentBack = false

    init(_ host: CatalogueHost, isFirst: Bool) {
        (self.host, self.isFirst, written) = (host, isFirst, host.memory?.written ?? 0)
    }

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
            let writes: Int64? = try row?.value("writes")
            // One more, if the answer to a commit was lost.
            let isBack =
                if let writes { known == nil ? writes < written : writes != written && writes != written + 1 } else {
                    try isLost(known, db)
                }
            guard row != nil || isBack else {
                throw try CatalogueError.anotherHost("connecting again", db, "key = ?", host.key)
            }
            // A start records what was begun since; what runs has to be begun again.
            let again = isBack && known == nil ? try beginAgain(after: writes ?? 0, db) : nil
            if isBack, again == nil, known == nil || host.memory == nil {
                try db.run(
                    """
                    INSERT INTO pending_task (name, since) VALUES ('rebuild', extract(epoch FROM now())::bigint * 1000000000)
                    ON CONFLICT (name) DO NOTHING
                    """)
            }
            return (
                number: try row.map { (host: try $0.value("id") as Int64, epoch: try $0.value("epoch") as Int64) },
                writes: writes,
                isBack: isBack,
                again: again
            )
        }
        if let number = found.number { self.number = number }
        if let writes = found.writes { self.written = writes }
        if let rows = found.again { host.memory?.beganAgain(rows, after: self.written) }
        // At a start it is rebuilt before anything is filed.
        if found.isBack, known != nil { wentBack = true }
    }

    /// Inserts again what the database has lost of what this daemon had begun, for recovery, which finds out how far each came.
    /// Returns nil if that is not known of all: then the library's photos are to be recorded.
    private func beginAgain(after writes: Int64, _ db: PostgreSQLTransaction) throws -> [BegunRow]? {
        guard !isFirst, let rows = host.memory?.begun(after: writes) else { return nil }
        do {
            var inserted: [BegunRow] = []
            try db.part {
                for (index, row) in rows.enumerated() {
                    let hash = row.columns["sha256"] ?? nil
                    // A photo that came again after it was returned may have its place.
                    if row.table == .request,
                        rows[index...].contains(where: { later in
                            later.table == .intent && later.columns["sha256"]??.sqlValue == hash?.sqlValue
                        })
                    {
                        continue
                    }
                    if try beginAgain(row, hash, db) { inserted.append(row) }
                }
            }
            return inserted
        } catch let error as PostgresError where error.sqlState != nil && error.kind != .busy {
            // As of a program that had other columns.
            return nil
        }
    }

    private func beginAgain(
        _ row: BegunRow, _ hash: (any SQLConvertible)?, _ db: PostgreSQLTransaction
    ) throws -> Bool {
        let isThere = "SELECT EXISTS (SELECT 1 FROM \(row.table) WHERE token = ?)"
        if try db.value(Bool.self, isThere, [row.columns["token"] ?? nil]) == true { return false }
        var columns = row.columns
        let recorded = "SELECT id FROM photo WHERE sha256 = ? AND superseded_at IS NULL"
        // Sidecars of different photos may have the same bytes.
        let photo = recorded + " AND role IS DISTINCT FROM 'sidecar'"
        switch row.table {
        case .intent:
            // Others may have filed the content since.
            columns["step"] = StoredIntent.Step.lost.rawValue
            if let joined = columns.removeValue(forKey: BegunRow.joined) ?? nil {
                columns["joins"] = try db.value(Int64.self, photo, [joined])
                // Lost as well, it is recovered as one set with this.
                let set = try db.first(
                    """
                    UPDATE intent SET set_token = coalesce(set_token, token)
                    WHERE sha256 = ? AND inbox = ? AND step = 'lost' RETURNING set_token
                    """, [joined, columns["inbox"] ?? nil])
                if let set { columns["set_token"] = try set.value("set_token") as String }
            }
        case .move: columns["photo_id"] = try db.value(Int64.self, photo, [hash])
        case .request:
            // Not of a photo that was filed since with the same content.
            columns["photo_id"] = try db.value(
                Int64.self, recorded + " AND library = ? AND library_path = ?",
                [hash, columns["source_root"] ?? nil, columns["source_path"] ?? nil])
        }
        _ = try db.insert(columns, into: "\(row.table)")
        return true
    }

    /// Whether the row of this life is gone, and not another's: epochs only become greater.
    private func isLost(_ known: (host: Int64, epoch: Int64)?, _ db: PostgreSQLTransaction) throws -> Bool {
        guard let known else { return false }
        let epoch = try db.value(Int64.self, "SELECT epoch FROM host WHERE key = ?", [host.key])
        return epoch.map { $0 < known.epoch } ?? true
    }

    private func begin(_ db: PostgreSQLTransaction) throws -> SQLRow? {
        // Two that begin at once for the first time would choose the same name.
        try db.run("SELECT 1 FROM pg_advisory_xact_lock(hashtext('photoinbox host names'))")
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
