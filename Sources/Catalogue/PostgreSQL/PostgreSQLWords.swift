extension EngineWords {
    static let postgresql = EngineWords(
        isSet: { "\($0) = 1" }, text: { "text_of(\($0))" },
        // A B-tree refuses more than 2,704 bytes.
        key: { "sha256(\($0))" },
        // Still a fraction: a number too large for an integer would be an error.
        truncated: { "trunc(\($0))" },
        localDay: { "to_char(to_timestamp(\($0) / 1000000000), 'YYYY-MM-DD')" },
        contains: { #"strpos(lower(\#($0) COLLATE "C"), lower(\#($1) COLLATE "C")) > 0"# },
        containsBytes: { "position(\($1) IN \($0)) > 0" }, joinedPath: { #"\#($0) || '\x2f'::bytea || \#($1)"# },
        texts: Texts(matches: "photo_text.words @@ text_query(?)", photo: "id", query: { $0.conditions }),
        copies: Copies(
            lastNumber: {
                "SELECT pg_sequence_last_value(CAST(pg_get_serial_sequence('\($0)', 'id') AS regclass)) AS last"
            },
            continueNumbers: {
                """
                SELECT setval(pg_get_serial_sequence('\($0)', 'id'), greatest(last, 1), last > 0) AS last
                    FROM (SELECT coalesce(greatest(max(id), CAST(? AS BIGINT)), 0) AS last FROM \($0)) AS numbers
                """
            }, statistics: { "ANALYZE \($0)" }),
        own: Own(
            host: "own_host()", mayMiss: true, isHost: " AND host = own_host()", key: { "host, \($0)" },
            isInbox: {
                """
                 AND \($0) NOT IN (SELECT inbox.name FROM inbox JOIN host ON host.id = inbox.host
                    WHERE host.id <> own_host() AND host.forgotten_at IS NULL)
                """
            },
            // A list of names is read once, while a function would be called for each row.
            cares: {
                """
                 AND CASE WHEN \($0) IN (SELECT name FROM inbox)
                    THEN \($0) IN (SELECT name FROM inbox WHERE is_cared_for(name)) ELSE is_cared_for(\($0)) END
                """
            }, isAway: { "CAST(is_away(\($0)) AS INTEGER)" },
            isGone: {
                """
                (\($0) IN (SELECT inbox.name FROM inbox JOIN host ON host.id = inbox.host
                    WHERE host.forgotten_at IS NOT NULL))
                """
            }))
}

extension SearchQuery {
    /// The conditions on texts for `text_query`, one a line; nil for none. See ``PostgreSQLSchema``.
    fileprivate var conditions: String? {
        let parts =
            words.map { "*" + $0 } + keywords.map { "#" + $0 } + people.map { "@" + $0 }
            + (title.map { ["=" + $0] } ?? []) + (place.map { ["/" + $0] } ?? [])
        // A line break separates words like any other character that is no letter.
        return parts.isEmpty ? nil : parts.map { $0.replacing("\n", with: " ") }.joined(separator: "\n")
    }
}
