import Glibc
import PostgreSQL

/// A catalogue in PostgreSQL.
package struct CatalogueServer: Hashable, Sendable {
    /// libpq's words: `service=photoinbox`, `host=… dbname=…`, or an address `postgresql://…`.
    package let connection: String
    /// All tables are in it. It is created if the role may do that.
    package let schema: String
    /// What the server shows as the client's name.
    package let client: String

    package init(_ connection: String, schema: String = "photoinbox", client: String) {
        self.connection = connection
        self.schema = schema
        self.client = client
    }

    /// What messages call it: the words may contain a password.
    package var name: String { "in PostgreSQL, schema \(schema)" }

    /// - Parameter searches: each statement is planned for its arguments, and so are those of triggers.
    func parameters(writes: Bool, searches: Bool) -> PostgresParameters {
        var parameters = PostgresParameters(connection, applicationName: client, schema: schema, writes: writes)
        parameters.timeZone = Self.timeZone
        parameters.plansForArguments = searches
        return parameters
    }

    /// What libpq's words name: servers, by address where they give one, else by name or by the directory of their sockets,
    /// and the file with the password. No server, as with a service, leaves that to libpq. Connects to nothing.
    package func named() throws(CatalogueError) -> (servers: [String], passwordFile: String?) {
        do {
            let options = try parameters(writes: false, searches: true).options()
            let servers = options["hostaddr"] ?? options["host"] ?? ""
            return (servers.split(separator: ",").map(String.init), options["passfile"])
        } catch { throw CatalogueError(error, "reading where the catalogue is") }
    }

    /// The name of this machine's time zone, since days are those of the machine that asks; nil if it is unknown.
    private static var timeZone: String? {
        if let name = getenv("TZ").map({ String(cString: $0) }), !name.isEmpty {
            return name.hasPrefix(":") ? String(name.dropFirst()) : name
        }
        guard let resolved = realpath("/etc/localtime", nil) else { return nil }
        defer { free(resolved) }
        let path = String(cString: resolved)
        return path.firstRange(of: "/zoneinfo/").map { String(path[$0.upperBound...]) }
    }
}
