import CPostgres

/// How to connect.
public struct PostgresParameters: Sendable {
    /// The operator's words: `service=photoinbox`, `host=… dbname=…`, or an address `postgresql://…`.
    public var connection: String
    /// What the server shows as the client's name.
    public var applicationName: String
    /// The only schema in which names are looked up, beside that of the system.
    public var schema: String?
    /// The session's time zone, as PostgreSQL names it; nil for the server's.
    public var timeZone: String?
    /// Each statement is planned for its arguments: for searches, of which a plan for any words would read all texts.
    public var plansForArguments = false
    /// Only a server that takes writes is accepted.
    public var writes: Bool
    /// Connecting takes no longer than this, however many servers are named. A name of several addresses is one server: the
    /// first address that answers is used.
    public var connectSeconds = 3
    /// A larger answer closes the connection: a message of a server may claim 2 GiB, and libpq would keep all of it.
    public var largestAnswer = 64 << 20
    /// What is loaded.
    public var library = "libpq.so.5"

    /// With the usual limits.
    public init(_ connection: String, applicationName: String, schema: String? = nil, writes: Bool = true) {
        self.connection = connection
        self.applicationName = applicationName
        self.schema = schema
        self.writes = writes
    }

    /// What is set beside the operator's words, and goes before them; `options` are those of the words;
    /// those of PGOPTIONS and of a service file are overridden.
    func ours(options: String) -> [(String, String)] {
        // Keepalives of the server's end, too: it has no other limit for a client that is gone in the middle of a pipeline,
        // whose locks it would hold for hours.
        var settings = [
            "lock_timeout=2s", "idle_in_transaction_session_timeout=10s", "tcp_keepalives_idle=5",
            "tcp_keepalives_interval=2", "tcp_keepalives_count=3",
        ]
        if let schema { settings.append("search_path=\"\(schema.replacing("\"", with: "\"\""))\"") }
        if let timeZone { settings.append("TimeZone=\(timeZone)") }
        if plansForArguments { settings.append("plan_cache_mode=force_custom_plan") }
        // The server splits at spaces.
        let words = settings.map { setting in
            "-c " + setting.flatMap { $0.isWhitespace || $0 == "\\" ? "\\\($0)" : "\($0)" }
        }
        return [
            ("target_session_attrs", writes ? "read-write" : "any"),
            // Of connecting, too: connect_timeout is for who lets libpq wait.
            ("tcp_user_timeout", "\(connectSeconds)000"), ("keepalives", "1"), ("keepalives_idle", "5"),
            ("keepalives_interval", "2"),
            ("keepalives_count", "3"), ("client_encoding", "UTF8"), ("application_name", applicationName),
            ("options", ([options] + words).filter { !$0.isEmpty }.joined(separator: " ")),
        ]
    }

    /// What ``connection`` gives, by libpq's names of options; connects to nothing. Throws if it cannot be read.
    public func options() throws(PostgresError) -> [String: String] {
        let calls = UnsafeMutablePointer<cpostgres>.allocate(capacity: 1)
        defer { calls.deallocate() }
        return try PostgresWire.options(of: self, calls)
    }
}
