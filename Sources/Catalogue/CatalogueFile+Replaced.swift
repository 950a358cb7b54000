package import FileValues

extension CatalogueFile {
    /// Returns the rows of photos of this library that were filed again elsewhere, since their own files were missing or had
    /// other bytes, by the paths of these: what lies there has no record, and must not get one. Paths that another photo has
    /// now are left out. `columns` are those of ``StoredPhoto``.
    package func replacedPhotos(
        in library: BytePath, columns: String = StoredPhoto.columns
    ) throws(CatalogueError) -> [BytePath: StoredPhoto] {
        let rows = try read("reading which photos were filed again") { db in
            try db.rows(
                """
                SELECT \(columns) FROM photo
                WHERE library = ? AND superseded_by IS NOT NULL AND undone_by IS NULL
                    AND EXISTS (SELECT 1 FROM photo AS other WHERE other.id = photo.superseded_by
                        AND other.sha256 = photo.sha256
                        AND (other.library <> photo.library OR other.library_path <> photo.library_path))
                ORDER BY id
                """, [library]
            ).map { try StoredPhoto($0) }
        }
        var replaced: [BytePath: StoredPhoto] = [:]
        for row in rows where try recorded(in: library, at: row.photo.libraryPath) == nil {
            replaced[row.photo.libraryPath] = row
        }
        return replaced
    }

    /// Records photos of a former catalogue whose files are missing, unreadable or have other bytes now, in one transaction:
    /// as filed again, if another row has the content, or else as damaged. Doing it twice changes nothing.
    package func keepDamaged(
        _ photos: [(photo: PhotoRecord, reason: String)], at time: FileTime
    ) throws(CatalogueError) {
        try write("keeping the records of damaged photos") { db in
            for (photo, reason) in photos { try keepDamaged(photo, reason, time, db) }
        }
    }

    private func keepDamaged(
        _ photo: PhotoRecord, _ reason: String, _ time: FileTime, _ db: any CatalogueTransaction
    ) throws {
        let struck = try struck(photo, db)
        let isThere = try db.value(
            Bool.self,
            """
            SELECT EXISTS (SELECT 1 FROM photo WHERE \(db.words.isAt("?1", "?2")))
                OR EXISTS (SELECT 1 FROM photo WHERE library = ?1 AND library_path = ?2 AND sha256 = ?3 AND id <> ?4)
            """, [photo.library, photo.libraryPath, photo.sha256, struck ?? 0])
        if isThere == true { return }
        // Two photos may have sidecars of the same bytes.
        let same =
            photo.part.isSidecar
            ? nil
            : try db.value(
                Int64.self,
                """
                SELECT id FROM photo WHERE sha256 = ? AND superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar'
                ORDER BY id LIMIT 1
                """, [photo.sha256])
        if let struck {
            try db.run(
                "UPDATE photo SET superseded_at = ?, superseded_by = ? WHERE id = ?",
                [same.map { _ in time.nanosecondsSince1970 }, same, struck])
        }
        let id = try struck ?? insert(photo, filedAt: time, supersededBy: same, db).photo
        guard same == nil else { return }
        try db.run(
            """
            INSERT INTO damage (photo_id, since, reason) VALUES (?, ?, ?)
            ON CONFLICT (photo_id) DO UPDATE SET reason = excluded.reason
            """, [id, time.nanosecondsSince1970, reason])
        try bindAdopted(id, photo, db)
    }
}
