package import FileValues

/// The identity of a library, or of a place beside it, when something was last put into it.
package struct KnownLibrary: Hashable, Sendable {
    /// As configured.
    package let path: BytePath
    /// `f_type` of its file system; see statfs(2).
    package let fileSystemType: Int64
    /// The file system's identity independent of its mount, from its UUID; 0 if it has none.
    package let fileSystem: UInt64
    /// The directory's inode.
    package let inode: UInt64

    package init(path: BytePath, fileSystemType: Int64, fileSystem: UInt64, inode: UInt64) {
        self.path = path
        self.fileSystemType = fileSystemType
        self.fileSystem = fileSystem
        self.inode = inode
    }
}

extension CatalogueFile {
    /// Returns the recorded identity of the library at `path`; nil before anything was filed into it.
    package func library(at path: BytePath) throws(CatalogueError) -> KnownLibrary? {
        try read("reading what the library is") { db in
            try db.first("SELECT * FROM library WHERE \(db.words.isKey("path"))\(db.words.own.isHost)", [path]).map {
                row in
                KnownLibrary(
                    path: path, fileSystemType: try row.value("file_system_type"),
                    fileSystem: try row.unsigned("file_system"), inode: try row.unsigned("inode"))
            }
        }
    }

    /// Returns the paths of all libraries, and of places beside or within them, whose identity is recorded.
    package func knownPlaces() throws(CatalogueError) -> [BytePath] {
        try read("reading what places are") { db in
            try db.rows("SELECT path FROM library WHERE 1 = 1\(db.words.own.isHost)").map { try $0.path("path") }
        }
    }

    /// Records the identity of a library, replacing the earlier one. With `isAccepted`, a person accepted a directory
    /// that lacks the recorded photos, so these no longer identify the library.
    package func remember(
        _ library: KnownLibrary, at time: FileTime, isAccepted: Bool = false
    ) throws(CatalogueError) {
        try write("recording what the library is") { db in
            let last = isAccepted ? try db.value(Int64.self, "SELECT max(id) FROM photo") ?? 0 : 0
            try db.run(
                """
                INSERT INTO library (path, file_system_type, file_system, inode, since, accepted_after)
                VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (\(db.words.own.key(db.words.key("path")))) DO UPDATE SET
                    file_system_type = excluded.file_system_type, file_system = excluded.file_system,
                    inode = excluded.inode, since = excluded.since,
                    accepted_after = CASE WHEN excluded.accepted_after > library.accepted_after
                        THEN excluded.accepted_after ELSE library.accepted_after END
                """,
                [
                    library.path, library.fileSystemType, Int64(bitPattern: library.fileSystem),
                    Int64(bitPattern: library.inode), time.nanosecondsSince1970, last,
                ])
        }
    }

    /// Whether a person accepted a directory without the recorded photos as the library at `path`.
    package func wasAccepted(at path: BytePath) throws(CatalogueError) -> Bool {
        try read("reading what the library is") { db in
            try db.value(
                Bool.self,
                "SELECT accepted_after > 0 FROM library WHERE \(db.words.isKey("path"))\(db.words.own.isHost)", [path])
                ?? false
        }
    }

    /// Counts the photos recorded in each library, and in each bucket.
    package func photosByLibrary() throws(CatalogueError) -> [BytePath: Int] {
        try read("counting the photos of each library") { db in
            let rows = try db.rows(
                "SELECT library, count(*) AS n FROM photo WHERE superseded_at IS NULL GROUP BY library")
            return Dictionary(try rows.map { (try $0.path("library"), try $0.value("n")) }) { $0 + $1 }
        }
    }

    /// Deletes the recorded identity of the directory at `path`.
    package func forgetLibrary(at path: BytePath) throws(CatalogueError) {
        try write("forgetting what a place is") { db in
            try db.run("DELETE FROM library WHERE \(db.words.isKey("path"))\(db.words.own.isHost)", [path])
        }
    }

    /// Returns the photos last filed into the library at `path` since it was accepted, newest first, but for those that a
    /// request is taking back out of it, or whose content is being filed again.
    package func lastFiled(into path: BytePath, limit: Int) throws(CatalogueError) -> [StoredPhoto] {
        try read("reading photos") { db in
            try db.rows(
                """
                SELECT * FROM photo WHERE library = ?1 AND superseded_at IS NULL
                AND id > coalesce((SELECT accepted_after FROM library WHERE \(db.words.isKey("path", "?1"))\(db.words.own.isHost)), 0)
                AND NOT EXISTS (SELECT 1 FROM request WHERE photo_id = photo.id AND step = 'begun')
                AND NOT EXISTS (SELECT 1 FROM intent WHERE intent.sha256 = photo.sha256 AND step <> 'recorded')
                ORDER BY id DESC LIMIT ?2
                """, [path, limit]
            ).map { try StoredPhoto($0) }
        }
    }
}
