import Foundation
import Glibc
import PostgreSQL
import PostgresSupport
import TestSupport
import Testing

/// A house whose catalogue is in a database of its own on the server of the tests, which it can be cut off from.
struct DatabaseHouse {
    let house: House
    private let server: PostgresServer
    private let database: String
    /// Where the server's socket seems to be.
    private var socket: String { house.path("pg/.s.PGSQL.5432") }

    static let isAvailable = PostgresPrograms.debian != nil

    init() throws {
        house = try House()
        server = try PostgresServer.shared(try #require(PostgresPrograms.debian))
        database = try server.makeDatabase()
        try makeDirectory(house.path("pg"))
        try connect()
        try configure()
    }

    /// Makes another configuration, for a daemon with this state directory.
    func configure(state: String = "st") throws {
        try house.configure(
            """
            library = "@library"
            state = "@\(state)"
            catalogue = "host=@pg user=tester dbname=\(database)"
            [inbox.inbox]
            path = "@inbox"
            """)
    }

    /// Launches a daemon with the present configuration.
    func launch() throws -> RunningProgram {
        try house.launch(["--config", house.path("photoinbox.toml"), "--log-level", "debug"])
    }

    func start(reporting parts: [String] = []) async throws -> RunningProgram {
        let daemon = try launch()
        try await daemon.lines(holding: ["ready: "] + parts)
        return daemon
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
