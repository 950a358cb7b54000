package import FileValues
import Foundation
import GRDB

/// By what a set is looked for that was filed from an inbox.
package struct SetQuery: Hashable, Sendable {
    package var inbox: String
    /// ``SetPart/key`` or ``SetPart/shortKey``.
    package var keys: [[UInt8]]
    package var contentIdentifier: String?
    /// Paths in the inbox under which photos lay that were filed before keys were kept.
    package var paths: [BytePath]

    package init(inbox: String, keys: [[UInt8]], contentIdentifier: String? = nil, paths: [BytePath] = []) {
        self.inbox = inbox
        self.keys = keys
        self.contentIdentifier = contentIdentifier
        self.paths = paths
    }
}

extension CatalogueFile {
    /// All of the set that was filed last of those that fit, first filed first; a photo that is alone is one too. Empty
    /// if there is none.
    package func filedSet(_ query: SetQuery) throws(CatalogueError) -> [StoredPhoto] {
        guard let newest = try newestPhoto(query) else { return [] }
        return try photos(inSetOf: newest)
    }

    /// Whether there is a set that fits by one of the keys. Asked for every photo, so it is one look into an index each.
    package func hasFiledSet(inbox: String, keys: [[UInt8]]) throws(CatalogueError) -> Bool {
        try read("looking for a set") { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT EXISTS (SELECT 1 FROM photo WHERE inbox = ?1 AND set_key = ?2 AND superseded_at IS NULL)
                        OR EXISTS (SELECT 1 FROM photo WHERE inbox = ?1 AND short_key = ?2 AND superseded_at IS NULL)
                    """)
            for key in keys {
                if try Bool.fetchOne(statement, arguments: [inbox, Data(key)]) == true { return true }
            }
            return false
        }
    }

    /// `photo` and all that belong to its set, first filed first.
    package func photos(inSetOf photo: StoredPhoto) throws(CatalogueError) -> [StoredPhoto] {
        guard let set = photo.setID else { return [photo] }
        return try photos("WHERE set_id = ? AND superseded_at IS NULL ORDER BY id", [set])
    }

    /// The roles of the last `limit` files that were filed from `inbox`, newest first, each with its set's number.
    package func recentRoles(inbox: String, limit: Int) throws(CatalogueError) -> [(role: String, set: Int64)] {
        try read("reading what was filed together") { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT role, coalesce(set_id, id) AS number FROM photo
                    WHERE inbox = ? AND role IS NOT NULL AND superseded_at IS NULL ORDER BY id DESC LIMIT ?
                    """,
                arguments: [inbox, limit]
            ).map { (role: try $0.value("role"), set: try $0.value("number")) }
        }
    }

    private func newestPhoto(_ query: SetQuery) throws(CatalogueError) -> StoredPhoto? {
        // A sidecar leads to no set: one that was put to a wrong photo would draw others after it.
        let own = "inbox = ? AND superseded_at IS NULL AND role IS NOT 'sidecar'"
        var found: [StoredPhoto] = []
        func look(_ condition: String, _ value: any DatabaseValueConvertible) throws(CatalogueError) {
            found += try photos("WHERE \(own) AND \(condition) ORDER BY id DESC LIMIT 1", [query.inbox, value])
        }
        if let identifier = query.contentIdentifier { try look("content_id = ?", identifier) }
        for key in query.keys where found.isEmpty {
            try look("set_key = ?", Data(key))
            try look("short_key = ?", Data(key))
        }
        if found.isEmpty, !query.paths.isEmpty {
            let marks = Array(repeating: "?", count: query.paths.count).joined(separator: ", ")
            let paths = query.paths.map { $0.data as any DatabaseValueConvertible }
            found = try photos(
                """
                WHERE id IN (SELECT photo_id FROM outcome WHERE path IN (\(marks)) AND inbox = ? AND outcome = 'filed')
                    AND superseded_at IS NULL AND set_key IS NULL ORDER BY id DESC LIMIT 1
                """, StatementArguments(paths + [query.inbox]))
        }
        return found.max { $0.id < $1.id }
    }
}
