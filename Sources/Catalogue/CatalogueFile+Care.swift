package import FileValues
import PhotoModel

/// The result of adopting one photo that is already in the library.
package enum Adoption: Hashable, Sendable {
    /// A row was added.
    case adopted(Int64)
    /// It already had this row.
    case known(Int64)
    /// This row has the same path and other content: damage or an edit, which a person must decide.
    case differs(Int64)
    /// The file of this row was missing and is this one, so the row now has its path.
    case moved(Int64, from: BytePath)
    /// This row already has the same content; each content has one row.
    case sameContent(as: Int64, path: BytePath)
    /// It is being filed now.
    case beingFiled
    /// It is the sidecar of a photo of the library, written by this program; what it says was restored. It has no row.
    case restored
    /// This program has written it for another library, or for a photo that is not beside it. It has no row.
    case ofAnother
}

extension CatalogueFile {
    /// The inbox recorded for a photo that came through no inbox.
    package static let adoptedInbox = "(adopted)"

    /// Adopts photos of the library in one transaction. Returns the result of each, in order. Rows of `missing`, whose
    /// files were not found, may get the path of a file with the same content. `sidecars` are those that this program has
    /// written, by their paths: none gets a new row.
    package func adopt(
        _ photos: [PhotoRecord], missing: Set<Int64> = [], sidecars: [BytePath: SidecarStatement] = [:],
        at time: FileTime
    ) throws(CatalogueError) -> [Adoption] {
        try write("taking photos of the library into the catalogue") { db in
            // A sidecar comes back with its photo, whose name may be a later one.
            let order = [false, true].flatMap { isSidecar in
                photos.indices.filter { photos[$0].part.isSidecar == isSidecar }
            }
            var results: [Int: Adoption] = [:]
            var missing = missing
            for index in order {
                let photo = photos[index]
                let result = try adopt(photo, sidecars[photo.libraryPath], missing, time, db)
                // Another sidecar may have the same bytes.
                if case .moved(let id, _) = result { missing.remove(id) }
                results[index] = result
            }
            return photos.indices.compactMap { results[$0] }
        }
    }

    private func adopt(
        _ photo: PhotoRecord, _ said: SidecarStatement?, _ missing: Set<Int64>, _ time: FileTime,
        _ db: any CatalogueTransaction
    ) throws -> Adoption {
        let hash = photo.sha256
        if let row = try db.first(
            "SELECT id, sha256 FROM photo WHERE \(db.words.isAt())", [photo.library, photo.libraryPath])
        {
            let id: Int64 = try row.value("id")
            return try row.bytes("sha256") == photo.sha256 ? .known(id) : .differs(id)
        }
        if try db.value(Bool.self, "SELECT EXISTS (SELECT 1 FROM intent WHERE sha256 = ?)", [hash])
            == true
        {
            return .beingFiled
        }
        let comparison = photo.part.isSidecar ? "IS NOT DISTINCT FROM" : "IS DISTINCT FROM"
        let same = try db.rows(
            """
            SELECT id, library, library_path FROM photo
            WHERE sha256 = ? AND superseded_at IS NULL AND role \(comparison) 'sidecar'
            ORDER BY CASE WHEN library_path = ? THEN 0 ELSE 1 END, id
            """, [hash, photo.libraryPath])
        // A directory that was renamed keeps the names in it.
        let order = try same.map { row in (row, try row.path("library_path").name == photo.libraryPath.name) }
        for row in order.filter(\.1).map(\.0) + order.filter({ !$0.1 }).map(\.0) {
            let id: Int64 = try row.value("id")
            let path = try row.path("library_path")
            let isUnderWay = "SELECT EXISTS (SELECT 1 FROM request WHERE \(Self.isUnderWay("?", db)))"
            if try db.value(Bool.self, isUnderWay, [id]) == true { return .beingFiled }
            // One that was moved to a bucket is back, in the library.
            let isBack =
                try photo.library.isAbsolute && !row.path("library").isAbsolute
                && (!photo.part.isSidecar
                    || Self.isBack(photo.libraryPath, from: path, beside: photosOfSet(id, in: photo.library, db)))
            guard missing.contains(id) || isBack else {
                // Two photos may have sidecars of the same bytes.
                if photo.part.isSidecar { continue }
                return .sameContent(as: id, path: path)
            }
            try db.run(
                "UPDATE photo SET library = ?, library_path = ? WHERE id = ?", [photo.library, photo.libraryPath, id])
            return .moved(id, from: path)
        }
        // The record was struck when its file was missing. Now that the file is back, so is the record.
        if said?.isPlain != true, let id = try struck(photo, db) {
            try db.run("UPDATE photo SET superseded_at = NULL WHERE id = ?", [id])
            return .adopted(id)
        }
        if let said {
            guard try isSidecar(photo.libraryPath, in: photo.library, said, db) else { return .ofAnother }
            try restore(said, db)
            return .restored
        }
        let id = try insert(photo, filedAt: time, db).photo
        try bindAdopted(id, photo, db)
        return .adopted(id)
    }

