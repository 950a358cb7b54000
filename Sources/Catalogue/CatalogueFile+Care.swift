package import FileValues
import Foundation
import GRDB
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
            try photos.map { try adopt($0, sidecars[$0.libraryPath], missing, time, db) }
        }
    }

    private func adopt(
        _ photo: PhotoRecord, _ said: SidecarStatement?, _ missing: Set<Int64>, _ time: FileTime, _ db: Database
    ) throws -> Adoption {
        let hash = Data(photo.sha256)
        if let row = try Row.fetchOne(
            db, sql: "SELECT id, sha256 FROM photo WHERE library = ? AND library_path = ? AND superseded_at IS NULL",
            arguments: [photo.library.data, photo.libraryPath.data])
        {
            let id: Int64 = try row.value("id")
            return try row.bytes("sha256") == photo.sha256 ? .known(id) : .differs(id)
        }
        if try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM intent WHERE sha256 = ?)", arguments: [hash])
            == true
        {
            return .beingFiled
        }
        let same = try Row.fetchAll(
            db,
            sql: """
                SELECT id, library_path FROM photo
                WHERE sha256 = ? AND superseded_at IS NULL AND (role IS 'sidecar') = ? ORDER BY id
                """,
            arguments: [hash, photo.part.isSidecar])
        for row in same {
            let id: Int64 = try row.value("id")
            let path = try row.path("library_path")
            guard missing.contains(id) else {
                // Two photos may have sidecars of the same bytes.
                if photo.part.isSidecar { continue }
                return .sameContent(as: id, path: path)
            }
            try db.execute(
                sql: "UPDATE photo SET library = ?, library_path = ? WHERE id = ?",
                arguments: [photo.library.data, photo.libraryPath.data, id])
            return .moved(id, from: path)
        }
        // The record was struck when its file was missing. Now that the file is back, so is the record.
        if said?.isPlain != true, let id = try struck(photo, db) {
            try db.execute(sql: "UPDATE photo SET superseded_at = NULL WHERE id = ?", arguments: [id])
            return .adopted(id)
        }
        if let said {
            guard try isSidecar(photo.libraryPath, in: photo.library, said, db) else { return .ofAnother }
            try restore(said, db)
            return .restored
        }
        var columns = photo.columns
        columns["filed_at"] = time.nanosecondsSince1970
        columns["source_kept"] = false
        let id = try insert(columns, into: "photo", db)
        let outcome = OutcomeRecord(
            at: time, inbox: photo.inbox, path: photo.sourcePath, outcome: .filed, reason: photo.proof,
            sha256: photo.sha256, photoID: id, destination: photo.libraryPath)
        _ = try insert(outcome.columns, into: "outcome", db)
        try bindAdopted(id, photo, db)
        return .adopted(id)
    }

    /// Whether the record of this file was struck, so that ``adopt(_:missing:sidecars:at:)`` restores it.
    package func isStruck(_ photo: PhotoRecord) throws(CatalogueError) -> Bool {
        try read("looking for a record that was struck") { db in try struck(photo, db) != nil }
    }

    private func struck(_ photo: PhotoRecord, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(
            db,
            sql: """
                SELECT id FROM photo WHERE sha256 = ? AND library = ? AND library_path = ? AND superseded_at IS NOT NULL
                AND superseded_by IS NULL AND undone_by IS NULL ORDER BY id DESC LIMIT 1
                """, arguments: [Data(photo.sha256), photo.library.data, photo.libraryPath.data])
    }

    /// Joins the files of one directory and stem to a set, unless they all have the same role.
    private func bindAdopted(_ id: Int64, _ photo: PhotoRecord, _ db: Database) throws {
        guard let key = photo.part.key else { return }
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT id, coalesce(set_id, id) AS number, role FROM photo
                WHERE inbox = ? AND set_key = ? AND library = ? AND superseded_at IS NULL ORDER BY id
                """,
            arguments: [photo.inbox, Data(key), photo.library.data])
        let roles = Set(try rows.map { try $0.optional("role") as String? })
        guard roles.count > 1, let number = try rows.map({ try $0.value("number") as Int64 }).min() else { return }
        for row in rows {
            try db.execute(
                sql: "UPDATE photo SET set_id = ? WHERE id = ?", arguments: [number, try row.value("id") as Int64])
        }
    }

    /// Returns photos with identifiers above `id`, in order. Paging this way misses no photo that stays in the
    /// catalogue.
    package func photos(after id: Int64, limit: Int) throws(CatalogueError) -> [StoredPhoto] {
        try read("reading photos") { db in
            try Row.fetchAll(
                db,
                sql:
                    "SELECT \(StoredPhoto.columns) FROM photo WHERE id > ? AND superseded_at IS NULL ORDER BY id LIMIT ?",
                arguments: [id, limit]
            ).map { try StoredPhoto($0) }
        }
    }

    /// Counts the photos with identifiers above `id`, and their bytes.
    package func totals(after id: Int64 = 0) throws(CatalogueError) -> (photos: Int, bytes: UInt64) {
        try read("counting photos") { db in
            let row = try Row.fetchOne(
                db,
                sql: "SELECT count(*) AS n, total(size) AS bytes FROM photo WHERE id > ? AND superseded_at IS NULL",
                arguments: [id])
            let bytes: Double = try row?.value("bytes") ?? 0
            return (try row?.value("n") ?? 0, UInt64(max(0, bytes)))
        }
    }

    /// Returns every library that has a recorded photo.
    package func libraries() throws(CatalogueError) -> [BytePath] {
        try read("reading which libraries there are") { db in
            try Row.fetchAll(db, sql: "SELECT DISTINCT library FROM photo WHERE superseded_at IS NULL ORDER BY 1")
                .map { try $0.path("library") }
        }
    }

    /// Strikes the records of photos whose files are missing, so that the same content may be filed again. Their rows
    /// stay as history; ``adopt(_:missing:at:)`` restores a row when its file is back.
    package func strike(_ photos: some Sequence<Int64>, at time: FileTime) throws(CatalogueError) {
        try write("striking photos that are missing") { db in
            for id in photos {
                try db.execute(
                    sql: "UPDATE photo SET superseded_at = ? WHERE id = ? AND superseded_at IS NULL",
                    arguments: [time.nanosecondsSince1970, id])
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
            return try writeWithoutTransaction { db in
                try db.execute(
                    sql: "ATTACH DATABASE ? AS old", arguments: [String(decoding: other.bytes, as: UTF8.self)])
                defer { try? db.execute(sql: "DETACH DATABASE old") }
                // Catalogues of older versions have no such table. `accepted_after` is not copied, since it is a
                // photo's number in the other catalogue.
                try? db.execute(
                    sql: """
                        INSERT OR IGNORE INTO library (path, file_system_type, file_system, inode, since)
                        SELECT path, file_system_type, file_system, inode, since FROM old.library
                        """)
                var count = 0
                try db.inTransaction(.deferred) {
                    try db.execute(
                        sql: """
                            INSERT INTO description (sha256, title, keywords, rating, taken, place)
                            SELECT sha256, title, keywords, rating, taken, place FROM old.description WHERE true
                            ON CONFLICT (sha256) DO UPDATE SET
                                title = coalesce(excluded.title, title), keywords = coalesce(excluded.keywords, keywords),
                                rating = coalesce(excluded.rating, rating), taken = coalesce(excluded.taken, taken),
                                place = coalesce(excluded.place, place)
                            """)
                    count = db.changesCount
                    // Those that say the same count as this catalogue's again when they are looked at.
                    try db.execute(sql: "UPDATE main.sidecar SET said = NULL")
                    return .commit
                }
                // By itself, since more of the other one may be damaged; an older one has no such table.
                try? db.execute(
                    sql: """
                        UPDATE main.sidecar SET said = (
                            SELECT said FROM old.sidecar JOIN old.photo AS theirs ON theirs.id = photo_id
                            WHERE said IS NOT NULL AND theirs.sha256 = mine.sha256
                            ORDER BY superseded_at IS NULL DESC, theirs.id DESC LIMIT 1)
                        FROM main.photo AS mine WHERE mine.id = main.sidecar.photo_id
                        """)
                return count
            }
        } catch { throw CatalogueError(error, operation) }
    }

    // MARK: - Tasks to finish before anything is filed

    /// Records that the library's photos must be adopted, because the previous catalogue was lost.
    package func beginRebuilding(at time: FileTime) throws(CatalogueError) {
        try write("recording that the catalogue is made anew") { db in
            try db.execute(
                sql: "INSERT OR IGNORE INTO pending_task (name, since) VALUES ('rebuild', ?)",
                arguments: [time.nanosecondsSince1970])
        }
    }

    /// Whether ``beginRebuilding(at:)`` was called without ``endRebuilding()``.
    package func isRebuilding() throws(CatalogueError) -> Bool {
        try read("reading what is to be finished") { db in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM pending_task WHERE name = 'rebuild')") ?? false
        }
    }

    /// Whether the library had photos when none was recorded, so that some may still be unrecorded.
    package func isIncomplete() throws(CatalogueError) -> Bool {
        try read("reading what is to be finished") { db in
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM pending_task WHERE name = 'adopt')") ?? false
        }
    }

    /// Sets ``isIncomplete()``.
    package func setIncomplete(_ isIncomplete: Bool, at time: FileTime) throws(CatalogueError) {
        try write("recording whether the catalogue has the library's photos") { db in
            try db.execute(
                sql: isIncomplete
                    ? "INSERT OR IGNORE INTO pending_task (name, since) VALUES ('adopt', :now)"
                    : "DELETE FROM pending_task WHERE name = 'adopt' AND since <= :now",
                arguments: ["now": time.nanosecondsSince1970])
        }
    }

    /// Records that all of the library's photos are in the catalogue.
    package func endRebuilding() throws(CatalogueError) {
        try write("recording that the catalogue is whole") { db in
            try db.execute(sql: "DELETE FROM pending_task WHERE name IN ('rebuild', 'adopt')")
        }
    }
}
