package import FileValues

/// Conditions on photos; all must hold.
package struct PhotoFilter: Hashable, Sendable {
    package var inbox: String?
    /// The format's stable name.
    package var format: String?
    /// Taken at this local time or later, in the form of ``RecordedCaptureDate/local`` or a prefix of it such as `2026-11`.
    package var capturedFrom: String?
    /// Taken before this local time.
    package var capturedBefore: String?
    /// Bytes that the original name contains.
    package var nameContains: BytePath?
    /// Identifiers below this one: the next page of a listing.
    package var before: Int64?
    /// Whether to include superseded rows.
    package var includesSuperseded = false

    package init() {}
}

extension CatalogueFile {
    /// Returns the filed photo with this content; a sidecar only if no photo has it.
    package func photo(withHash sha256: [UInt8]) throws(CatalogueError) -> StoredPhoto? {
        try photos(
            "WHERE sha256 = ? AND superseded_at IS NULL ORDER BY role IS NOT DISTINCT FROM 'sidecar', id LIMIT 1",
            [sha256]
        ).first
    }

    /// Returns at most two photos whose SHA-256 begins with these hexadecimal digits.
    package func photos(withHashPrefix digits: String) throws(CatalogueError) -> [StoredPhoto] {
        func bound(_ digit: String) -> [UInt8]? {
            let all = digits + String(repeating: digit, count: max(0, 64 - digits.utf8.count))
            return bytes(ofHexadecimal: all.utf8)
        }
        guard let first = bound("0"), let last = bound("f") else { return [] }
        return try photos(
            "WHERE sha256 BETWEEN ? AND ? AND superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar' LIMIT 2",
            [first, last])
    }

    /// Returns the photo at this path of the library.
    package func photo(library: BytePath, path: BytePath) throws(CatalogueError) -> StoredPhoto? {
        try photos(
            "WHERE \(words.isAt())", [library, path]
        ).first
    }

    package func photo(id: Int64) throws(CatalogueError) -> StoredPhoto? {
        try photos("WHERE id = ?", [id]).first
    }

    /// Returns at most `limit` photos, last filed first.
    package func photos(matching filter: PhotoFilter, limit: Int) throws(CatalogueError) -> [StoredPhoto] {
        var conditions: [String] = []
        var arguments: [(any SQLConvertible)?] = []
        func require(_ condition: String, _ value: (any SQLConvertible)?) {
            guard let value else { return }
            conditions.append(condition)
            arguments.append(value)
        }
        require("inbox = ?", filter.inbox)
        require("format = ?", filter.format)
        require("captured >= ?", filter.capturedFrom)
        require("captured < ?", filter.capturedBefore)
        require(words.containsBytes("original_name", "?"), filter.nameContains)
        require("id < ?", filter.before)
        if !filter.includesSuperseded { conditions.append("superseded_at IS NULL") }
        let clause = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
        arguments.append(limit)
        return try photos("\(clause) ORDER BY id DESC LIMIT ?", arguments)
    }

    func photos(
        _ clause: String, _ arguments: SQLArguments, columns: String = StoredPhoto.columns
    ) throws(CatalogueError) -> [StoredPhoto] {
        try readOne("reading photos") { db in
            try db.rows("SELECT \(columns) FROM photo \(clause)", arguments).map {
                try StoredPhoto($0)
            }
        }
    }
}
