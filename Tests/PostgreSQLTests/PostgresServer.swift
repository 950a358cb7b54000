import FileValues
import Glibc
import LinuxKernel
import PostgreSQL
import SystemPackage
import TestSupport

/// A server of the tests, on a socket in a directory of its own. It ends with this process, however that ends.
final class PostgresServer: Sendable {
    static let skipped = "skipped: needs PostgreSQL's server (package postgresql)"
    /// Of the newest version that is installed.
    static let programs: String? = {
        let versions = (14...30).reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        return versions.first { access("\($0)/postgres", X_OK) == 0 && access("\($0)/initdb", X_OK) == 0 }
    }()
    /// Nothing is durable in it, and a standby that does not exist is waited for by who asks for it.
    static let shared = Result { try PostgresServer() }

    let directory: String

    init() throws {
        var template = Array("/tmp/photo-inbox-postgres.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil, let programs = Self.programs else { throw Errno(rawValue: errno) }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.directory = directory
        // PostgreSQL refuses to run as root.
        let lines = """
            set -e; cd "$1"; as=
            if [ "$(id -u)" = 0 ]; then chown nobody .; as="setpriv --reuid=nobody --regid=nogroup --clear-groups"; fi
            $as "$2/initdb" --no-sync -A trust -U tester -E UTF8 --locale=C -D data >initdb.log 2>&1 ||
                { cat initdb.log >&2; rm -rf "$1"; exit 1; }
            $as sed -i '1i local all guarded scram-sha-256' data/pg_hba.conf
            $as "$2/postgres" -D data -k "$1" -c listen_addresses= -c fsync=off -c synchronous_standby_names=nowhere \
                -c synchronous_commit=local -c max_connections=50 >log 2>&1 </dev/null &
            server=$!; cat >/dev/null; kill -QUIT $server; wait $server || true; rm -rf "$1"
            """
        // Its end is what the script waits for; it is never closed.
        var ends: [Int32] = [0, 0]
        let made = openDescriptors.withLock { _ in
            pipe(&ends) + ends.reduce(0) { $0 + fcntl($1, F_SETFD, FD_CLOEXEC) }
        }
        guard made == 0 else { throw Errno(rawValue: errno) }
        let arguments = ["/bin/sh", "-c", lines, "sh", directory, programs]
        let script = try spawn(arguments, environment: ["PATH": "/usr/bin:/bin"], inASession: true) { actions in
            posix_spawn_file_actions_adddup2(&actions, ends[0], 0)
        }
        close(ends[0])
        let end = ContinuousClock.now + .seconds(waitLimit)
        while (try? PostgresConnection(parameters())) == nil {
            guard ContinuousClock.now < end, waitpid(script, nil, WNOHANG) == 0 else {
                throw ServerDidNotStart(directory: directory)
            }
            usleep(20_000)
        }
    }

    func parameters(_ more: String = "", schema: String? = nil) -> PostgresParameters {
        PostgresParameters(
            "host=\(directory) user=tester dbname=postgres \(more)", applicationName: "tests", schema: schema)
    }
}

struct ServerDidNotStart: Error {
    let directory: String
}

/// A schema of one test.
struct Place: Sendable {
    let server: PostgresServer
    let schema: String

    init() throws {
        server = try PostgresServer.shared.get()
        schema = "t\(UInt64.random(in: 1...UInt64.max))"
        let connection = try PostgresConnection(server.parameters())
        try connection.transaction(.write, within: .seconds(30)) { try $0.run("CREATE SCHEMA \(schema)") }
    }

    func connect(_ more: String = "") throws -> PostgresConnection {
        try PostgresConnection(server.parameters(more, schema: schema))
    }
}

/// Runs blocking code with a place of its own.
func inPlace(_ body: @escaping @Sendable (Place) throws -> Void) async throws {
    try await aside { try body(try Place()) }
}

extension PostgresConnection {
    func write(_ sql: String, _ values: [PostgresValue] = []) throws {
        _ = try together(.write, [PostgresStatement(sql, values)], within: .seconds(30))
    }

    func value(_ sql: String, _ values: [PostgresValue] = []) throws -> PostgresValue? {
        try together(.read, [PostgresStatement(sql, values)], within: .seconds(30)).first?.rows.first?.values.first
    }

    /// Repeats a question until it is answered with `wanted`.
    func wait(for sql: String, _ wanted: PostgresValue) throws {
        let end = ContinuousClock.now + .seconds(waitLimit)
        while try value(sql) != wanted {
            guard ContinuousClock.now < end else { throw NeverSo(sql: sql) }
            usleep(5_000)
        }
    }
}

struct NeverSo: Error {
    let sql: String
}

/// The error of `body`, which must be one of PostgreSQL's.
func failure(_ body: () throws -> Void) -> PostgresError? {
    do {
        try body()
        return nil
    } catch {
        return error as? PostgresError
    }
}
