import FileValues
import Foundation
import GRDB

/// Conditions of a search; all must hold.
package struct SearchQuery: Hashable, Sendable {
    /// Words, or prefixes of words, of title, keywords or place.
    package var words: [String] = []
    package var keywords: [String] = []
    package var place: String?
    package var title: String?
    /// Parts of the camera's name and of the file's original name, ignoring the case of ASCII letters.
    package var camera: String?
    package var name: String?
    /// At least this many stars.
    package var rating: Int?
    /// Local times or prefixes of them; the range includes every time that begins with the second.
    package var takenFrom: String?
    package var takenUntil: String?
    package var inbox: String?
    /// Search arrivals with this outcome instead of filed photos.
    package var outcome: OutcomeKind?
    package var limit = 50

    package init() {}

    /// The conditions on texts as an FTS5 query, nil for none. See sqlite.org/fts5.html, "Full-text Query Syntax".
    var match: String? {
        func quoted(_ text: String) -> String { "\"\(text.replacing("\"", with: "\"\""))\"" }
        let parts =
            words.map { quoted($0) + "*" } + keywords.map { "keywords : \(quoted($0))" }
            + (title.map { ["title : \(quoted($0))"] } ?? []) + (place.map { ["place : \(quoted($0))"] } ?? [])
        return parts.isEmpty ? nil : parts.joined(separator: " AND ")
    }
}

/// A search result: a photo with its description, or an outcome.
package struct SearchHit: Hashable, Sendable {
    package let photo: StoredPhoto?
    package let description: PhotoDescription?
    /// Set if outcomes were searched.
    package let outcome: StoredOutcome?
}

extension CatalogueFile {
    /// Returns the matches, newest first, as of one moment.
    package func search(_ query: SearchQuery) throws(CatalogueError) -> [SearchHit] {
        try read("searching") { db in
            let (sql, arguments) = Self.statement(query)
            return try Row.fetchAll(db, sql: sql, arguments: arguments).map { row in
                let photo = try (row["photo_id"] as Int64?).flatMap { id in
                    try Row.fetchOne(db, sql: "SELECT \(StoredPhoto.columns) FROM photo WHERE id = ?", arguments: [id])
                        .map { try StoredPhoto($0) }
                }
                let outcome = try (row["outcome_id"] as Int64?).flatMap { id in
                    try Row.fetchOne(db, sql: "SELECT * FROM outcome WHERE id = ?", arguments: [id])
                        .map { try StoredOutcome($0) }
                }
                return SearchHit(
                    photo: photo, description: try PhotoDescription(id: row["description_id"], db), outcome: outcome)
            }
        }
    }

    /// Returns the description of a photo.
    package func description(ofHash sha256: [UInt8]) throws(CatalogueError) -> PhotoDescription? {
        try read("reading a description") { db in
            try Row.fetchOne(db, sql: "SELECT * FROM description WHERE sha256 = ?", arguments: [Data(sha256)])
                .map { try PhotoDescription($0) }
        }
    }

    /// Calls `body` with every filed photo and its description, oldest first, as of one moment. Holds one photo in
    /// memory.
    package func eachPhoto(
        _ body: (StoredPhoto, PhotoDescription?) throws -> Void
    ) throws(CatalogueError) {
        try read("reading photos") { db in
            let photos = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(StoredPhoto.columns) FROM photo WHERE superseded_at IS NULL AND role IS NOT 'sidecar' ORDER BY id
                    """)
            let descriptions = try db.makeStatement(sql: "SELECT * FROM description WHERE sha256 = ?")
            while let row = try photos.next() {
                let photo = try StoredPhoto(row)
                let description = try Row.fetchOne(descriptions, arguments: [Data(photo.photo.sha256)])
                try body(photo, try description.map { try PhotoDescription($0) })
            }
        }
    }

    private static func statement(_ query: SearchQuery) -> (String, StatementArguments) {
        var conditions: [String] = []
        var arguments: [(any DatabaseValueConvertible)?] = []
        func require(_ condition: String, _ value: (any DatabaseValueConvertible)?) {
            guard let value else { return }
            conditions.append(condition)
            arguments.append(value)
        }
        require("d.id IN (SELECT rowid FROM description_text WHERE description_text MATCH ?)", query.match)
        require("instr(lower(p.camera), lower(?)) > 0", query.camera)
        let name = query.outcome == nil ? "p.original_name" : "o.path"
        require("instr(lower(CAST(\(name) AS TEXT)), lower(?)) > 0", query.name)
        require("d.rating >= ?", query.rating)
        require("coalesce(p.captured, d.taken) >= ?", query.takenFrom)
        // Everything that begins with the value sorts before this.
        require("coalesce(p.captured, d.taken) < ?", query.takenUntil.map { $0 + "\u{7F}" })
        require("\(query.outcome == nil ? "p" : "o").inbox = ?", query.inbox)
        require("o.outcome = ?", query.outcome?.rawValue)
        let source =
            query.outcome == nil
            ? "photo AS p LEFT JOIN description AS d ON d.sha256 = p.sha256"
            : """
            outcome AS o LEFT JOIN photo AS p ON p.id = o.photo_id
            LEFT JOIN description AS d ON d.sha256 = coalesce(p.sha256, o.sha256)
            """
        if query.outcome == nil { conditions.append("p.superseded_at IS NULL") }
        let columns =
            "p.id AS photo_id, d.id AS description_id, \(query.outcome == nil ? "NULL" : "o.id") AS outcome_id"
        arguments.append(query.limit)
        return (
            "SELECT \(columns) FROM \(source) WHERE \(conditions.joined(separator: " AND ")) ORDER BY "
                + (query.outcome == nil ? "p.id" : "o.id") + " DESC LIMIT ?", StatementArguments(arguments)
        )
    }
}

extension PhotoDescription {
    fileprivate init?(id: Int64?, _ db: Database) throws {
        guard let id, let row = try Row.fetchOne(db, sql: "SELECT * FROM description WHERE id = ?", arguments: [id])
        else { return nil }
        try self.init(row)
    }

    fileprivate init(_ row: Row) throws {
        let keywords: String? = try row.optional("keywords")
        self.init(
            title: try row.optional("title"), keywords: keywords?.split(separator: "\n").map(String.init) ?? [],
            rating: try row.optional("rating"), taken: try row.optional("taken"), place: try row.optional("place"))
    }
}
