import GRDB

extension EngineWords {
    static let sqlite = EngineWords(
        // The planner finds a partial index by the same expression only.
        isSet: { $0 }, text: { "CAST(\($0) AS TEXT)" }, key: { $0 }, truncated: { "CAST(\($0) AS INTEGER)" },
        localDay: { "date(\($0) / 1000000000, 'unixepoch', 'localtime')" },
        contains: { "instr(lower(\($0)), lower(\($1))) > 0" },
        containsBytes: { "instr(\($0), \($1)) > 0" }, joinedPath: { "CAST(\($0) || '/' || \($1) AS BLOB)" },
        texts: Texts(matches: "photo_text MATCH ?", photo: "rowid", query: { $0.fts5 }),
        copies: Copies(
            lastNumber: { "SELECT max(seq) AS last FROM sqlite_sequence WHERE name = '\($0)'" },
            continueNumbers: {
                """
                INSERT OR REPLACE INTO sqlite_sequence (rowid, name, seq)
                    SELECT (SELECT rowid FROM sqlite_sequence WHERE name = '\($0)'), '\($0)', last
                    FROM (SELECT max(coalesce(max(id), 0), coalesce(?, 0)) AS last FROM \($0)) WHERE last > 0
                        AND EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '\($0)' AND sql LIKE '%AUTOINCREMENT%')
                """
            }, statistics: { _ in nil }),
        own: Own(
            host: "1", mayMiss: false, isHost: "", key: { $0 }, isInbox: { _ in "" }, cares: { _ in "" },
            isAway: { _ in "0" },
            isGone: { _ in "0" }))
}

extension SearchQuery {
    /// The conditions on texts as an FTS5 query, nil for none. See sqlite.org/fts5.html, "Full-text Query Syntax".
    fileprivate var fts5: String? {
        func quoted(_ text: String) -> String { "\"\(text.replacing("\"", with: "\"\""))\"" }
        let parts =
            words.map { quoted($0) + "*" } + keywords.map { "keywords : \(quoted($0))" }
            + people.map { "people : \(quoted($0))" } + (title.map { ["title : \(quoted($0))"] } ?? [])
            + (place.map { ["place : \(quoted($0))"] } ?? [])
        return parts.isEmpty ? nil : parts.joined(separator: " AND ")
    }
}

extension DatabaseError: EngineError {
    var catalogueCode: CatalogueError.Code { CatalogueError.Code(resultCode) }
    var number: Int32 { extendedResultCode.rawValue }
    var text: String { message ?? "result code \(extendedResultCode.rawValue)" }
}

extension CatalogueError.Code {
    fileprivate init(_ code: ResultCode) {
        self =
            switch code {
            case .SQLITE_FULL: .diskFull
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt
            case .SQLITE_READONLY: .readOnly
            case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_AUTH: .permission
            case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
            case .SQLITE_IOERR: .inputOutput
            case .SQLITE_INTERRUPT: .interrupted
            default: .other
            }
    }
}

extension CatalogueFile {
    /// Returns the error code for findings of `PRAGMA quick_check`. They may include a page that is unreadable only
    /// now, which is no reason to replace a catalogue.
    package static func code(of findings: [String]) -> CatalogueError.Code {
        let beginning = "unable to get the page. error code="
        let codes = findings.flatMap { $0.split(separator: "\n") }.compactMap { line -> CatalogueError.Code? in
            guard let found = line.firstRange(of: beginning) else { return nil }
            // The extended code's lowest byte is the code itself.
            return Int32(line[found.upperBound...].prefix { $0.isNumber })
                .map { CatalogueError.Code(ResultCode(rawValue: $0 & 0xFF)) }
        }
        return codes.contains(.inputOutput) || codes.contains(.other) ? .inputOutput : .corrupt
    }
}
