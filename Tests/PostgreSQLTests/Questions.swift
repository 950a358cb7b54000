import Glibc
import PostgreSQL
import SystemPackage
import TestSupport

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

/// A TCP socket on 127.0.0.1, closed with this.
final class Socket {
    let descriptor: Int32
    private(set) var port: UInt16 = 0

    private init(_ port: UInt16, _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let done = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                use(descriptor, address, size) == 0 && getsockname(descriptor, address, &size) == 0
            }
        }
        guard descriptor >= 0, done else { throw Errno(rawValue: errno) }
        self.port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    static func listening() throws -> Socket { try Socket(0) { bind($0, $1, $2) == 0 ? listen($0, 0) : -1 } }

    /// It may never be connected.
    static func connecting(to port: UInt16) throws -> Socket {
        try Socket(port) { connect($0, $1, $2) == 0 || errno == EINPROGRESS ? 0 : -1 }
    }
}
