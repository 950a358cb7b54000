import FileValues
import PhotoModel

/// What a catalogue has of a set that has photos in buckets; a photo alone is a set, too.
private struct MovedSet {
    struct Member {
        let stored: StoredPhoto
        /// What is recorded of one in a bucket, by table.
        let rows: [(table: String, row: SQLRow)]
    }

    /// Sidecars last.
    let members: [Member]
}

extension CatalogueFile {
    /// The condition on photos in buckets; the argument is ``notInBucket``.
    static func isInBucket(_ photo: String = "photo") -> String {
        "\(photo).superseded_at IS NULL AND substr(\(photo).library, 1, 1) <> ?"
    }

    /// How the path of a library begins.
    static let notInBucket: BytePath = "/"

    /// Records what another catalogue has of photos in buckets, since no library shows them: their rows with the sets that they
    /// were in, their metadata, and who moved them. Call it when the library's photos are recorded: what came back into the
    /// library is not recorded once more, and what was left of a set there joins it again. It may be repeated.
    ///
    /// Returns why some of that could not be read; nil if all was.
    package func keepMoved(of old: CatalogueFile) throws(CatalogueError) -> CatalogueError? {
        try old.salvage { ids throws(CatalogueError) in
            try old.movedSets(ids)
        } keep: { sets throws(CatalogueError) in
            if sets.isEmpty { return }
            try write("recording photos that are in buckets") { db in
                for set in sets { try self.keep(set, of: old, db) }
            }
        }
    }

    /// The same, of the damaged file that was set aside. Returns nil if there was none.
    package func keepMovedOfSetAside() throws(CatalogueError) -> CatalogueError? {
        guard let path = try setAsidePath() else { return nil }
        let old: CatalogueFile
        do throws(CatalogueError) { old = try Self.openForReading(path) } catch { return error }
        defer { old.close() }
        return try keepMoved(of: old)
    }

    /// Returns the sets whose first photo in a bucket is one of `ids`.
    private func movedSets(_ ids: ClosedRange<Int64>) throws(CatalogueError) -> [MovedSet] {
        try read("reading which photos are in buckets") { db in
            let found = try db.rows(
                """
                SELECT \(StoredPhoto.columns) FROM photo WHERE id BETWEEN ? AND ? AND \(Self.isInBucket())
                    AND NOT EXISTS (SELECT 1 FROM photo AS other
                        WHERE other.set_id = photo.set_id AND other.id < photo.id AND \(Self.isInBucket("other")))
                ORDER BY id
                """, [ids.lowerBound, ids.upperBound, Self.notInBucket, Self.notInBucket]
            ).map { try StoredPhoto($0) }
            return try found.map { first in
                guard let set = first.setID else { return MovedSet(members: [try Self.member(first, db)]) }
                let members = try db.rows(
                    """
                    SELECT \(StoredPhoto.columns) FROM photo WHERE set_id = ? AND superseded_at IS NULL
                    ORDER BY role IS NOT DISTINCT FROM 'sidecar', id
                    """, [set]
                ).map { try StoredPhoto($0) }
                return MovedSet(members: try members.map { try Self.member($0, db) })
            }
        }
    }

    private static func member(_ stored: StoredPhoto, _ db: any CatalogueTransaction) throws -> MovedSet.Member {
        guard stored.photo.sha256.count == 32 else { throw UnreadableRow(column: "sha256") }
        guard stored.photo.isInBucket else { return MovedSet.Member(stored: stored, rows: []) }
        let conditions = [
            ("metadata", ""), ("rendition", " ORDER BY kind"),
            ("request", " AND what = 'store' AND step = 'done' ORDER BY id"),
        ]
        let rows = try conditions.flatMap { table, condition in
            try db.rows("SELECT * FROM \(table) WHERE photo_id = ?\(condition)", [stored.id])
                .map { (table: table, row: $0) }
        }
        return MovedSet.Member(stored: stored, rows: rows)
    }

