package import FileValues

/// The criteria by which a filed set of an inbox is found.
package struct SetQuery: Hashable, Sendable {
    package var inbox: String
    /// ``SetPart/key`` or ``SetPart/shortKey``.
    package var keys: [[UInt8]]
    package var contentIdentifier: String?
    /// Paths in the inbox, to find photos that were filed before keys were recorded, or of which a duplicate lay there.
    package var paths: [BytePath]

    package init(inbox: String, keys: [[UInt8]], contentIdentifier: String? = nil, paths: [BytePath] = []) {
        self.inbox = inbox
        self.keys = keys
        self.contentIdentifier = contentIdentifier
        self.paths = paths
    }
}

extension CatalogueFile {
    /// Returns the photos of the last filed set that matches, first filed first, or an empty array. One photo is a set,
    /// too.
    package func filedSet(_ query: SetQuery) throws(CatalogueError) -> [StoredPhoto] {
        guard let newest = try newestPhoto(query) else { return [] }
        return try photos(inSetOf: newest)
    }

    /// Returns `photo` with all others of its set, first filed first.
    package func photos(inSetOf photo: StoredPhoto) throws(CatalogueError) -> [StoredPhoto] {
        guard let set = photo.setID else { return [photo] }
        return try photos("WHERE set_id = ? AND superseded_at IS NULL ORDER BY id", [set])
    }

    /// Returns the roles and set numbers of the last `limit` files filed from `inbox`, newest first.
    package func recentRoles(inbox: String, limit: Int) throws(CatalogueError) -> [(role: String, set: Int64)] {
        try read("reading what was filed together") { db in
            try db.rows(
                """
                SELECT role, coalesce(set_id, id) AS number FROM photo
                WHERE inbox = ? AND role IS NOT NULL AND superseded_at IS NULL ORDER BY id DESC LIMIT ?
                """, [inbox, limit]
            ).map { (role: try $0.value("role"), set: try $0.value("number")) }
        }
    }

    private func newestPhoto(_ query: SetQuery) throws(CatalogueError) -> StoredPhoto? {
        // Sidecars do not match: one joined to the wrong photo would draw others after it.
        let own = "inbox = ? AND superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar'"
        var found: [StoredPhoto] = []
        func addNewest(_ condition: String, _ value: any SQLConvertible) throws(CatalogueError) {
            found += try photos("WHERE \(own) AND \(condition) ORDER BY id DESC LIMIT 1", [query.inbox, value])
        }
        if let identifier = query.contentIdentifier { try addNewest("content_id = ?", identifier) }
        for key in query.keys where found.isEmpty {
            try addNewest("set_key = ?", key)
            try addNewest("short_key = ?", key)
        }
        if found.isEmpty, !query.paths.isEmpty {
            let marks = Array(repeating: "?", count: query.paths.count).joined(separator: ", ")
            func addNewest(_ outcome: String, _ condition: String) throws(CatalogueError) {
                found += try photos(
                    """
                    WHERE id IN (SELECT photo_id FROM outcome WHERE path IN (\(marks)) AND inbox = ? AND outcome = '\(outcome)')
                        AND superseded_at IS NULL AND \(condition) ORDER BY id DESC LIMIT 1
                    """, query.paths + [query.inbox])
            }
            try addNewest("filed", "set_key IS NULL")
            // Filed from elsewhere, as a name of elsewhere.
            if found.isEmpty { try addNewest("duplicate", "role IS DISTINCT FROM 'sidecar'") }
        }
        return found.max { $0.id < $1.id }
    }
}
