import Glibc
import LinuxKernel
import PostgreSQL

/// A schema of a PostgreSQL database. One connection writes and one reads; each serves one caller at a time, and is made
/// again when it was lost. Any thread.
final class PostgreSQLEngine: CatalogueEngine {
    /// Seconds without any answer, after which a connection is given up. The write's outcome may then be unknown.
    static let writeLimit = Duration.seconds(5)
    /// Longer, since a search may read many rows before it finds one.
    static let readLimit = Duration.seconds(60)

    let place: CatalogueServer
    /// A daemon's.
    let memory: ServerMemory?
    private let limit: Duration
    private let readLimit: Duration
    private let writer: Locked<PostgreSQLLane>
    private let reader: Locked<PostgreSQLLane>
    /// A write failed, and its commit may be under way still: it must have happened, or never happen, before anything is read.
    private let isUnsettled = Locked(false)
    /// See ``CatalogueLife``: writes that were answered, whether an earlier state of the database was met, and whose life it is.
    let record = Locked<(written: Int64, wentBack: Bool, host: Int64?)>((0, false, nil))

    /// - Parameters:
    ///   - isPatient: a write may take as long as a read: for one that changes many rows.
    ///   - memory: a daemon's: a read may take little longer than a write, since its queue waits for it.
    init(_ server: CatalogueServer, writes: Bool, isPatient: Bool = false, memory: ServerMemory? = nil) {
        limit = isPatient ? Self.readLimit : Self.writeLimit
        readLimit = memory != nil ? Self.writeLimit * 2 : Self.readLimit
        place = server
        self.memory = memory
        writer = Locked(PostgreSQLLane(server.parameters(writes: writes, searches: false), memory))
        // A daemon asks the same for each photo, and searches nothing.
        reader = Locked(PostgreSQLLane(server.parameters(writes: writes, searches: memory == nil), memory))
    }

    func read<Value>(
        while goesOn: (() -> Bool)? = nil, _ body: (any CatalogueTransaction) throws -> Value
    ) throws -> Value {
        try read(.read, while: goesOn, body)
    }

    func readOne<Value>(_ body: (any CatalogueTransaction) throws -> Value) throws -> Value {
        try read(.one, while: nil, body)
    }

    private func read<Value>(
        _ access: PostgresConnection.Access, while goesOn: (() -> Bool)?,
        _ body: (any CatalogueTransaction) throws -> Value
    ) throws -> Value {
        if isUnsettled.withLock({ $0 }) {
            try writer.withLock { lane in
                defer { lane.note(in: record) }
                try lane.settle()
                isUnsettled.withLock { $0 = false }
            }
        }
        var value: Value?
        let host = record.withLock(\.host)
        try reader.withLock { lane in
            lane.host = host
            value = try lane.run(access, within: readLimit, isCounted: false, while: goesOn, body)
        }
        return try value.required()
    }

    func write<Value>(_ body: (any CatalogueTransaction) throws -> Value) throws -> Value {
        try write(within: limit, body)
    }

    /// A write that is not one of those that the host's row counts, since it may be lost with the server although it was
    /// answered. `body` has to find the row by the life that it is given.
    func writeUncounted<Value>(
        _ body: (any CatalogueTransaction, _ life: String) throws -> Value
    ) throws -> Value {
        guard let life = writer.withLock({ $0.token }) else {
            throw CatalogueError(.other, "writing of a host", "only the daemon is one")
        }
        return try write(within: limit, isCounted: false) { db in try body(db, life) }
    }

    /// From now on only the newest life of `host` writes.
    func begin(lifeOf host: CatalogueHost, inNewSchema isFirst: Bool) throws {
        try writer.withLock { lane in
            try lane.begin(CatalogueLife(host, isFirst: isFirst))
            lane.note(in: record)
        }
    }

    private func write<Value>(
        within limit: Duration, isCounted: Bool = true, _ body: (any CatalogueTransaction) throws -> Value
    ) throws -> Value {
        var value: Value?
        try writer.withLock { lane in
            defer { lane.note(in: record) }
            do { value = try lane.run(.write, within: limit, isCounted: isCounted, while: nil, body) } catch {
                isUnsettled.withLock { $0 = true }
                throw error
            }
        }
        return try value.required()
    }

    // MARK: - The tables

    /// What the database has, and whether a program like this may use it.
    func schema(forWriting writes: Bool) throws -> (version: Int, isCurrent: Bool, isNewer: Bool) {
        let found = try read { db in
            let found = try PostgreSQLSchema.found(db)
            if found.version == 0 { try requireUse(of: place.schema, db) }
            return found
        }
        return (
            found.version, found.version >= PostgreSQLSchema.versions.count,
            writes ? found.isTooNewToWrite : found.isTooNewToRead
        )
    }

