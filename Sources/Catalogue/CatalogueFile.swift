package import FileValues
import LinuxKernel
package import PhotoModel
import SystemPackage

/// The database of filed photos and outcomes: one SQLite file in WAL mode with synchronous=FULL, or a schema of a
/// PostgreSQL server, so that the records of a method survive a power cut once it has returned.
///
/// Every method is synchronous and one transaction. It may wait for the disk or the server or, up to ``busyTimeout``, for
/// another process. Any thread; calls are serialized. Into a file one process writes, and others read meanwhile without
/// blocking it; into a database any number of daemons do.
package final class CatalogueFile: Sendable {
    /// Seconds that an operation waits for another process before it throws ``CatalogueError/Code/busy``.
    package static let busyTimeout = 5.0

    /// Of the file; of a catalogue in PostgreSQL its name, as messages have it.
    package let path: String
    /// Where it is.
    package var place: CataloguePlace { server.map { .server($0.place.connection) } ?? .file(BytePath(path)) }
    /// Nil for a file.
    let server: PostgreSQLEngine?
    /// Whether other daemons may use it, and the library, at the same time.
    package var isShared: Bool { server != nil }
    /// Seconds after which a daemon that has written nothing counts as away.
    package static let lease = 30
    /// What is to be done before anything else in a catalogue in PostgreSQL; nil once it has been.
    private let opening: Locked<Opening?>
    /// The damaged file that opening set aside, with its -wal and -shm beside it.
    package let setAside: SetAside?

    private let isWriter: Bool
    /// The connection; nil while none is open.
    let connection: Locked<SQLiteEngine?>
    private let isClosed = Locked(false)
    let openFile = Locked<OpenFile?>(nil)
    /// Whether it was too large to be checked on opening, so that ``check()`` is to be called.
    package let isUnchecked: Bool
    /// The connection of a running ``check()``, and whether it is to stop.
    let checking = Locked<SQLiteEngine?>(nil)
    let isClosing = Locked(false)

    private struct Opening: Sendable {
        let run: @Sendable () throws -> Void
    }

    /// A damaged catalogue file that was renamed.
    package struct SetAside: Hashable, Sendable {
        /// Its new path.
        package let path: String
        /// SQLite's message.
        package let reason: String
    }

    /// Opens the catalogue at `path` for the daemon: creates it if missing, checks it unless it is large
    /// (``isUnchecked``), and migrates its schema.
    ///
    /// A damaged file is set aside and a new one created, which the caller reports and rebuilds from the library
    /// (``isRebuilding()``). A missing one is rebuilt, too, if there was one before (`isLost`). A file of a newer
    /// version is refused and not changed; of one of an older version a copy is kept beside it, `NAME.before-N`.
    package static func openForWriting(
        _ path: String, now: FileTime, isLost: Bool = false
    ) throws(CatalogueError) -> CatalogueFile {
        // The logs and all other files beside it belong where the file is, not where a link to it is.
        let path = String(decoding: linkedPath(BytePath(path)).bytes, as: UTF8.self)
        // An empty file counts as missing.
        let isThere =
            try finishRestoring(path) && (try? FileStatus(at: BytePath(path), followingLinks: true))?.identity.size != 0
        do {
            let catalogue = try CatalogueFile(writing: path, setAside: nil)
            if isLost, !isThere { try catalogue.beginRebuilding(at: now) }
            try setAsideRestored(path, now: now)
            return catalogue
        } catch  where error.code == .corrupt {
            if !isComplete(path + restored) {
                try prepareRebuilding(path, of: freeName(path, as: "damaged", now: now), now: now)
            }
            let aside = try moveAside(path, as: "damaged", now: now)
            removeDamageMark(of: path)
            _ = try finishRestoring(path)
            let catalogue = try CatalogueFile(writing: path, setAside: SetAside(path: aside, reason: error.message))
            _ = try? catalogue.keepMovedOfSetAside()
            return catalogue
        }
    }

    /// Whether there is a catalogue that is not to be rebuilt: a crash has left a copy, or a rebuilt one, before it got its name.
    private static func isComplete(_ path: String) -> Bool {
        guard let catalogue = try? openForReading(path) else { return false }
        defer { catalogue.close() }
        return (try? catalogue.isRebuilding()) == false
    }

    /// Makes the catalogue that is used once the damaged one has the name `aside`, also by the next start after a crash: it says
    /// that it is to be rebuilt, and from what.
    private static func prepareRebuilding(_ path: String, of aside: String, now: FileTime) throws(CatalogueError) {
        let fresh = BytePath(path + ".fresh")
        do {
            let directory = try openParent(of: fresh)
            for suffix in ["", "-wal", "-shm"] { try? directory.unlink(fresh.name.addingSuffix(suffix)) }
            let catalogue = try CatalogueFile(writing: path + ".fresh", setAside: nil)
            try catalogue.beginRebuilding(at: now, from: aside)
            try catalogue.closeWhole()
            let ready = BytePath(path + restored).name
            try? directory.unlink(ready)
            try directory.rename(fresh.name, to: directory, as: ready)
            try directory.syncDirectory()
        } catch { throw CatalogueError(error, "beginning the catalogue \(path) anew") }
    }

    /// Opens a daemon's catalogue: see ``openForWriting(_:now:isLost:)``. In PostgreSQL nothing else may be a daemon's then.
    /// A database without a catalogue gets one, which is rebuilt if there was one before.
    package static func open(
        _ place: CataloguePlace, for host: CatalogueHost, now: FileTime, isLost: Bool
    ) throws(CatalogueError) -> CatalogueFile {
        switch place {
        case .file(let path):
            return try openForWriting(String(decoding: path.bytes, as: UTF8.self), now: now, isLost: isLost)
        case .server(let words):
            let server = CatalogueServer(words, client: "photoinboxd@\(host.name)")
            return try CatalogueFile(server, true, isCopied: false, host: host, lostAt: isLost ? now : nil)
        }
    }

    /// Opens the catalogue at `path` for manual repairs, whether or not a daemon is running. A damaged file is an
    /// error.
    package static func openForRepair(_ path: String) throws(CatalogueError) -> CatalogueFile {
        try CatalogueFile(writing: path, setAside: nil)
    }

    /// The same, wherever it is.
    package static func openForRepair(_ place: CataloguePlace) throws(CatalogueError) -> CatalogueFile {
        switch place {
        case .file(let path): try openForRepair(String(decoding: path.bytes, as: UTF8.self))
        case .server(let words): try open(CatalogueServer(words, client: "photoinbox"), forWriting: true)
        }
    }

    /// Opens the catalogue at `path` for a ``CatalogueCopy`` into it. There must be none, an empty file, or an unfinished
    /// copy: nothing else is changed.
    package static func openForCopy(_ path: String) throws(CatalogueError) -> CatalogueFile {
        let operation = "opening the catalogue \(path) for a copy"
        do {
            if let found = try? FileStatus(at: BytePath(path), followingLinks: true), found.identity.size > 0 {
                let database = try SQLiteEngine(path, for: .checking)
                let isUnfinished =
                    try database.schema().version > 0
                    && (try database.read(while: nil) { db in try CatalogueCopy.isUnfinished(db) })
                guard isUnfinished else { throw Self.isThere(operation) }
            }
        } catch { throw CatalogueError(error, operation) }
        return try CatalogueFile(writing: path, setAside: nil, isCopied: true)
    }

    private static func isThere(_ operation: String) -> CatalogueError {
        CatalogueError(.other, operation, "there is something already: name a file, or a schema, that does not exist")
    }

    /// Opens the catalogue for reading, whether or not a daemon is running. Changes and creates nothing.
    package static func openForReading(_ path: String) throws(CatalogueError) -> CatalogueFile {
        try CatalogueFile(reading: path)
    }

    /// Opens the catalogue for reading, wherever it is.
    package static func openForReading(_ place: CataloguePlace) throws(CatalogueError) -> CatalogueFile {
        switch place {
        case .file(let path): try openForReading(String(decoding: path.bytes, as: UTF8.self))
        case .server(let words): try open(CatalogueServer(words, client: "photoinbox"), forWriting: false)
        }
    }

    /// Opens a catalogue in PostgreSQL: for the daemon and for repairs, which create and migrate its schema, or for reading.
    /// Blocks until the server has answered, some seconds at most.
    ///
    /// - Parameter isCopied: for a ``CatalogueCopy`` into it.
    package static func open(
        _ server: CatalogueServer, forWriting writes: Bool, isCopied: Bool = false
    ) throws(CatalogueError) -> CatalogueFile {
        try CatalogueFile(server, writes, isCopied: isCopied)
    }

    /// Closes the file once operations that have begun end; later ones fail. Otherwise `deinit` closes it.
    package func close() {
        isClosed.withLock { $0 = true }
        // Only the reference is dropped, since GRDB cannot handle a connection that is closed before its use.
        connection.withLock { $0 = nil }
    }

    /// Closes the file with every commit checkpointed and no log beside it, so that it can be moved.
    package func closeWhole() throws(CatalogueError) {
        let operation = "closing the catalogue"
        do {
            try database(operation).endLog()
            close()
            let file = BytePath(path)
            let directory = try openParent(of: file)
            try directory.openBeneath(file.name, .read).sync()
            for suffix in ["-wal", "-shm"] { try? directory.unlink(file.name.addingSuffix(suffix)) }
            try directory.syncDirectory()
        } catch { throw CatalogueError(error, operation) }
    }

    private init(writing path: String, setAside: SetAside?, isCopied: Bool = false) throws(CatalogueError) {
        self.path = path
        server = nil
        opening = Locked(nil)
        self.setAside = setAside
        isWriter = true
        let operation = "opening the catalogue \(path)"
        isUnchecked = !Self.isCheckedAtOnce(path)
        do {
            let database = try SQLiteEngine(path, for: .writing)
            connection = Locked(database)
            try Self.requireKnownVersion(database.schema(), operation)
            if !isUnchecked {
                try Self.check(database, operation)
                Self.removeDamageMark(of: path)
            }
            try Self.keepBackup(of: database, at: path)
            try database.migrate()
            if !isCopied { try Self.requireWhole(database, operation) }
            noteOpenFile()
        } catch {
            throw CatalogueError(error, operation)
        }
    }

    private init(reading path: String) throws(CatalogueError) {
        self.path = path
        server = nil
        opening = Locked(nil)
        setAside = nil
        isWriter = false
        isUnchecked = false
        connection = Locked(nil)
        let operation = "reading the catalogue \(path)"
        do {
            do { _ = try FileStatus(at: BytePath(path), followingLinks: true) } catch {
                throw CatalogueError(
                    error.code == .noSuchFileOrDirectory ? .missing : .permission, operation, "\(error)")
            }
            // What is put at the path from now on is another file for ``loss(_:)``, also if it is the one that is opened.
            noteOpenFile()
            let database = try SQLiteEngine(path, for: .reading)
            connection.withLock { $0 = database }
            guard try Self.requireKnownVersion(database.schema(), operation) else {
                throw CatalogueError(.olderSchema, operation, "it was written by an older photoinboxd")
            }
            try Self.requireWhole(database, operation)
        } catch {
            throw CatalogueError(error, operation)
        }
    }

    private init(
        _ place: CatalogueServer, _ writes: Bool, isCopied: Bool, host: CatalogueHost? = nil, lostAt: FileTime? = nil
    ) throws(CatalogueError) {
        path = place.name
        setAside = nil
        isWriter = writes
        isUnchecked = false
        connection = Locked(nil)
        let engine = PostgreSQLEngine(place, writes: writes, isPatient: isCopied, memory: host?.memory)
        server = engine
        opening = Locked(
            Opening {
                try Self.open(engine, place, writes: writes, isCopied: isCopied, host: host, lostAt: lostAt)
            })
        let operation = "opening the schema \(place.schema)"
        do { _ = try self.engine(operation) } catch {
            let error = CatalogueError(error, operation)
            // A daemon starts also while its server is away, as it goes on when that goes away.
            guard host != nil, error.isAway else { throw error }
        }
    }

    private static func open(
        _ engine: PostgreSQLEngine, _ place: CatalogueServer, writes: Bool, isCopied: Bool, host: CatalogueHost?,
        lostAt: FileTime?
    ) throws {
        let operation = "opening the schema \(place.schema)"
        if isCopied, try engine.schema(forWriting: true).version > 0 {
            let isUnfinished = try engine.read { db in try CatalogueCopy.isUnfinished(db) }
            guard isUnfinished else { throw Self.isThere(operation) }
        }
        let before = try engine.schema(forWriting: writes)
        let isNew = before.version == 0
        // Before a migration, which may not be this program's to make.
        if let host, !isNew { try engine.begin(lifeOf: host, inNewSchema: false) }
        if writes, !before.isCurrent {
            try engine.migrate { db in
                if isCopied { try CatalogueCopy.markUnfinished(db) }
                if let lostAt { try Self.beginRebuilding(at: lostAt, db) }
            }
        }
        if let host, writes, !before.isCurrent { try engine.begin(lifeOf: host, inNewSchema: isNew) }
        let schema = try engine.schema(forWriting: writes)
        guard schema.version > 0 else {
            throw CatalogueError(.missing, operation, "it is not there")
        }
        guard try Self.requireKnownVersion(schema, operation) else {
            throw CatalogueError(.olderSchema, operation, "it was written by an older photoinboxd")
        }
        if !isCopied { try Self.requireWhole(engine, operation) }
    }

    private static func requireWhole(_ engine: any CatalogueEngine, _ operation: String) throws {
        guard try engine.read(while: nil, { db in try CatalogueCopy.isUnfinished(db) }) else { return }
        throw CatalogueError(
            .other, operation,
            "a copy of another catalogue into it is unfinished: run the same photoinbox catalogue copy again")
    }

    /// Makes a durable copy of the catalogue before a migration changes it.
    private static func keepBackup(of database: SQLiteEngine, at path: String) throws {
        let before = try database.schema()
        guard !before.isCurrent, before.version > 0 else { return }
        let backup = BytePath("\(path).before-\(before.version + 1)")
        let directory = try openParent(of: backup)
        // An existing one is from a failed attempt, or from before a downgrade.
        try? directory.unlink(backup.name)
        try database.copy(to: String(decoding: backup.bytes, as: UTF8.self))
        try directory.openBeneath(backup.name, .read).sync()
        try directory.syncDirectory()
    }

    /// Returns whether the file has all migrations.
    @discardableResult
    private static func requireKnownVersion(
        _ schema: (version: Int, isCurrent: Bool, isNewer: Bool), _ operation: String
    ) throws -> Bool {
        if schema.isNewer {
            throw CatalogueError(.newerSchema, operation, "it was written by a newer photoinboxd")
        }
        return schema.isCurrent
    }

    /// What the engine calls differently.
    var words: EngineWords { server == nil ? .sqlite : .postgresql }

    func engine(_ operation: String) throws -> any CatalogueEngine {
        guard let server else { return try database(operation) }
        if isClosed.withLock({ $0 }) { throw CatalogueError(.other, operation, "it is closed") }
        try opening.withLock { opening in
            try opening?.run()
            opening = nil
        }
        return server
    }

    /// Returns the connection to the file, opening one if there is none.
    func database(_ operation: String) throws -> SQLiteEngine {
        guard server == nil else { throw CatalogueError(.other, operation, "it is in PostgreSQL, and not a file") }
        return try connection.withLock { connection in
            if let connection { return connection }
            if isClosed.withLock({ $0 }) { throw CatalogueError(.other, operation, "it is closed") }
            let another = try SQLiteEngine(path, for: .writing)
            connection = another
            noteOpenFile()
            return another
        }
    }

    /// A number that differs after somebody else has changed the file, or after a daemon has changed the database.
    func foreignChanges() throws -> Int? {
        guard server == nil else {
            return try read("reading whether it was changed") { db in
                try db.value(Int.self, "SELECT coalesce(sum(writes), 0)::bigint FROM host")
            }
        }
        return try database("reading whether it was changed").read { db in try db.value(Int.self, "PRAGMA data_version")
        }
    }

    /// Runs `body` in one read transaction, which fails when `goesOn` does not hold any more.
    func read<Value>(
        _ operation: String, while goesOn: (() -> Bool)? = nil,
        _ body: (any CatalogueTransaction) throws -> Value
    ) throws(CatalogueError) -> Value {
        do {
            return try engine(operation).read(while: goesOn) { db in
                if goesOn?() == false {
                    throw CatalogueError(.interrupted, operation, "nobody waits for it any more")
                }
                return try body(db)
            }
        } catch { throw CatalogueError(error, operation) }
    }

    /// Runs `body`, which has a single statement.
    func readOne<Value>(
        _ operation: String, _ body: (any CatalogueTransaction) throws -> Value
    ) throws(CatalogueError) -> Value {
        do { return try engine(operation).readOne(body) } catch { throw CatalogueError(error, operation) }
    }

    /// Runs `body` in one write transaction, rolled back if it throws.
    func write<Value>(
        _ operation: String, _ body: (any CatalogueTransaction) throws -> Value
    ) throws(CatalogueError) -> Value {
        let failure: CatalogueError
        try requireInPlace(operation)
        do {
            let value = try engine(operation).write(body)
            // A commit into a file that was removed meanwhile is lost.
            try requireInPlace(operation)
            return value
        } catch { failure = CatalogueError(error, operation) }
        // If SQLite cannot open one of its files for writing, it opens it for reading and stays read-only. Only a new
        // connection tries again, and only after the old one is closed.
        guard isWriter, server == nil, failure.code == .readOnly else { throw failure }
        do {
            connection.withLock { $0 = nil }
            return try database(operation).write(body)
        } catch { throw CatalogueError(error, operation) }
    }
}
