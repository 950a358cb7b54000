import Foundation
import Glibc
import PostgreSQL
import PostgresSupport
import TestSupport
import Testing

/// A house whose catalogue is in a database of its own on the server of the tests, which it can be cut off from.
struct DatabaseHouse {
    let house: House
    let server: PostgresServer
    let database: String
    /// Where the server's socket seems to be.
    private var socket: String { house.path("pg/.s.PGSQL.5432") }

    static let isAvailable = PostgresPrograms.debian != nil

    /// `isAlone`: on a server of its own.
    init(isAlone: Bool = false) throws {
        house = try House()
        let programs = try #require(PostgresPrograms.debian)
        server = try isAlone ? PostgresServer(programs) : PostgresServer.shared(programs)
        database = try server.makeDatabase()
        try makeDirectory(house.path("pg"))
        try connect()
        try configure()
    }

    /// Makes another configuration, for a daemon with this state directory.
    func configure(state: String = "st", inbox: String = "inbox", library: String = "library") throws {
        try house.configure(
            """
            library = "@\(library)"
            state = "@\(state)"
            catalogue = "host=@pg user=tester dbname=\(database)"
            [inbox.\(inbox)]
            path = "@\(inbox)"
            """)
    }

    /// Launches a daemon with the present configuration, by default in its file.
    func launch(_ configuration: String = "photoinbox.toml") throws -> RunningProgram {
        try house.launch(["--config", house.path(configuration), "--log-level", "debug"])
    }

    /// Starts another daemon of the same catalogue and library, with a state and an inbox of its own.
    func startAnother(_ name: String, reporting parts: [String] = []) async throws -> RunningProgram {
        try makeDirectory(house.path(name))
        try configure(state: "st-\(name)", inbox: name)
        try runProgram(["/bin/mv", house.path("photoinbox.toml"), house.path("\(name).toml")])
        try configure()
        let daemon = try launch("\(name).toml")
        try await daemon.lines(holding: ["ready: "] + parts)
        return daemon
    }

    /// Has a daemon count as silent for long, by the name that the catalogue knows it by.
    func age(_ host: String) throws {
        _ = try query(
            "UPDATE host SET seen = clock_timestamp() - interval '1 hour' WHERE name = '\(host)'", in: "photoinbox")
    }

    func start(reporting parts: [String] = []) async throws -> RunningProgram {
        let daemon = try launch()
        try await daemon.lines(holding: ["ready: "] + parts)
        return daemon
    }

    /// A transaction that is under way until it ends.
    struct Block {
        private let over = DispatchSemaphore(value: 0)
        private let thread: Foundation.Thread

        init(_ parameters: PostgresParameters, _ statements: [String]) {
            let (begun, over) = (DispatchSemaphore(value: 0), over)
            thread = Foundation.Thread {
                _ = try? PostgresConnection(parameters).transaction(.write, within: .seconds(600)) { transaction in
                    for statement in statements { _ = try transaction.rows(statement) }
                    begun.signal()
                    over.wait()
                }
                over.signal()
            }
            thread.start()
            begun.wait()
        }

        func end() {
            over.signal()
            while !thread.isFinished { sched_yield() }
        }
    }

    func begin(_ statements: String...) -> Block {
        Block(server.parameters("dbname=\(database)", schema: "photoinbox"), statements)
    }

    /// Nothing is recorded as filed until it ends.
    func blockCommits() -> Block { begin("LOCK TABLE photo IN SHARE MODE") }

    /// Waits until a daemon's transaction waits for a ``Block``.
    func waitUntilCommitWaits() async throws {
        try await poll {
            try query("SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'photoinbox.photo'::regclass")
        } until: {
            !$0.isEmpty
        }
    }

    func connect() throws {
        guard symlink("\(server.directory)/.s.PGSQL.5432", socket) == 0 else { throw POSIXError(.EIO) }
    }

    /// Has the server out of reach: nobody connects, and who was connected is no more.
    func cut() throws {
        unlink(socket)
        _ = try query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database)' "
                + "AND application_name <> 'tests'")
    }

    /// The rows of a query, each as text.
    func query(_ sql: String, in schema: String? = nil) throws -> [[PostgresValue]] {
        let connection = try PostgresConnection(server.parameters("dbname=\(database)", schema: schema))
        return try connection.transaction(.write, within: .seconds(30)) { try $0.rows(sql).map(\.values) }
    }
}
