package import FileValues

/// Where a catalogue is kept.
package enum CataloguePlace: Hashable, Sendable {
    /// A file of SQLite.
    case file(BytePath)
    /// A database of PostgreSQL, in libpq's words: `service=photoinbox`, `host=… dbname=…`, or `postgresql://…`. See
    /// https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING.
    case server(String)

    /// Whether `text` is libpq's, and no path.
    package static func isServer(_ text: String) -> Bool {
        text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
            || text.prefixMatch(of: #/\s*[a-z_]+\s*=/#) != nil
    }

    /// Whether libpq's words contain a password, which messages and the daemon's state would show.
    package static func hasPassword(_ words: String) -> Bool {
        // libpq decodes the names in an address, and needs no blank after a quote.
        words.replacing(#/%([0-9A-Fa-f]{2})/#) { match in
            UInt8(match.1, radix: 16).map { String(UnicodeScalar($0)) } ?? ""
        }.contains(#/(^|[\s?&'])((ssl)?password|oauth_client_secret)\s*=/#)
            || words.prefixMatch(of: #/[a-z]+://[^\/@]*:[^\/@]*@/#) != nil
    }

    /// Nil for a database.
    package var file: BytePath? { if case .file(let path) = self { path } else { nil } }

    /// Of messages.
    package var name: BytePath {
        switch self {
        case .file(let path): path
        case .server(let words): BytePath("PostgreSQL, \(words)")
        }
    }
}

extension CataloguePlace: CustomStringConvertible {
    /// As in the configuration.
    package var description: String {
        switch self {
        case .file(let path): path.description
        case .server(let words): words
        }
    }
}