    /// Returns the paths of those photos of a sidecar's set that are in `library`.
    private func photosOfSet(
        _ sidecar: Int64, in library: BytePath, _ db: any CatalogueTransaction
    ) throws -> [BytePath] {
        try db.rows(
            """
            SELECT library_path FROM photo WHERE set_id = (SELECT set_id FROM photo WHERE id = ?) AND library = ?
                AND superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar'
            """, [sidecar, library]
        ).map { try $0.path("library_path") }
    }

    /// Whether the record of this file was struck, so that ``adopt(_:missing:sidecars:at:)`` restores it.
    package func isStruck(_ photo: PhotoRecord) throws(CatalogueError) -> Bool {
        try read("looking for a record that was struck") { db in try struck(photo, db) != nil }
    }

    /// The row of this file whose record was struck.
    func struck(_ photo: PhotoRecord, _ db: any CatalogueTransaction) throws -> Int64? {
        try db.value(
            Int64.self,
            """
            SELECT id FROM photo WHERE sha256 = ? AND library = ? AND library_path = ? AND superseded_at IS NOT NULL
            AND superseded_by IS NULL AND undone_by IS NULL ORDER BY id DESC LIMIT 1
            """, [photo.sha256, photo.library, photo.libraryPath])
    }

    /// Joins the files of one directory and stem to a set, unless they all have the same role.
    func bindAdopted(_ id: Int64, _ photo: PhotoRecord, _ db: any CatalogueTransaction) throws {
        guard let key = photo.part.key else { return }
        let rows = try db.rows(
            """
            SELECT id, coalesce(set_id, id) AS number, role FROM photo
            WHERE inbox = ? AND set_key = ? AND library = ? AND superseded_at IS NULL ORDER BY id
            """, [photo.inbox, key, photo.library])
        let roles = Set(try rows.map { try $0.optional("role") as String? })
        guard roles.count > 1, let number = try rows.map({ try $0.value("number") as Int64 }).min() else { return }
        for row in rows {
            try db.run("UPDATE photo SET set_id = ? WHERE id = ?", [number, try row.value("id") as Int64])
        }
    }

    /// Returns photos with identifiers above `id`, in order. Paging this way misses no photo that stays in the
    /// catalogue.
    package func photos(after id: Int64, limit: Int) throws(CatalogueError) -> [StoredPhoto] {
        try read("reading photos") { db in
            try db.rows(
                "SELECT \(StoredPhoto.columns) FROM photo WHERE id > ? AND superseded_at IS NULL ORDER BY id LIMIT ?",
                [id, limit]
            ).map { try StoredPhoto($0) }
        }
    }

    /// Counts the photos with identifiers above `id`, and their bytes.
    package func totals(after id: Int64 = 0) throws(CatalogueError) -> (photos: Int, bytes: UInt64) {
        try read("counting photos") { db in
            let row = try db.first(
                """
                SELECT count(*) AS n, CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes FROM photo
                WHERE id > ? AND superseded_at IS NULL
                """, [id])
            let bytes: Int64 = try row?.value("bytes") ?? 0
            return (try row?.value("n") ?? 0, UInt64(clamping: bytes))
        }
    }

    /// Returns the directory of every library that has a recorded photo.
    package func libraries() throws(CatalogueError) -> [BytePath] {
        try read("reading which libraries there are") { db in
            try db.rows("SELECT DISTINCT library FROM photo WHERE superseded_at IS NULL ORDER BY 1")
                .map { try $0.path("library") }
        }.filter(\.isAbsolute)
    }

