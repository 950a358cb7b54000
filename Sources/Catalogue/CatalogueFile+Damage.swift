package import FileValues

/// A photo whose file in the library is missing or altered.
package struct DamagedPhoto: Hashable, Sendable {
    package let stored: StoredPhoto
    /// When the damage was first found.
    package let since: FileTime
    package let reason: String
}

/// The progress of the daemon's verification of a library.
package struct VerificationState: Hashable, Sendable {
    /// Photos with identifiers below this one are next; nil begins at the newest.
    package var cursor: Int64?
    /// When a part was last verified.
    package var at: FileTime
    /// When the last whole pass ended; nil if none did.
    package var wholeAt: FileTime?

    package init(cursor: Int64?, at: FileTime, wholeAt: FileTime?) {
        self.cursor = cursor
        self.at = at
        self.wholeAt = wholeAt
    }
}

extension CatalogueFile {
    /// CROSS JOIN, which SQLite does not reorder, begins at the few damage rows instead of all photos of the library.
    static let isDamaged = """
        FROM damage CROSS JOIN photo WHERE id = photo_id AND library = ? AND superseded_at IS NULL
        """

    /// Records by identifier why a photo is damaged, or nil for intact. Returns those not known to be damaged before.
    @discardableResult
    package func record(damage: [Int64: String?], at time: FileTime) throws(CatalogueError) -> Set<Int64> {
        if damage.isEmpty { return [] }
        return try write("recording which photos are damaged") { db in
            var new: Set<Int64> = []
            for (id, reason) in damage {
                guard let reason else {
                    try db.run("DELETE FROM damage WHERE photo_id = ?", [id])
                    continue
                }
                // It may have been moved since it was looked for.
                let place = try db.first(
                    """
                    SELECT library FROM photo WHERE id = ? AND superseded_at IS NULL
                        AND NOT EXISTS (SELECT 1 FROM request WHERE \(Self.isUnderWay("photo.id", db)))
                    """, [id])
                guard try place?.path("library").isAbsolute == true else { continue }
                let isKnown = try db.value(Bool.self, "SELECT EXISTS (SELECT 1 FROM damage WHERE photo_id = ?)", [id])
                if isKnown != true { new.insert(id) }
                try db.run(
                    """
                    INSERT INTO damage (photo_id, since, reason) VALUES (?, ?, ?)
                    ON CONFLICT (photo_id) DO UPDATE SET reason = excluded.reason
                    """, [id, time.nanosecondsSince1970, reason])
            }
            return new
        }
    }

    /// Counts the photos of this library that are known to be damaged.
    package func damagedCount(in library: BytePath) throws(CatalogueError) -> Int {
        try read("counting damaged photos") { db in
            try db.value(Int.self, "SELECT count(*) \(Self.isDamaged)", [library]) ?? 0
        }
    }

    /// Returns the known damaged photos of this library with identifiers above `id`, in order.
    package func damagedPhotos(
        in library: BytePath, after id: Int64 = 0, limit: Int
    ) throws(CatalogueError) -> [DamagedPhoto] {
        try read("reading which photos are damaged") { db in
            try db.rows(
                """
                SELECT since, reason, \(StoredPhoto.columns) \(Self.isDamaged) AND photo_id > ? ORDER BY photo_id LIMIT ?
                """, [library, id, limit]
            ).map { try DamagedPhoto(stored: StoredPhoto($0), since: $0.time("since"), reason: $0.value("reason")) }
        }
    }

    /// Returns why a photo is damaged and when that was found; nil if no damage is known.
    package func damage(ofPhoto id: Int64) throws(CatalogueError) -> (since: FileTime, reason: String)? {
        try read("reading whether a photo is damaged") { db in
            try db.first("SELECT since, reason FROM damage WHERE photo_id = ?", [id]).map {
                (try $0.time("since"), try $0.value("reason"))
            }
        }
    }

    /// Returns the progress of the daemon's verification of this library; nil if it never began.
    package func verification(of library: BytePath) throws(CatalogueError) -> VerificationState? {
        try read("reading how far the library was verified") { db in
            try db.first(
                "SELECT cursor, at, whole_at FROM verification WHERE \(db.words.isKey("library"))", [library]
            ).map { row in
                VerificationState(
                    cursor: try row.optional("cursor"), at: try row.time("at"),
                    wholeAt: try row.optionalTime("whole_at"))
            }
        }
    }

    /// Records that the whole library was verified, but not by the daemon's own passes.
    package func noteVerified(_ library: BytePath, at time: FileTime) throws(CatalogueError) {
        let cursor = try verification(of: library)?.cursor
        try setVerification(VerificationState(cursor: cursor, at: time, wholeAt: time), of: library)
    }

    package func setVerification(_ state: VerificationState, of library: BytePath) throws(CatalogueError) {
        try write("recording how far the library was verified") { db in
            try db.run(
                """
                INSERT INTO verification (library, cursor, at, whole_at) VALUES (?, ?, ?, ?)
                ON CONFLICT (\(db.words.key("library"))) DO UPDATE SET
                    cursor = excluded.cursor, at = excluded.at, whole_at = excluded.whole_at
                """,
                [
                    library, state.cursor, state.at.nanosecondsSince1970, state.wholeAt?.nanosecondsSince1970,
                ])
        }
    }
}