    private func keep(_ set: MovedSet, of old: CatalogueFile, _ db: any CatalogueTransaction) throws {
        var ids: [Int64] = []
        for member in set.members {
            if let id = try row(of: member.stored.photo, beside: ids, db) ?? insert(member, db) { ids.append(id) }
        }
        guard ids.count > 1 else { return }
        func list() -> String { ids.map(String.init).joined(separator: ", ") }
        // In the library those are a set whose names are alike there. None that is in a bucket is in another set.
        guard
            let number = try db.value(
                Int64.self, "SELECT min(id) FROM photo WHERE id IN (\(list())) AND \(Self.isInBucket())",
                [Self.notInBucket])
        else { return }
        let others = try db.rows(
            """
            SELECT \(StoredPhoto.columns) FROM photo WHERE superseded_at IS NULL AND id NOT IN (\(list()))
                AND set_id IN (SELECT set_id FROM photo WHERE id IN (\(list())))
            """
        ).map { try StoredPhoto($0) }
        // What the old catalogue did not have stays with them, unless it may belong to what was in no set with them.
        let areNew = others.allSatisfy { other in
            let known = Result { try old.photo(library: other.photo.library, path: other.photo.libraryPath) }
            if case .success(nil) = known { return true }
            return false
        }
        if areNew { ids += others.map(\.id) }
        // One by one: within a statement the engines run triggers at different times.
        for id in ids { try db.run("UPDATE photo SET set_id = ? WHERE id = ?", [number, id]) }
    }

    /// Returns the row that this catalogue has of a photo of another one; `set` are those of its set that were found before.
    private func row(of photo: PhotoRecord, beside set: [Int64], _ db: any CatalogueTransaction) throws -> Int64? {
        let there = try db.first(
            "SELECT id, sha256 FROM photo WHERE \(db.words.isAt())", [photo.library, photo.libraryPath])
        if let there, try there.bytes("sha256") == photo.sha256 { return try there.value("id") }
        guard photo.part.isSidecar else {
            return try db.value(Int64.self, "SELECT id FROM photo WHERE \(Self.isRecorded)", [photo.sha256])
        }
        guard photo.isInBucket, !set.isEmpty else { return nil }
        let list = set.map(String.init).joined(separator: ", ")
        let same = try db.rows(
            """
            SELECT id, library, library_path FROM photo WHERE sha256 = ? AND role = 'sidecar' AND superseded_at IS NULL
                AND id NOT IN (\(list)) ORDER BY CASE WHEN library_path = ? THEN 0 ELSE 1 END, id
            """, [photo.sha256, photo.libraryPath])
        for row in same where try row.path("library").isAbsolute {
            let photos = try db.rows(
                """
                SELECT library_path FROM photo WHERE id IN (\(list)) AND library = ?
                    AND role IS DISTINCT FROM 'sidecar'
                """, [try row.path("library")]
            ).map { try $0.path("library_path") }
            if Self.isBack(try row.path("library_path"), from: photo.libraryPath, beside: photos) {
                return try row.value("id")
            }
        }
        return nil
    }

    /// Whether a sidecar of a library, with the bytes of one that is in a bucket, is that one. `photos` are those of its set that
    /// are in the library. Others may have sidecars with the same bytes.
    static func isBack(_ path: BytePath, from old: BytePath, beside photos: [BytePath]) -> Bool {
        if path == old { return !photos.isEmpty }
        let name = SetName(path)
        return photos.contains { photo in
            guard photo.parent == path.parent else { return false }
            return path.name == old.name
                || name.belongs(to: photo.name) && !Set(name.keys).isDisjoint(with: SetName(photo).keys)
        }
    }

    /// Returns the new row; nil if the photo is in a library, which does not have it any more, or another has its place.
    private func insert(_ member: MovedSet.Member, _ db: any CatalogueTransaction) throws -> Int64? {
        let photo = member.stored.photo
        let place: SQLArguments = [photo.library, photo.libraryPath]
        guard photo.isInBucket, try db.first("SELECT id FROM photo WHERE \(db.words.isAt())", place) == nil else {
            return nil
        }
        let ids = try insert(photo, filedAt: member.stored.filedAt, db)
        for (table, row) in member.rows {
            var columns: Columns = [:]
            for (name, value) in zip(row.columns.names, row.values) where name != "id" { columns[name] = value }
            columns["photo_id"] = ids.photo
            if let known = row["outcome_id"], known != .null { columns["outcome_id"] = ids.outcome }
            let sorted = columns.sorted { $0.key < $1.key }
            try db.run(
                "INSERT INTO \(table) (\(columnNames(sorted))) VALUES (\(columnMarks(sorted)))", sorted.map(\.value))
        }
        return ids.photo
    }
}