    /// Strikes the records of photos whose files are missing, so that the same content may be filed again. Their rows
    /// stay as history; ``adopt(_:missing:at:)`` restores a row when its file is back.
    package func strike(_ photos: some Sequence<Int64>, at time: FileTime) throws(CatalogueError) {
        try write("striking photos that are missing") { db in
            for id in photos {
                // What a request is moving is not missing.
                try db.run(
                    """
                    UPDATE photo SET superseded_at = ? WHERE id = ? AND superseded_at IS NULL
                        AND NOT EXISTS (SELECT 1 FROM request WHERE \(Self.isUnderWay("photo.id", db)))
                    """, [time.nanosecondsSince1970, id])
            }
        }
    }

    /// Copies from another, closed catalogue what the library cannot supply: titles, keywords, ratings and places of
    /// photos, and the identities of its directories. Of titles and the like the other's win, since the existing ones are
    /// those of sidecars, which count as written by this catalogue only if the other has written them. Returns the number
    /// of photos.
    package func copyDescriptions(from other: BytePath) throws(CatalogueError) -> Int {
        let operation = "taking titles and keywords over"
        do {
            return try database(operation).copyDescriptions(from: String(decoding: other.bytes, as: UTF8.self))
        } catch { throw CatalogueError(error, operation) }
    }

    // MARK: - Tasks to finish before anything is filed

    /// Records that the library's photos must be adopted, because the previous catalogue was lost.
    package func beginRebuilding(at time: FileTime, from aside: String? = nil) throws(CatalogueError) {
        try write("recording that the catalogue is made anew") { db in
            try Self.beginRebuilding(at: time, db)
            guard let aside else { return }
            try db.run("INSERT INTO pending_task (name, since) VALUES (?, 0)", [Self.asideTask + aside])
        }
    }

    private static let asideTask = "aside "

    /// The damaged catalogue that this one is made anew instead of; nil if there is none, or it is known no longer.
    package func setAsidePath() throws(CatalogueError) -> String? {
        try read("reading what is to be finished") { db in
            try db.value(String.self, "SELECT name FROM pending_task WHERE substr(name, 1, 6) = ?", [Self.asideTask])
        }.map { String($0.dropFirst(Self.asideTask.count)) }
    }

    static func beginRebuilding(at time: FileTime, _ db: any CatalogueTransaction) throws {
        try db.run(
            "INSERT INTO pending_task (name, since) VALUES ('rebuild', ?) ON CONFLICT (name) DO NOTHING",
            [time.nanosecondsSince1970])
    }

    /// Whether ``beginRebuilding(at:)`` was called without ``endRebuilding()``.
    package func isRebuilding() throws(CatalogueError) -> Bool {
        try read("reading what is to be finished") { db in
            try db.value(Bool.self, "SELECT EXISTS (SELECT 1 FROM pending_task WHERE name = 'rebuild')") ?? false
        }
    }

    /// Whether the library had photos when none was recorded, so that some may still be unrecorded.
    package func isIncomplete() throws(CatalogueError) -> Bool {
        try read("reading what is to be finished") { db in
            try db.value(Bool.self, "SELECT EXISTS (SELECT 1 FROM pending_task WHERE name = 'adopt')") ?? false
        }
    }

    /// Sets ``isIncomplete()``.
    package func setIncomplete(_ isIncomplete: Bool, at time: FileTime) throws(CatalogueError) {
        try write("recording whether the catalogue has the library's photos") { db in
            try db.run(
                isIncomplete
                    ? "INSERT INTO pending_task (name, since) VALUES ('adopt', ?) ON CONFLICT (name) DO NOTHING"
                    : "DELETE FROM pending_task WHERE name = 'adopt' AND since <= ?", [time.nanosecondsSince1970])
        }
    }

    /// Records that all of the library's photos are in the catalogue.
    package func endRebuilding() throws(CatalogueError) {
        try write("recording that the catalogue is whole") { db in
            try db.run(
                "DELETE FROM pending_task WHERE name IN ('rebuild', 'adopt') OR substr(name, 1, 6) = ?",
                [Self.asideTask])
        }
    }
}