    /// Throws if the role may not use a schema that is there: names in it are not found then, as if it were empty.
    private func requireUse(of schema: String, _ db: any CatalogueTransaction) throws {
        let isForbidden = try db.value(
            Bool.self, "SELECT NOT has_schema_privilege(to_regnamespace(quote_ident(?)), 'USAGE')", [schema])
        guard isForbidden == true else { return }
        let role = try db.value(String.self, "SELECT CAST(current_user AS TEXT)") ?? "?"
        throw CatalogueError(
            .permission, "opening the schema \(schema)", "the role \(role) may not use it", remedy: Self.remedyOfRights)
    }

    static let remedyOfRights = "connect as the role that owns the tables, or GRANT that right to this one"

    /// Creates the schema, if the role may do that and it is missing, and brings its tables to the newest version. `prepare`
    /// writes into new ones in the same transaction.
    func migrate(preparing prepare: (any CatalogueTransaction) throws -> Void) throws {
        func once() throws {
            try write(within: Self.readLimit) { db in
                // Not IF NOT EXISTS, for which the role needs the right to create it even if it exists.
                if try db.value(Bool.self, "SELECT to_regnamespace(quote_ident(?)) IS NULL", [place.schema]) == true {
                    try db.run("CREATE SCHEMA \"\(place.schema.replacing("\"", with: "\"\""))\"")
                }
                let version = try PostgreSQLSchema.found(db).version
                let isTaken =
                    try db.value(
                        Bool.self,
                        "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident(?)))",
                        [place.schema]) ?? false
                guard version > 0 || !isTaken else {
                    throw CatalogueError(
                        .other, "making the tables of the catalogue",
                        "the schema \(place.schema) has tables of something else: name one that does not exist")
                }
                if version < PostgreSQLSchema.versions.count { try PostgreSQLSchema.migrate(db) }
                if version == 0 { try prepare(db) }
            }
        }
        do { try once() } catch let error as PostgresError where ["23505", "42P06", "42P07"].contains(error.sqlState) {
            // Another program has begun the same at the same moment.
            try once()
        }
    }
}

/// A connection, and when it may be made again.
private struct PostgreSQLLane {
    private let parameters: PostgresParameters
    /// Nil for programs that are no daemon.
    private let memory: ServerMemory?
    private var connection: PostgresConnection?
    /// Nil for programs that are no daemon, and for reading.
    private var life: CatalogueLife?
    /// For reading: the daemon whose rows are asked for.
    var host: Int64?
    /// After a failure to connect: its error is thrown until then, so that callers that come together wait once.
    private var failure: (error: any Error, until: ContinuousClock.Instant, pause: Duration)?

    init(_ parameters: PostgresParameters, _ memory: ServerMemory?) {
        (self.parameters, self.memory) = (parameters, memory)
    }

    var token: String? { life?.token }

    /// How often a write is run until no other writer ends it.
    private static let runs = 5
    /// Microseconds before the next run. Without them it may lock a row before the other writer has woken up that waits for it,
    /// and that would begin anew.
    private static let pause: ClosedRange<UInt32> = 10_000...40_000

    /// Makes another connection, as each connection begins an epoch.
    mutating func begin(_ life: CatalogueLife) throws {
        (self.life, connection) = (life, nil)
        _ = try connected()
    }

    func note(in record: Locked<(written: Int64, wentBack: Bool, host: Int64?)>) {
        guard let life else { return }
        record.withLock { $0 = (life.written, life.wentBack, life.number?.host) }
        // The next start is to find that out, too.
        if !life.wentBack { memory?.wrote(life.written) }
    }

    /// Begins the next epoch if a daemon's connection was lost.
    mutating func settle() throws { if life != nil { _ = try connected() } }

    mutating func run<Value>(
        _ access: PostgresConnection.Access, within limit: Duration, isCounted: Bool, while goesOn: (() -> Bool)?,
        _ body: (any CatalogueTransaction) throws -> Value
    ) throws -> Value {
        var left = access == .write ? Self.runs : 1
        while true {
            left -= 1
            do {
                let value = try runOnce(access, within: limit, isCounted: isCounted, while: goesOn, body)
                if isCounted { life?.wrote() }
                return value
            } catch let error as PostgresError {
                // What was committed, and how often was written, is found out with the next epoch.
                let states: [String?] = [PostgreSQLSchema.wentBack, PostgreSQLSchema.anotherLife]
                if life != nil, error.kind == .unknownOutcome || states.contains(error.sqlState) { connection = nil }
                // The server has rolled it back. Readers may have passed on what they have read.
                guard left > 0, error.isConflict else { throw error }
                usleep(.random(in: Self.pause))
            }
        }
    }

    private mutating func runOnce<Value>(
        _ access: PostgresConnection.Access, within limit: Duration, isCounted: Bool, while goesOn: (() -> Bool)?,
        _ body: (any CatalogueTransaction) throws -> Value
    ) throws -> Value {
        let isKept = connection?.isOpen == true
        let progress = PostgreSQLProgress()
        // By itself, since `run` is given a copy of this value as it was before its arguments were evaluated.
        var connection = try connected()
        do { return try run(connection, access, limit, isCounted, goesOn, progress, body) } catch let error
            as PostgresError
        {
            // The server may have closed a connection that was not used for long. If nothing was answered on it, nothing
            // was done, and `body` has seen nothing.
            guard isKept, error.kind == .unreachable, !progress.hasAnswer else { throw error }
            connection = try connected()
            return try run(connection, access, limit, isCounted, goesOn, progress, body)
        }
    }

