import FleetRules

extension CatalogueFile {
    /// Locks a photo's row until the transaction ends, so that of two uses of it that begin at once one sees the other's row.
    /// Returns whether it is live.
    func lock(_ photo: Int64, _ db: any CatalogueTransaction) throws -> Bool {
        try db.rowsChanged(by: "UPDATE photo SET size = size WHERE id = ? AND superseded_at IS NULL", [photo]) == 1
    }

    /// Requires that what is under way about a photo, whose row is locked, permits that this use begins, by
    /// ``PhotoUse/mayBegin(beside:)``. What a host has begun that is forgotten does not count.
    func require(
        _ use: PhotoUse, of photo: Int64, _ operation: String, _ db: any CatalogueTransaction
    ) throws {
        let isOpen = "NOT \(db.words.own.isGone("inbox"))"
        // A begun filing of a content that is recorded files it again, in its place.
        let rows = try db.rows(
            """
            SELECT '\(PhotoUse.finishing.rawValue)' AS "use", inbox FROM intent
                WHERE photo_id = ?1 AND step = 'recorded' AND \(isOpen)
            UNION ALL SELECT '\(PhotoUse.duplicate.rawValue)', inbox FROM move WHERE photo_id = ?1 AND \(isOpen)
            UNION ALL SELECT '\(PhotoUse.undo.rawValue)', inbox FROM request
                WHERE photo_id = ?1 AND what IN ('undo', 'store') AND step = 'begun' AND \(isOpen)
            UNION ALL SELECT '\(PhotoUse.supersession.rawValue)', inbox FROM intent
                WHERE sha256 = (SELECT sha256 FROM photo WHERE id = ?1 AND role IS DISTINCT FROM 'sidecar')
                    AND step = 'begun' AND role IS DISTINCT FROM 'sidecar' AND \(isOpen)
            """, [photo])
        for row in rows {
            guard let other = PhotoUse(rawValue: try row.value("use")) else { throw UnreadableRow(column: "use") }
            if use.mayBegin(beside: other) { continue }
            throw CatalogueError(
                .busy, operation, "\(other.isUnderWay) the inbox \(try row.value("inbox") as String)")
        }
    }
}

extension PhotoUse {
    /// The reason for a refusal, up to the name of an inbox.
    fileprivate var isUnderWay: String {
        switch self {
        case .finishing: "its source is still to be removed from"
        case .duplicate: "a duplicate of this photo is being set aside from"
        case .undo: "this photo is being returned to"
        case .supersession: "this photo is missing, and is being filed again from"
        }
    }
}
