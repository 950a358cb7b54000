import Dispatch
import Glibc
import LinuxKernel
import PostgresSupport
import TestSupport
import Testing

@testable import PostgreSQL

@Suite(
    "A connection to PostgreSQL",
    .enabled(if: PostgresPrograms.debian != nil, Comment(rawValue: PostgresPrograms.skipped)),
    .timeLimit(.minutes(60)))
struct PostgresConnectionTests {
    @Test("Values come back as they were")
    func values() async throws { try await inPlace { try Self.values($0) } }

    static let everyScalar = (UInt32(1)...0x10FFFF).compactMap { Unicode.Scalar($0) }
        .reduce(into: "") { $0.unicodeScalars.append($1) }

    static func values(_ place: Place) throws {
        let connection = try place.connect()
        try connection.write(
            "CREATE TABLE v (i bigint, s smallint, n integer, f boolean, r float8, t text, b bytea)")
        let rows: [[PostgresValue]] = [
            [
                .integer(.max), .integer(32_767), .integer(2_147_483_647), .integer(1), .real(.infinity), .text(""),
                .bytes([]),
            ],
            [
                .integer(.min), .integer(-32_768), .integer(-2_147_483_648), .integer(0), .real(-0.0),
                .text("ä\n\\\t'\""), .bytes([0, 255, 0]),
            ],
            Array(repeating: .null, count: 7),
            [
                .integer(0), .integer(0), .integer(0), .integer(0), .real(.leastNonzeroMagnitude),
                .text(everyScalar),
                .bytes((0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 31) }),
            ],
        ]
        let insert = rows.map { PostgresStatement("INSERT INTO v VALUES (?, ?, ?, ?, ?, ?, ?)", $0) }
        #expect(try connection.together(.write, insert, within: .seconds(60)).map(\.count) == [1, 1, 1, 1])
        let read = try connection.together(.read, [PostgresStatement("SELECT * FROM v")], within: .seconds(60))[0]
            .rows
        #expect(read.map(\.values) == rows)
        #expect(read[0].columns == ["i", "s", "n", "f", "r", "t", "b"])
        guard case .real(let zero)? = read[1].values[4...].first else { throw NeverSo(sql: "a real number") }
        #expect(zero.sign == .minus)
        #expect(connection.statements.count == 4)
    }

    @Test("What does not fit is refused before anything is done")
    func misfits() async throws {
        try await inPlace { place in
            let connection = try place.connect()
            try connection.write("CREATE TABLE n (i smallint, t text)")
            let insert = "INSERT INTO n VALUES (?, ?)"
            #expect(
                failure { try connection.write(insert, [.integer(32_768), .null]) }?.message.contains("argument 1")
                    == true)
            #expect(failure { try connection.write(insert, [.null]) }?.message.contains("2 placeholders") == true)
            #expect(failure { try connection.write(insert, [.null, .text("a\0")]) }?.sqlState == "22021")
            #expect(failure { try connection.write("SELECT 1\0") }?.kind == .other)
            #expect(try connection.value("SELECT 1") == .integer(1))
            let other = try place.connect()
            let time = failure { _ = try other.value("SELECT 1 AS one, now() AS moment") }
            #expect(time?.message.contains("moment") == true, "\(String(describing: time))")
            #expect(try other.value("SELECT count(*) FROM n") == .integer(0))
        }
    }

    @Test("It says which server it is, and has the settings of both sides")
    func server() async throws { try await inPlace { try Self.server($0) } }

    static func server(_ place: Place) throws {
        let server = try place.connect().server
        #expect(server.version >= 140_000 && server.systemIdentifier != 0)
        #expect(server.timeline == 1 && !server.isInRecovery)
        let connection = try place.connect("options='-c statement_timeout=7777'")
        #expect(try connection.value("SHOW lock_timeout") == .text("2s"))
        #expect(try connection.value("SHOW statement_timeout") == .text("7777ms"))
        #expect(try connection.value("SELECT current_schema()::text") == .text(place.schema))
        #expect(try connection.value("SHOW application_name") == .text("tests"))
        var parameters = place.server.parameters("options='-c TimeZone=Asia/Tokyo'", schema: "a \"b\" \\c")
        #expect(try PostgresConnection(parameters).value("SHOW TimeZone") == .text("Asia/Tokyo"))
        for zone in ["UTC", "Europe/Berlin", "<+02>-02"] {
            parameters.timeZone = zone
            let zoned = try PostgresConnection(parameters)
            #expect(try zoned.value("SHOW TimeZone") == .text(zone))
            #expect(try zoned.value("SHOW search_path") == .text("\"a \"\"b\"\" \\c\""))
        }
    }

    @Test("An error in the middle of a pipeline undoes all of it, and is named")
    func pipeline() async throws { try await inPlace { try Self.pipeline($0) } }

    static func pipeline(_ place: Place) throws {
        let connection = try place.connect()
        try connection.write("CREATE TABLE u (i bigint PRIMARY KEY)")
        let insert = "INSERT INTO u VALUES (?)"
        let list = [1, 2, 1, 3].map { PostgresStatement(insert, [.integer($0)]) }
        let error = failure { _ = try connection.together(.write, list, within: .seconds(30)) }
        #expect(error?.kind == .refused && error?.sqlState == "23505" && error?.statement == 2)
        #expect(try connection.value("SELECT count(*) FROM u") == .integer(0))
        let syntax = failure {
            _ = try connection.together(.write, [list[0], PostgresStatement("SELEC")], within: .seconds(30))
        }
        #expect(syntax?.sqlState == "42601")
        #expect(try connection.value("SELECT count(*) FROM u") == .integer(0))

        // The same step by step; an error that is passed over is no success either.
        let passed = failure {
            try connection.transaction(.write, within: .seconds(30)) { transaction in
                try transaction.run(insert, [.integer(1)])
                _ = failure { try transaction.run(insert, [.integer(1)]) }
            }
        }
        #expect(passed?.kind == .refused)
        try connection.write(insert, [.integer(1)])
        #expect(try connection.value("SELECT count(*) FROM u") == .integer(1))
        #expect(connection.isOpen)
    }

    @Test("A transaction sees its own rows, and an error of its body rolls back")
    func rollback() async throws {
        try await inPlace { place in
            let connection = try place.connect()
            try connection.write("CREATE TABLE r (i bigint)")
            var escaped: PostgresTransaction?
            #expect(throws: NeverSo.self) {
                try connection.transaction(.write, within: .seconds(30)) { transaction in
                    escaped = transaction
                    #expect(try transaction.run("INSERT INTO r VALUES (1), (2)") == 2)
                    #expect(
                        try transaction.rows("SELECT i FROM r ORDER BY i").map(\.values) == [
                            [.integer(1)], [.integer(2)],
                        ])
                    throw NeverSo(sql: "")
                }
            }
            #expect(failure { try escaped?.run("INSERT INTO r VALUES (3)") } != nil)
            #expect(try connection.value("SELECT count(*) FROM r") == .integer(0))
            #expect(
                failure {
                    _ = try connection.together(
                        .read, [PostgresStatement("INSERT INTO r VALUES (1)")], within: .seconds(30))
                }?.kind == .readOnly)
        }
    }

    @Test("Prepared statements are bounded, survive a changed table, and are made anew by a new connection")
    func prepared() async throws { try await inPlace { try Self.prepared($0) } }

    static func prepared(_ place: Place) throws {
        let connection = try place.connect()
        for number in 0..<300 { #expect(try connection.value("SELECT \(number)") == .integer(Int64(number))) }
        #expect(connection.statements.count <= 256)
        try connection.write("CREATE TABLE p (a bigint)")
        try connection.write("INSERT INTO p VALUES (1)")
        #expect(try connection.value("SELECT * FROM p") == .integer(1))
        try connection.write("ALTER TABLE p ALTER a TYPE text")
        #expect(failure { _ = try connection.value("SELECT * FROM p") }?.sqlState == "0A000")
        #expect(try connection.value("SELECT * FROM p") == .text("1"))
        #expect(try place.connect().value("SELECT * FROM p") == .text("1"))
    }

    @Test("A lock that is held is busy")
    func lock() async throws {
        try await inPlace { place in
            let holder = try place.connect()
            let connection = try place.connect()
            try holder.write("CREATE TABLE l (i bigint)")
            try holder.transaction(.write, within: .seconds(30)) { transaction in
                try transaction.run("LOCK TABLE l")
                let error = failure { try connection.write("INSERT INTO l VALUES (1)") }
                #expect(error?.kind == .busy && error?.sqlState == "55P03", "\(String(describing: error))")
            }
            try connection.write("INSERT INTO l VALUES (1)")
        }
    }

    /// The process of a connection at the server.
    static func backend(_ connection: PostgresConnection) throws -> pid_t {
        guard case .integer(let number)? = try connection.value("SELECT pg_backend_pid()") else {
            throw NeverSo(sql: "pid")
        }
        return pid_t(number)
    }

    static func stop(_ backend: pid_t, _ connection: PostgresConnection) {
        kill(backend, SIGSTOP)
        connection.wire.limit = .milliseconds(300)
    }

    @Test("A server that is stopped is out of reach before the commit, and an unknown outcome after it")
    func stopped() async throws {
        try await inPlace { place in
            let watcher = try place.connect()
            try watcher.write("CREATE TABLE s (i bigint)")
            for (number, stopsFirst) in [(1, true), (2, false)] {
                let connection = try place.connect()
                let backend = try Self.backend(connection)
                defer { kill(backend, SIGCONT) }
                let error = failure {
                    try connection.transaction(.write, within: .seconds(waitLimit)) { transaction in
                        try transaction.run("SELECT 1")
                        if stopsFirst { Self.stop(backend, connection) }
                        try transaction.run("INSERT INTO s VALUES (\(number))")
                        Self.stop(backend, connection)
                    }
                }
                #expect(error?.kind == (stopsFirst ? .unreachable : .unknownOutcome), "\(String(describing: error))")
                #expect(!connection.isOpen)
                #expect(failure { _ = try connection.value("SELECT 1") }?.kind == .unreachable)
            }
            // The second had reached the server's socket.
            try watcher.wait(for: "SELECT count(*) FROM s WHERE i = 2", .integer(1))
            #expect(try watcher.value("SELECT count(*) FROM s WHERE i = 1") == .integer(0))
        }
    }

    @Test("A connection that the server has ended is shutting down")
    func ended() async throws {
        try await inPlace { place in
            let watcher = try place.connect()
            let connection = try place.connect()
            let backend = try Self.backend(connection)
            try watcher.write("SELECT pg_terminate_backend(?)", [.integer(Int64(backend))])
            try watcher.wait(for: "SELECT count(*) FROM pg_stat_activity WHERE pid = \(backend)", .integer(0))
            let error = failure {
                _ = try connection.transaction(.read, within: .seconds(30)) { try $0.rows("SELECT 1") }
            }
            #expect(error?.kind == .shuttingDown, "\(String(describing: error))")
            #expect(!connection.isOpen)
        }
    }

    /// What ends a commit's waiting for a standby.
    enum End: String, Sendable {
        case deadline
        case cancelled = "pg_cancel_backend"
        case terminated = "pg_terminate_backend"
    }

    @Test(
        "A commit without its standby is unknown after our deadline, and when it was cancelled or its backend ended",
        arguments: [End.deadline, .cancelled, .terminated])
    func standby(end: End) async throws { try await inPlace { try Self.standby($0, end: end) } }

    static func standby(_ place: Place, end: End) throws {
        let watcher = try place.connect()
        try watcher.write("CREATE TABLE w (i bigint)")
        let connection = try place.connect()
        let backend = try Self.backend(connection)
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE pid = \(backend) AND wait_event = 'SyncRep'"
        let thread = Thread {
            guard end != .deadline else { return }
            let other = try place.connect()
            try other.wait(for: waits, .integer(1))
            _ = try other.value("SELECT \(end.rawValue)(\(backend))")
        }
        let error = failure {
            try connection.transaction(.write, within: .seconds(waitLimit)) { transaction in
                try transaction.run("SET LOCAL synchronous_commit = on")
                try transaction.run("INSERT INTO w VALUES (1)")
                if end == .deadline { connection.wire.limit = .milliseconds(300) }
            }
        }
        try thread.join()
        #expect(error?.kind == .unknownOutcome, "\(String(describing: error))")
        #expect(connection.isOpen == (end == .cancelled))
        // It is there once nobody waits: the backend of a closed connection still does.
        if end == .deadline {
            try watcher.wait(for: waits, .integer(1))
            _ = try watcher.value("SELECT pg_cancel_backend(\(backend))")
        }
        try watcher.wait(for: "SELECT count(*) FROM w", .integer(1))
    }

    @Test("A database that takes no writes is refused to writers, and read by readers")
    func readOnly() async throws {
        try await inPlace { place in
            let connection = try place.connect()
            try connection.write("CREATE TABLE o (i bigint)")
            var parameters = place.server.parameters(
                "options='-c default_transaction_read_only=on'", schema: place.schema)
            #expect(failure { _ = try PostgresConnection(parameters) }?.kind == .unreachable)
            parameters.writes = false
            let reader = try PostgresConnection(parameters)
            #expect(failure { try reader.write("INSERT INTO o VALUES (1)") }?.kind == .readOnly)
            #expect(try reader.value("SELECT count(*) FROM o") == .integer(0))
        }
    }

    @Test("An address that is silent is left for the next host")
    func silentAddress() async throws {
        try await inPlace { place in
            // Its queue of connections is full, so that it drops requests.
            let listener = try Socket.listening()
            let clients = try (0..<4).map { _ in try Socket.connecting(to: listener.port) }
            defer { withExtendedLifetime((listener, clients)) {} }
            var parameters = place.server.parameters(
                "host=127.0.0.1,\(place.server.directory) port=\(listener.port),5432", schema: place.schema)
            parameters.connectSeconds = 3
            #expect(try PostgresConnection(parameters).value("SELECT 1") == .integer(1))
            parameters.connection = "host=127.0.0.1 port=\(listener.port) user=x dbname=x"
            parameters.connectSeconds = 1
            let error = failure { _ = try PostgresConnection(parameters) }
            #expect(error?.kind == .unreachable, "\(String(describing: error))")
        }
    }

    @Test("Of several servers the one of the highest timeline is used, and rather a primary than a standby")
    func newestServer() {
        func newest(_ servers: (cluster: Int64, timeline: Int64, isStandby: Bool)...) -> Int? {
            PostgresServers.newest(
                of: servers.map {
                    PostgresConnection.Server(
                        version: 150_018, systemIdentifier: $0.cluster, timeline: $0.timeline,
                        isInRecovery: $0.isStandby)
                })
        }
        #expect(newest() == nil)
        #expect(newest((1, 1, false)) == 0)
        // An old primary that was started again stands before and behind the one that was promoted.
        #expect(newest((1, 1, false), (1, 2, false)) == 1)
        #expect(newest((1, 2, false), (1, 1, false)) == 0)
        #expect(newest((1, 1, true), (1, 1, false)) == 1)
        #expect(newest((1, 2, true), (1, 1, false)) == 0)
        // Equal ones by the order of the words.
        #expect(newest((1, 2, false), (1, 2, false)) == 0)
        // Of different clusters timelines say nothing.
        #expect(newest((1, 1, false), (2, 7, false)) == 0)
    }

    @Test("Several servers are asked at once, and the one that is used is the first that is named")
    func severalServers() async throws {
        try await inPlace { place in
            let other = try PostgresServer(try #require(PostgresPrograms.debian))
            let words = "port=5432,5432 host=\(other.directory),\(place.server.directory)"
            var parameters = place.server.parameters(words)
            let first = try PostgresConnection(parameters)
            #expect(try first.server == PostgresConnection(other.parameters()).server)
            #expect(try first.server != PostgresConnection(place.server.parameters()).server)
            // Each says why.
            parameters.connection = "host=/nowhere,\(place.server.directory),/neverwhere user=nobody_is_called_this"
            let error = failure { _ = try PostgresConnection(parameters) }
            #expect(error?.kind == .permission && error?.sqlState == "28000")
            let message = error?.message ?? ""
            let parts = ["/nowhere/.s", "\"nobody_is_called_this\" does not exist", "/neverwhere/.s"].map {
                message.ranges(of: $0).first?.lowerBound
            }
            #expect(parts.allSatisfy { $0 != nil }, "\(message)")
            #expect(parts == parts.compactMap { $0 }.sorted(), "\(message)")
            // One without a port has libpq's, and an empty name is libpq's to understand.
            parameters.connection = "postgresql://nobody_is_called_this@localhost:1,localhost,localhost:2/x"
            let ports = failure { _ = try PostgresConnection(parameters) }?.message ?? ""
            for port in [1, 2, 5432] { #expect(ports.contains("port \(port) failed"), "\(ports)") }
            parameters.connection = "host=,\(place.server.directory) port=1,5432 user=tester dbname=postgres"
            #expect(try PostgresConnection(parameters).server == PostgresConnection(place.server.parameters()).server)
            // Lists that do not fit together are libpq's to refuse.
            parameters.connection = "host=/nowhere,\(place.server.directory) port=1,2,3"
            #expect(failure { _ = try PostgresConnection(parameters) }?.message.contains("3 port numbers") == true)
        }
    }

    @Test("Errors of connecting say why, and never the password")
    func connecting() async throws { try await inPlace { try Self.connecting($0) } }

    static func connecting(_ place: Place) throws {
        for words in [
            "password=s3cret dbname=missing", "password=s3cret dbname=s3cret", "password=s3cret user=s3cret",
            "password=s3cret host=/nowhere", "password='s3cret", "passwort=s3cret",
        ] {
            let error = failure { _ = try place.connect(words) }
            #expect(error != nil)
            #expect(error?.description.contains("s3cret") == false, "\(String(describing: error))")
        }
        let missing = failure { _ = try place.connect("dbname=missing") }
        #expect(missing?.message.contains("\"missing\" does not exist") == true)
        #expect(missing?.kind == .permission && missing?.sqlState == "3D000", "\(String(describing: missing))")
        // The words of its message alone, without the place in the server's source.
        #expect(missing?.message.hasSuffix("FATAL: database \"missing\" does not exist") == true)
        #expect(failure { _ = try place.connect("user=nobody_is_called_this") }?.sqlState == "28000")
        // Really refused; the right password is accepted, for a role that is no superuser.
        try place.connect().write("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        let wrong = failure { _ = try place.connect("user=guarded password=s3cret") }
        #expect(wrong?.kind == .permission && wrong?.sqlState == "28P01")
        #expect(wrong?.message.contains("s3cret") == false)
        #expect(wrong?.message.contains("password authentication failed") == true, "\(String(describing: wrong))")
        #expect(try place.connect("user=guarded password=right").value("SELECT 1") == .integer(1))
        // Without one, what is wrong with the file where it should be.
        let scratch = try ScratchDirectory()
        defer { withExtendedLifetime(scratch) {} }
        let file = scratch.appending("pgpass")
        for (making, words) in [
            ("true", "no password supplied: there is no password file \(file)"),
            ("echo '*:*:*:guarded:right' >\"$0\"; chmod 0644 \"$0\"", "so it is ignored: chmod 0600 \(file)"),
            ("echo '*:*:*:another:right' >\"$0\"; chmod 0600 \"$0\"", "no line of the password file \(file)"),
        ] {
            try runProgram(["/bin/sh", "-c", making, file])
            let error = failure { _ = try place.connect("user=guarded passfile=\(file)") }
            #expect(error?.kind == .permission && error?.sqlState == nil, "\(String(describing: error))")
            #expect(error?.message.contains(words) == true, "\(String(describing: error))")
        }
        try runProgram(["/bin/sh", "-c", "echo '*:*:*:guarded:right' >\"$0\"", file])
        #expect(try place.connect("user=guarded passfile=\(file)").value("SELECT 1") == .integer(1))
        try place.connect().write("ALTER ROLE guarded CONNECTION LIMIT 0")
        let crowded = failure { _ = try place.connect("user=guarded password=right") }
        #expect(crowded?.kind == .unreachable && crowded?.sqlState == "53300", "\(String(describing: crowded))")
        let nowhere = failure { _ = try place.connect("host=/nowhere") }
        #expect(nowhere?.kind == .unreachable && nowhere?.sqlState == nil, "\(String(describing: nowhere))")
        // Of several hosts those that cannot be reached are passed over.
        #expect(try place.connect("host=/nowhere,\(place.server.directory)").value("SELECT 1") == .integer(1))
        var parameters = place.server.parameters()
        parameters.library = "libpq-missing.so.5"
        #expect(failure { _ = try PostgresConnection(parameters) }?.message.contains("libpq5") == true)
        parameters.library = "libm.so.6"
        #expect(failure { _ = try PostgresConnection(parameters) }?.message.contains("has no function PQ") == true)
    }
}

/// Work beside the test, whose error is thrown where it is joined.
struct Thread {
    private let done = DispatchSemaphore(value: 0)
    private let failure = Locked<(any Error)?>(nil)

    init(_ body: @escaping @Sendable () throws -> Void) {
        DispatchQueue(label: "test.beside").async { [done, failure] in
            do { try body() } catch { failure.withLock { $0 = error } }
            done.signal()
        }
    }

    func join() throws {
        done.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