    private func run<Value>(
        _ connection: PostgresConnection, _ access: PostgresConnection.Access, _ limit: Duration, _ isCounted: Bool,
        _ goesOn: (() -> Bool)?, _ progress: PostgreSQLProgress, _ body: (any CatalogueTransaction) throws -> Value
    ) throws -> Value {
        let life = isCounted ? life : nil
        // Also if nobody knows whether it was committed: recovery finds nothing of what was not.
        func note() { if let life { memory?.begun(progress.begun, by: life.written + 1) } }
        do {
            let value = try connection.transaction(access, within: limit, while: goesOn) { transaction in
                progress.begun = []
                try life?.require(in: transaction)
                if let host {
                    try transaction.enqueue(
                        "SELECT set_config('photoinbox.host', CAST(? AS TEXT), true)", [.text("\(host)")])
                }
                return try body(PostgreSQLTransaction(transaction, progress, while: goesOn))
            }
            note()
            return value
        } catch let error as PostgresError where error.kind == .unknownOutcome {
            note()
            throw error
        }
    }

    private mutating func connected() throws -> PostgresConnection {
        if let connection, connection.isStillOpen(), memory?.admits(connection.server) != false { return connection }
        connection = nil
        if let failure, failure.until > .now { throw failure.error }
        do {
            let made = try PostgresConnection(parameters)
            try memory?.admit(made.server)
            do { try life?.beginEpoch(on: made, within: PostgreSQLEngine.writeLimit) } catch let error as PostgresError
            {
                // A commit of an earlier connection waits for its standby. It is no conflict that is over in a moment.
                guard error.kind == .busy else { throw error }
                throw CatalogueError(
                    .unreachable, "beginning to write", "what was sent before is still under way there: \(error)")
            }
            failure = nil
            connection = made
            return made
        } catch {
            if (error as? CatalogueError)?.code == .anotherHost { throw error }
            let pause = min(.seconds(5), failure.map { $0.pause * 2 } ?? .milliseconds(100))
            failure = (error, .now + pause, pause)
            throw error
        }
    }
}

extension Optional {
    /// What a closure has assigned that has returned.
    fileprivate func required() throws -> Wrapped {
        guard let self else { throw CatalogueError(.other, "using PostgreSQL", "a transaction returned nothing") }
        return self
    }
}

extension PostgresError: EngineError {
    /// A deadlock, a serialization failure, or two that record the same at once: run again, one finds what the other has done.
    fileprivate var isConflict: Bool { ["40P01", "40001", "23505"].contains(sqlState) }

    var catalogueCode: CatalogueError.Code {
        if sqlState == PostgreSQLSchema.anotherLife { return .anotherHost }
        if sqlState == PostgreSQLSchema.wentBack { return .replaced }
        if sqlState == PostgreSQLSchema.inboxOfAnother { return .inboxOfAnother }
        return switch kind {
        case .unreachable, .shuttingDown: .unreachable
        case .unknownOutcome: .unknownOutcome
        // Two that record the same at once: the second finds it when it tries again.
        case .refused: sqlState == "23505" ? .busy : .other
        case .busy: .busy
        case .diskFull: .diskFull
        case .readOnly: .readOnly
        case .corrupt: .corrupt
        case .inputOutput: .inputOutput
        case .permission: .permission
        case .interrupted: .interrupted
        case .other: .other
        }
    }

    var number: Int32 { 0 }
    /// A refusal is for people; the rest also for who looks for its cause.
    var text: String {
        switch sqlState {
        case PostgreSQLSchema.inboxOfAnother:
            // The function's words have what this host is to do, which the problem says in full.
            message.firstMatch(of: /is that of photoinboxd on (.+): configure another name/)
                .map { "the host \($0.1) has an inbox of this name" } ?? String(message.prefix { $0 != ";" })
        case PostgreSQLSchema.anotherLife: "another daemon has begun since as this host, or it was forgotten"
        default: description
        }
    }

    var remedy: String? {
        switch sqlState {
        case "42501" where message.contains("pg_control_system"):
            "as a superuser: GRANT EXECUTE ON FUNCTION pg_control_system() TO the role"
        case "42501": PostgreSQLEngine.remedyOfRights
        case "28P01": "correct the password in the file that passfile= names"
        case "28000": "correct user=, or let that role in by pg_hba.conf of the server"
        case "3D000": "correct dbname=, or make that database, with the encoding UTF8"
        case nil where kind == .unreachable: "see whether the server runs, and whether host= and port= lead to it"
        default: nil
        }
    }
}
