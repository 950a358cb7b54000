package import FileValues
import Foundation
import GRDB
import GRDBSQLite
import LinuxKernel
import SystemPackage

/// The database of what was filed, from where, when, and why so: SQLite in one file, in WAL mode with synchronous=FULL,
/// so that what a method recorded survives a power cut once it has returned.
///
/// Every method is synchronous, is one transaction, and may wait for the disk or, up to ``busyTimeout``, for another
/// process; safe on any thread, one at a time. One process writes; others read meanwhile without blocking it.
package final class CatalogueFile: Sendable {
    /// Seconds that an operation waits for another process before it throws ``CatalogueError/Code/busy``.
    package static let busyTimeout = 5.0

    /// The file.
    package let path: String
    /// A damaged file that opening found and set aside, with what was wrong with it; its -wal and -shm lie beside it.
    package let setAside: SetAside?

    private let isWriter: Bool
    /// The connection; nil after it was given up.
    let connection: Locked<DatabaseQueue?>
    private let isClosed = Locked(false)
    /// The file that is open.
    let standing = Locked<Standing?>(nil)
    /// Whether it was too large to be checked when it was opened, and is to be with ``check()``.
    package let isUnchecked: Bool
    /// The connection by which it is checked, and whether that is to end.
    let checking = Locked<DatabaseQueue?>(nil)
    let isClosing = Locked(false)

    /// A damaged catalogue file, moved out of the way.
    package struct SetAside: Hashable, Sendable {
        /// Where it lies now.
        package let path: String
        /// What SQLite said of it.
        package let reason: String
    }

    /// Opens the catalogue at `path` for the daemon, makes it if it is missing, checks it unless it is large
    /// (``isUnchecked``), and brings its schema up to date.
    ///
    /// A damaged file is set aside and a new one begun, which is to be made whole from the library
    /// (``isRebuilding()``); the caller sees to that and reports it. A file of a newer version is refused and left
    /// alone; of one of an older version a copy is kept beside it, `NAME.before-N`. A missing one is to be made whole
    /// from the library, too, if there was one: `isLost` says so.
    package static func openForWriting(
        _ path: String, now: FileTime, isLost: Bool = false
    ) throws(CatalogueError) -> CatalogueFile {
        // Its logs, and all that is made beside it, are where the file is, not where a link to it is.
        let path = String(decoding: linkedPath(BytePath(path)).bytes, as: UTF8.self)
        // An empty file is no more of a catalogue than none.
        let isThere =
            try finishRestoring(path) && (try? FileStatus(at: BytePath(path), followingLinks: true))?.identity.size != 0
        do {
            let catalogue = try CatalogueFile(writing: path, setAside: nil)
            if isLost, !isThere { try catalogue.beginRebuilding(at: now) }
            return catalogue
        } catch  where error.code == .corrupt {
            let aside = try moveAside(path, as: "damaged", now: now)
            forgetDoubt(of: path)
            let catalogue = try CatalogueFile(writing: path, setAside: SetAside(path: aside, reason: error.message))
            try catalogue.beginRebuilding(at: now)
            return catalogue
        }
    }

    /// Opens the catalogue at `path` for a person's repairs, beside a daemon that writes or not. A damaged one is an error.
    package static func openForRepair(_ path: String) throws(CatalogueError) -> CatalogueFile {
        try CatalogueFile(writing: path, setAside: nil)
    }

    /// Opens it for reading, while the daemon writes or not. Nothing is changed or made.
    package static func openForReading(_ path: String) throws(CatalogueError) -> CatalogueFile {
        try CatalogueFile(reading: path)
    }

    /// Closes the file, when whoever reads it now has ended; whatever is asked after that is refused. Without it the file
    /// is closed when the object goes.
    package func close() {
        isClosed.withLock { $0 = true }
        // Whoever uses it holds it: GRDB does not survive a connection that is closed before it is used.
        connection.withLock { $0 = nil }
    }

    /// Closes the file with all that was committed in it, and nothing beside it: for one that is to be moved.
    package func closeWhole() throws(CatalogueError) {
        let operation = "closing the catalogue"
        do {
            try database(operation).writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
                try db.execute(sql: "PRAGMA journal_mode = DELETE")
            }
            close()
            let file = BytePath(path)
            let directory = try openDirectory(file.parent.isEmpty ? "." : file.parent)
            try directory.openBeneath(file.name, .read).sync()
            for suffix in ["-wal", "-shm"] { try? directory.unlink(file.name.addingSuffix(suffix)) }
            try directory.sync()
        } catch { throw CatalogueError(error, operation) }
    }

    private init(writing path: String, setAside: SetAside?) throws(CatalogueError) {
        self.path = path
        self.setAside = setAside
        isWriter = true
        let operation = "opening the catalogue \(path)"
        isUnchecked = !Self.isCheckedAtOnce(path)
        do {
            let database = try Self.connect(path, operation)
            connection = Locked(database)
            try database.read { db in try Self.refuseNewer(db, operation) }
            if !isUnchecked {
                try Self.check(database, operation)
                Self.forgetDoubt(of: path)
            }
            try Self.keepBackup(of: database, at: path)
            try Schema.migrator.migrate(database)
            noteStanding()
        } catch {
            throw CatalogueError(error, operation)
        }
    }

    private init(reading path: String) throws(CatalogueError) {
        self.path = path
        setAside = nil
        isWriter = false
        isUnchecked = false
        let operation = "reading the catalogue \(path)"
        do {
            do { _ = try FileStatus(at: BytePath(path), followingLinks: true) } catch {
                throw CatalogueError(
                    error.code == .noSuchFileOrDirectory ? .missing : .permission, operation, "\(error)")
            }
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(Self.busyTimeout)
            let database = try DatabaseQueue(path: path, configuration: configuration)
            connection = Locked(database)
            try database.read { db in
                try Self.refuseNewer(db, operation)
                guard try Schema.migrator.hasCompletedMigrations(db) else {
                    throw CatalogueError(.olderSchema, operation, "it was written by an older photoinboxd")
                }
            }
        } catch {
            throw CatalogueError(error, operation)
        }
    }

    /// A copy of the catalogue as it was before a migration, whole and durable before anything is changed.
    private static func keepBackup(of database: DatabaseQueue, at path: String) throws {
        let before = try database.read { db in
            try Schema.migrator.hasCompletedMigrations(db) ? nil : Schema.migrator.appliedIdentifiers(db).count
        }
        guard let before, before > 0 else { return }
        let backup = BytePath("\(path).before-\(before + 1)")
        let directory = try openDirectory(backup.parent.isEmpty ? "." : backup.parent)
        // One that is there is of an attempt that failed half-way, or of a version that was gone back to.
        try? directory.unlink(backup.name)
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "VACUUM INTO ?", arguments: [String(decoding: backup.bytes, as: UTF8.self)])
        }
        try directory.openBeneath(backup.name, .read).sync()
        try directory.sync()
    }

    /// A connection that writes, durably.
    static func connect(_ path: String, _ operation: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.label = "photo-inbox.catalogue"
        configuration.journalMode = .wal
        configuration.busyMode = .timeout(Self.busyTimeout)
        configuration.prepareDatabase { db in try keepLogFile(db) }
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try database.writeWithoutTransaction { db in
            // GRDB sets NORMAL with WAL, which may lose the last commits in a power cut.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == 2 else {
                throw CatalogueError(.other, operation, "synchronous=FULL was not accepted")
            }
        }
        return database
    }

    /// What findings of `PRAGMA quick_check` say. A page that could not be read just now is told as one of them, and is
    /// no reason to part with a catalogue.
    package static func code(of findings: [String]) -> CatalogueError.Code {
        let beginning = "unable to get the page. error code="
        let codes = findings.flatMap { $0.split(separator: "\n") }.compactMap { line -> CatalogueError.Code? in
            guard let found = line.range(of: beginning) else { return nil }
            // The extended code's lowest byte is the code itself.
            return Int32(line[found.upperBound...].prefix { $0.isNumber })
                .map { CatalogueError.Code(ResultCode(rawValue: $0 & 0xFF)) }
        }
        return codes.contains(.inputOutput) || codes.contains(.other) ? .inputOutput : .corrupt
    }

    private static func refuseNewer(_ db: Database, _ operation: String) throws {
        if try Schema.migrator.hasBeenSuperseded(db) {
            throw CatalogueError(.newerSchema, operation, "it was written by a newer photoinboxd")
        }
    }

    /// The connection, made anew where the last one was given up.
    private func database(_ operation: String) throws -> DatabaseQueue {
        try connection.withLock { connection in
            if let connection { return connection }
            if isClosed.withLock({ $0 }) { throw CatalogueError(.other, operation, "it is closed") }
            let another = try Self.connect(path, operation)
            connection = another
            noteStanding()
            return another
        }
    }

    /// Runs `body` in one read transaction.
    func read<Value>(_ operation: String, _ body: (Database) throws -> Value) throws(CatalogueError) -> Value {
        do { return try database(operation).read(body) } catch { throw CatalogueError(error, operation) }
    }

    /// Runs `body`, whose statements are transactions of their own.
    func writeWithoutTransaction<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try database("writing to the catalogue").writeWithoutTransaction(body)
    }

    /// Runs `body` in one write transaction, rolled back if it throws.
    func write<Value>(_ operation: String, _ body: (Database) throws -> Value) throws(CatalogueError) -> Value {
        let failure: CatalogueError
        try requireStanding(operation)
        do {
            let value = try database(operation).write(body)
            // Recorded in a file that is not there any more is not recorded.
            try requireStanding(operation)
            return value
        } catch { failure = CatalogueError(error, operation) }
        // Where SQLite may not open one of its files for writing at that moment, it opens it for reading and says so
        // for ever after. Only another connection asks again, and only when the last one is closed.
        guard isWriter, failure.code == .readOnly else { throw failure }
        do {
            connection.withLock { $0 = nil }
            return try database(operation).write(body)
        } catch { throw CatalogueError(error, operation) }
    }
}

/// Keeps the -wal and -shm files when the daemon closes: a reader that may not write to the directory could otherwise
/// not open the database. See sqlite.org/c3ref/c_fcntl_begin_atomic_write.html, SQLITE_FCNTL_PERSIST_WAL.
private func keepLogFile(_ db: Database) throws {
    var flag: CInt = 1
    let code = sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, &flag)
    guard code == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
}
