package import FileValues

/// The result of one rendition of a photo, where no file shows it.
package struct RenditionRecord: Hashable, Sendable {
    package var photoID: Int64
    /// The kind's stable name.
    package var kind: String
    package var at: FileTime
    /// Why it cannot be made; nil if it was made.
    package var reason: String?
    /// The perceptual hash, for the kind `hash`: similar photos differ in few bits.
    package var likeness: UInt64?

    package init(photoID: Int64, kind: String, at: FileTime, reason: String? = nil, likeness: UInt64? = nil) {
        self.photoID = photoID
        self.kind = kind
        self.at = at
        self.reason = reason
        self.likeness = likeness
    }
}

/// The perceptual hash of one photo.
package struct PhotoLikeness: Hashable, Sendable {
    package let photoID: Int64
    package let likeness: UInt64

    package init(photoID: Int64, likeness: UInt64) {
        self.photoID = photoID
        self.likeness = likeness
    }
}

extension CatalogueFile {
    /// Records renditions, replacing earlier rows. Photos without a row are skipped.
    package func record(_ renditions: [RenditionRecord]) throws(CatalogueError) {
        try write("recording renditions") { db in
            for rendition in renditions {
                try db.run(
                    """
                    INSERT INTO rendition (photo_id, kind, at, reason, likeness)
                    SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM photo WHERE id = ?1)
                    ON CONFLICT (photo_id, kind) DO UPDATE SET
                        at = excluded.at, reason = excluded.reason, likeness = excluded.likeness
                    """,
                    [
                        rendition.photoID, rendition.kind, rendition.at.nanosecondsSince1970, rendition.reason,
                        rendition.likeness.map { Int64(bitPattern: $0) },
                    ])
            }
        }
    }

    /// Returns the recorded renditions of one photo.
    package func renditions(ofPhoto id: Int64) throws(CatalogueError) -> [RenditionRecord] {
        try read("reading renditions") { db in
            try db.rows("SELECT * FROM rendition WHERE photo_id = ?", [id]).map { row in
                RenditionRecord(
                    photoID: try row.value("photo_id"), kind: try row.value("kind"), at: try row.time("at"),
                    reason: try row.optional("reason"),
                    likeness: (try row.optional("likeness") as Int64?).map { UInt64(bitPattern: $0) })
            }
        }
    }

    /// Returns the known perceptual hashes of the library's photos, first filed first, of one inbox or of all.
    package func likenesses(inbox: String? = nil) throws(CatalogueError) -> [PhotoLikeness] {
        try read("reading what photos look like") { db in
            var found: [PhotoLikeness] = []
            try db.each(
                """
                SELECT r.photo_id AS id, r.likeness AS likeness FROM rendition AS r
                JOIN photo AS p ON p.id = r.photo_id
                WHERE r.kind = 'hash' AND r.likeness IS NOT NULL AND p.superseded_at IS NULL
                    AND (p.inbox = ?1 OR ?1 IS NULL)
                ORDER BY r.photo_id
                """, [inbox]
            ) { row in
                found.append(PhotoLikeness(photoID: try row.value("id"), likeness: try row.unsigned("likeness")))
            }
            return found
        }
    }
}
