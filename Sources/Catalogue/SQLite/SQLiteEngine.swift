import GRDB
import GRDBSQLite
import LinuxKernel

/// A SQLite file behind GRDB: one connection. Any thread; calls are serialized.
final class SQLiteEngine: CatalogueEngine {
    /// What a file is opened for.
    enum Use {
        /// Commits are durable.
        case writing
        case reading
        /// Without waiting for another process.
        case checking
        /// A file of somebody else, which may be hostile.
        case foreign
    }

    private let queue: DatabaseQueue
    /// The columns of the statements that GRDB keeps prepared.
    private let statements = Locked<[String: SQLColumns]>([:])

    init(_ path: String, for use: Use) throws {
        var configuration = Configuration()
        configuration.readonly = use != .writing
        switch use {
        case .writing:
            configuration.label = "photo-inbox.catalogue"
            configuration.journalMode = .wal
            configuration.busyMode = .timeout(CatalogueFile.busyTimeout)
            configuration.prepareDatabase { db in try keepLogFile(db) }
        case .reading:
            configuration.busyMode = .timeout(CatalogueFile.busyTimeout)
            // A reader may be confined so that it can make no file.
            configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA temp_store = MEMORY") }
        case .checking: break
        case .foreign:
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")
            }
        }
        if use == .writing || use == .reading {
            configuration.prepareDatabase { db in db.add(function: isInside) }
        }
        queue = try DatabaseQueue(path: path, configuration: configuration)
        guard use == .writing else { return }
        try queue.writeWithoutTransaction { db in
            // With WAL, GRDB sets NORMAL, which may lose the last commits in a power cut.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
                throw CatalogueError(.other, "opening the catalogue \(path)", "synchronous=FULL was not accepted")
            }
        }
    }

    func read<Value>(
        while goesOn: (() -> Bool)? = nil, _ body: (any CatalogueTransaction) throws -> Value
    ) throws -> Value {
        try reading { db in
            let transaction = SQLiteTransaction(db: db, statements: statements, isReading: true)
            guard let goesOn else { return try body(transaction) }
            let condition = Condition(goesOn)
            let context = Unmanaged.passUnretained(condition).toOpaque()
            sqlite3_progress_handler(
                db.sqliteConnection, 4_000,
                { context in
                    guard let context else { return 1 }
                    return Unmanaged<Condition>.fromOpaque(context).takeUnretainedValue().holds() ? 0 : 1
                }, context)
            defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
            return try withExtendedLifetime(condition) { try body(transaction) }
        }
    }

    /// In a transaction that sees one state. GRDB's own way of reading with a connection that writes sets `query_only`, after
    /// which SQLite compiles all its statements again.
    private func reading<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try queue.unsafeRead { db in
            var value: Value?
            try db.inTransaction(.deferred) {
                value = try body(db)
                return .commit
            }
            guard let value else { throw DatabaseError(message: "a transaction has no value") }
            return value
        }
    }

    func write<Value>(_ body: (any CatalogueTransaction) throws -> Value) throws -> Value {
        try queue.write { db in try body(SQLiteTransaction(db: db, statements: statements, isReading: false)) }
    }

    // MARK: - The file

    /// The migrations that the file has, and whether these are all, or more than this program knows.
    func schema() throws -> (version: Int, isCurrent: Bool, isNewer: Bool) {
        try queue.read { db in
            let migrator = Schema.migrator
            return (
                try migrator.appliedIdentifiers(db).count, try migrator.hasCompletedMigrations(db),
                try migrator.hasBeenSuperseded(db)
            )
        }
    }

    func migrate() throws { try Schema.migrator.migrate(queue) }

    /// Makes a copy of the whole content at a path where there is no file. It is not durable yet.
    func copy(to path: String) throws {
        try queue.writeWithoutTransaction { db in try db.execute(sql: "VACUUM INTO ?", arguments: [path]) }
    }

    /// Writes all that is in the log into the file, and deletes the log when the connection is closed.
    func endLog() throws {
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            try db.execute(sql: "PRAGMA journal_mode = DELETE")
        }
    }

    /// Reads the whole file; returns `ok`, or what is wrong.
    func quickCheck() throws -> [String] {
        try queue.read { db in try String.fetchAll(db, sql: "PRAGMA quick_check(3)") }
    }

    func interrupt() { queue.interrupt() }

    /// See ``CatalogueFile/copyDescriptions(from:)``.
    func copyDescriptions(from path: String) throws -> Int {
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "ATTACH DATABASE ? AS old", arguments: [path])
            defer { try? db.execute(sql: "DETACH DATABASE old") }
            // Catalogues of older versions have no such table. `accepted_after` is not copied, since it is a
            // photo's number in the other catalogue.
            try? db.execute(
                sql: """
                    INSERT OR IGNORE INTO library (path, file_system_type, file_system, inode, since)
                    SELECT path, file_system_type, file_system, inode, since FROM old.library
                    """)
            var count = 0
            try db.inTransaction(.deferred) {
                try db.execute(
                    sql: """
                        INSERT INTO description (sha256, title, keywords, rating, taken, place)
                        SELECT sha256, title, keywords, rating, taken, place FROM old.description WHERE true
                        ON CONFLICT (sha256) DO UPDATE SET
                            title = coalesce(excluded.title, title), keywords = coalesce(excluded.keywords, keywords),
                            rating = coalesce(excluded.rating, rating), taken = coalesce(excluded.taken, taken),
                            place = coalesce(excluded.place, place)
                        """)
                count = db.changesCount
                // Those that say the same count as this catalogue's again when they are looked at.
                try db.execute(sql: "UPDATE main.sidecar SET said = NULL")
                return .commit
            }
            // By itself, since more of the other one may be damaged; an older one has no such table.
            try? db.execute(
                sql: """
                    UPDATE main.sidecar SET said = (
                        SELECT said FROM old.sidecar JOIN old.photo AS theirs ON theirs.id = photo_id
                        WHERE said IS NOT NULL AND theirs.sha256 = mine.sha256
                        ORDER BY superseded_at IS NULL DESC, theirs.id DESC LIMIT 1)
                    FROM main.photo AS mine WHERE mine.id = main.sidecar.photo_id
                    """)
            return count
        }
    }
}

/// Whether SQLite is to go on.
private final class Condition {
    let holds: () -> Bool

    init(_ holds: @escaping () -> Bool) { self.holds = holds }
}

/// Keeps the -wal and -shm files when the daemon closes: without them, a reader that may not write to the directory
/// cannot open the database. See sqlite.org/c3ref/c_fcntl_begin_atomic_write.html, SQLITE_FCNTL_PERSIST_WAL.
private func keepLogFile(_ db: Database) throws {
    var flag: CInt = 1
    let code = sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &flag)
    guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
}

/// `is_inside(latitude, longitude, …)` with the numbers of ``SearchArea/numbers``.
private let isInside = DatabaseFunction("is_inside", pure: true) { values in
    let numbers = values.compactMap { Double.fromDatabaseValue($0) }
    guard numbers.count == values.count, numbers.count > 2, let area = SearchArea(numbers: numbers[2...]) else {
        return false
    }
    return area.contains(latitude: numbers[0], longitude: numbers[1])
}
