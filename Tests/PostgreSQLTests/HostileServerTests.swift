import Glibc
import SystemPackage
import TestSupport
import Testing

@testable import PostgreSQL

@Suite(
    "A hostile server",
    .enabled(if: dlopen("libpq.so.5", RTLD_LAZY) != nil, "skipped: needs libpq (package libpq5)"),
    .timeLimit(.minutes(60)))
struct HostileServerTests {
    /// Authenticated, and ready for a query.
    static let greeting: [UInt8] =
        [UInt8(ascii: "R"), 0, 0, 0, 8, 0, 0, 0, 0] + parameter("server_version", "15.0") + [
            UInt8(ascii: "Z"), 0, 0, 0, 5, UInt8(ascii: "I"),
        ]

    static func parameter(_ name: String, _ value: String) -> [UInt8] {
        let body = Array(name.utf8) + [0] + Array(value.utf8) + [0]
        return [UInt8(ascii: "S"), 0, 0, 0, UInt8(body.count + 4)] + body
    }

    @Test(
        "Whatever it sends is an error in time",
        arguments: [
            // Nothing; no greeting; a greeting alone; messages cut short, of wrong length, and of no known kind.
            [], Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), greeting, Array(greeting.dropLast(3)),
            [UInt8(ascii: "R"), 0, 0, 0, 1], [UInt8(ascii: "E"), 0x7F, 0xFF, 0xFF, 0xFF],
            greeting + [UInt8(ascii: "E"), 0, 0, 0, 6, UInt8(ascii: "C"), 0xFF],
            greeting + [UInt8(ascii: "T"), 0, 0, 0, 6, 0xFF, 0xFF], greeting + [UInt8(ascii: "1"), 0, 0, 0, 0],
            greeting + [UInt8(ascii: "D"), 0x7F, 0xFF, 0xFF, 0xFF], greeting + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            greeting + [UInt8(ascii: "G"), 0, 0, 0, 7, 0, 0, 0], greeting + [UInt8(ascii: "2"), 0, 0, 0, 4],
            greeting + [UInt8(ascii: "1"), 0, 0, 0, 4, UInt8(ascii: "t"), 0, 0, 0, 6, 0xFF, 0xFF],
        ], [true, false])
    func bytes(_ bytes: [UInt8], goesOn: Bool) async throws {
        try await aside {
            let error = try Self.error(bytes, then: goesOn)
            #expect(error?.kind == .unreachable, "\(String(describing: error))")
        }
    }

    @Test("An endless message ends the connection, and is not kept")
    func endless() async throws {
        try await aside {
            // A row without end, of a statement that was never described.
            let error = try Self.error(Self.greeting, then: true, fills: true)
            #expect(error?.message.contains("is longer than") == true, "\(String(describing: error))")
        }
    }

    /// A message of fields.
    static func fields(_ kind: Character, _ fields: [(Character, String)]) -> [UInt8] {
        let body: [UInt8] = Array(fields.map { "\($0.0)\($0.1)\0" }.joined().utf8) + [0]
        return [kind.asciiValue ?? 0, 0, 0, 0, UInt8(body.count + 4)] + body
    }

    @Test(
        "The SQLSTATE of a refusal is known, whatever the language of its text",
        arguments: [
            ("57P03", "starting:  28P01: up", PostgresError.Kind.unreachable), ("53300", "zu viele", .unreachable),
            ("28P01", "Passwort", .permission), ("28000", "nicht:  57P03: erlaubt\n", .permission),
            ("3D000", "", .permission), ("42501", "x", .permission), ("XX000", "x", .unreachable),
            ("57P01", "x", .unreachable),
        ])
    func refusals(state: String, text: String, kind: PostgresError.Kind) async throws {
        try await aside {
            let severity = state == "57P03" ? "FATAL" : "FATALE ÜÄ"
            let error = try Self.error(
                Self.fields(
                    "E", [("S", severity), ("V", "FATAL"), ("C", state), ("M", text), ("F", "a.c"), ("L", "1")]),
                then: false)
            #expect(error?.sqlState == state && error?.kind == kind, "\(String(describing: error))")
        }
    }

    @Test("What a server says while the connection is made is kept")
    func notice() async throws {
        try await aside {
            let notice = Self.fields("N", [("S", "WARNUNG"), ("V", "WARNING"), ("C", "01000"), ("M", "be warned")])
            let bytes = Array(Self.greeting.prefix(9)) + notice + Self.greeting.dropFirst(9)
            let lines = try Self.served(bytes, then: true) { try PostgresServers.connected($0)[0].notices.lines }
            #expect(lines == ["WARNING: be warned"])
        }
    }

    /// The error of connecting to a server that sends `bytes`, and then closes the connection, keeps it, or fills it.
    static func error(_ bytes: [UInt8], then goesOn: Bool, fills: Bool = false) throws -> PostgresError? {
        try served(bytes, then: goesOn, fills: fills) { parameters in
            failure { _ = try PostgresConnection(parameters) }
        }
    }

    /// The result of `body`, with how to connect to such a server.
    static func served<R>(
        _ bytes: [UInt8], then goesOn: Bool, fills: Bool = false, _ body: (PostgresParameters) throws -> R
    ) throws -> R {
        let scratch = try ScratchDirectory(below: "/tmp")
        let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw Errno(rawValue: errno) }
        defer { close(listener) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = scratch.appending(".s.PGSQL.5432")
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard bound == 0, listen(listener, 5) == 0 else { throw Errno(rawValue: errno) }
        let server = Thread {
            let peer = accept(listener, nil, nil)
            guard peer >= 0 else { return }
            defer { close(peer) }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            _ = read(peer, &buffer, buffer.count)
            _ = send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            let zeros = [UInt8](repeating: 0, count: 65_536)
            if fills {
                // Not before the first query: until then libpq itself refuses it.
                _ = read(peer, &buffer, buffer.count)
                _ = send(peer, [UInt8(ascii: "T"), 0x20, 0, 0, 0], 5, Int32(MSG_NOSIGNAL))
                // No faster than it is read: libpq reads on, without us, as long as there is something.
                while send(peer, zeros, zeros.count, Int32(MSG_NOSIGNAL)) > 0 {
                    var left: Int32 = 1
                    while ioctl(peer, UInt(TIOCOUTQ), &left) == 0, left > 0 { sched_yield() }
                }
            } else if goesOn {
                while read(peer, &buffer, buffer.count) > 0 {}
            }
        }
        var parameters = PostgresParameters(
            "host=\(scratch.path) user=x dbname=x sslmode=disable gssencmode=disable", applicationName: "tests",
            writes: false)
        // What is silent is waited for; what fills must not end by its time.
        parameters.connectSeconds = fills ? 60 : 2
        parameters.largestAnswer = 4 << 20
        let result = Result { try body(parameters) }
        shutdown(listener, Int32(SHUT_RDWR))
        try server.join()
        return try result.get()
    }
}
