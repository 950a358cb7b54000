package import FileValues
import PhotoModel

/// A photo whose sidecar is to be written.
package struct DueSidecar: Sendable {
    package let stored: StoredPhoto
    /// Raised whenever it becomes due again.
    let turn: Int64
    let said: Statements

    /// Whether this catalogue has written the statement with this SHA-256.
    package func hasSaid(_ hash: [UInt8]) -> Bool { said.hashes.contains(hash) }

    /// The SHA-256 of the statements that this catalogue has written, the last one first, and of those that it was about to
    /// write since, of which an interruption may have left one. The last one, and seven others: another program may have
    /// read one, and write it again later.
    struct Statements: Hashable, Sendable {
        private(set) var hashes: [[UInt8]]

        private static let most = 8

        init(_ bytes: [UInt8]) {
            hashes = stride(from: 0, to: bytes.count, by: 32).map { Array(bytes[$0...].prefix(32)) }
        }

        var bytes: [UInt8] { Array(hashes.joined()) }

        mutating func wrote(_ hash: [UInt8]) {
            hashes = Array(([hash] + hashes.filter { $0 != hash }).prefix(Self.most))
        }

        /// What it is about to write comes second: the last one that was written is still known.
        mutating func expect(_ hash: [UInt8]) {
            hashes = Array((hashes.prefix(1) + [hash] + hashes.dropFirst()).prefix(Self.most))
        }
    }
}

/// The SHA-256 of the statement that a photo's sidecar has now, if it is this catalogue's, or why it was left, and whether
/// only until later.
package typealias SidecarOutcome = (sidecar: DueSidecar, said: [UInt8]?, reason: String?, isLater: Bool)

/// Which sidecars of a library become due again.
package enum SidecarRenewal: Hashable, Sendable {
    case all
    /// Those that were left. The daemon of the library begins so: those of other libraries are not looked for in vain until
    /// theirs is configured again.
    case left
    /// Those that were left until later.
    case later
}

/// What a sidecar says of the photo with this content.
package struct SidecarStatement {
    let sha256: [UInt8]
    let description: PhotoDescription
    /// The SHA-256 of all that it says; nil if a part of that is not in ``description``.
    let hash: [UInt8]?
    /// Whether it has the mark of the library that it is in.
    let isOwn: Bool
    /// Whether a file with this content is beside it.
    let isBesidePhoto: Bool
    /// Whether the file is all as this program writes it, so that it may have the bytes of one that was filed once.
    package let isPlain: Bool

    package init(
        sha256: [UInt8], _ description: PhotoDescription = PhotoDescription(), hash: [UInt8]? = nil, isOwn: Bool,
        isBesidePhoto: Bool = false, isPlain: Bool = false
    ) {
        (self.sha256, self.description, self.hash) = (sha256, description, hash)
        (self.isOwn, self.isBesidePhoto, self.isPlain) = (isOwn, isBesidePhoto, isPlain)
    }
}

extension CatalogueFile {
    /// Returns photos of `library` with identifiers above `id` whose sidecars are to be written, in order; none while the
    /// catalogue is made anew, since it does not know yet what was filed.
    package func sidecarsToWrite(
        in library: BytePath, after id: Int64, limit: Int
    ) throws(CatalogueError) -> [DueSidecar] {
        try read("reading whose sidecars are to be written") { db in
            try db.rows(
                """
                SELECT \(StoredPhoto.columns) FROM sidecar CROSS JOIN photo
                WHERE photo.id = photo_id AND photo_id > ? AND library = ? AND \(db.words.isSet("is_due"))
                    \(db.words.own.cares("photo.inbox")) AND NOT EXISTS (SELECT 1 FROM pending_task WHERE name = 'rebuild') ORDER BY photo_id LIMIT ?
                """, [id, library, limit]
            ).map { row in
                DueSidecar(
                    stored: try StoredPhoto(row), turn: try row.value("turn"),
                    said: DueSidecar.Statements(try row.bytes("said") ?? []))
            }
        }
    }

    /// Makes sidecars of a library due.
    package func renewSidecars(in library: BytePath, _ which: SidecarRenewal) throws(CatalogueError) {
        let isChosen =
            switch which {
            case .all: "1 = 1"
            case .left: "(reason IS NOT NULL OR is_later = 1)"
            case .later: words.isSet("is_later")
            }
        try write("recording that sidecars are to be looked at again") { db in
            try db.run(
                """
                UPDATE sidecar SET turn = turn + 1, is_due = 1, is_later = 0, reason = NULL
                WHERE \(isChosen) AND EXISTS (SELECT 1 FROM photo WHERE id = photo_id AND library = ?)
                """, [library])
            if which != .left { return }
            try db.run(
                """
                UPDATE sidecar SET is_due = 0, is_later = 1
                WHERE \(db.words.isSet("is_due")) AND EXISTS (SELECT 1 FROM photo WHERE id = photo_id AND library <> ?)
                """, [library])
        }
    }

    /// Records what is about to be written, by its SHA-256, so that it counts as this catalogue's after an interruption.
    package func expect(_ statements: [(sidecar: DueSidecar, hash: [UInt8])]) throws(CatalogueError) {
        let new = statements.filter { !$0.sidecar.hasSaid($0.hash) }
        if new.isEmpty { return }
        try write("recording which sidecars are about to be written") { db in
            for (sidecar, hash) in new {
                var said = sidecar.said
                said.expect(hash)
                try db.run("UPDATE sidecar SET said = ? WHERE photo_id = ?", [said.bytes, sidecar.stored.id])
            }
        }
    }

    /// Records the outcome of writing sidecars. What has become due again meanwhile stays due.
    package func record(_ outcomes: [SidecarOutcome]) throws(CatalogueError) {
        try write("recording which sidecars are written") { db in
            for (sidecar, said, reason, isLater) in outcomes {
                try db.run(
                    """
                    UPDATE sidecar SET reason = ?1, is_due = CASE WHEN turn = ?2 THEN 0 ELSE 1 END,
                        is_later = CASE WHEN turn = ?2 THEN ?3 ELSE 0 END
                    WHERE photo_id = ?4
                    """, [reason, sidecar.turn, isLater, sidecar.stored.id])
                guard let said else { continue }
                var all = sidecar.said
                all.wrote(said)
                try db.run("UPDATE sidecar SET said = ? WHERE photo_id = ?", [all.bytes, sidecar.stored.id])
            }
        }
    }

    /// Returns why the sidecar of a photo was left as it is; nil if it was not.
    package func sidecarRefusal(ofPhoto id: Int64) throws(CatalogueError) -> String? {
        try read("reading why a sidecar was left") { db in
            try db.value(String.self, "SELECT reason FROM sidecar WHERE photo_id = ?", [id])
        }
    }

    /// Whether the file at this path of the library was filed or is being filed, or a file with this content ever was,
    /// wherever it is now. Such a file is never changed.
    package func isFiled(
        at path: BytePath, in library: BytePath, content sha256: [UInt8]? = nil
    ) throws(CatalogueError) -> Bool {
        try read("looking whether a file was filed") { db in
            try db.value(
                Bool.self,
                """
                SELECT EXISTS (SELECT 1 FROM photo WHERE \(db.words.isAt("?1", "?2")))
                    OR EXISTS (SELECT 1 FROM intent WHERE library = ?1 AND library_path = ?2)
                    OR EXISTS (SELECT 1 FROM photo WHERE sha256 = ?3)
                    OR EXISTS (SELECT 1 FROM intent WHERE sha256 = ?3)
                """, [library, path, sha256]) ?? true
        }
    }

    /// Whether a file that this program has written is the sidecar of a photo that is beside it.
    package func isSidecar(
        _ path: BytePath, in library: BytePath, _ said: SidecarStatement
    ) throws(CatalogueError) -> Bool {
        try read("looking for the photo of a sidecar") { db in try isSidecar(path, in: library, said, db) }
    }

    func isSidecar(_ path: BytePath, in library: BytePath, _ said: SidecarStatement, _ db: any CatalogueTransaction)
        throws -> Bool
    {
        if !said.isOwn || said.isBesidePhoto { return said.isOwn }
        return try db.rows(
            """
            SELECT library_path, format FROM photo
            WHERE sha256 = ? AND library = ? AND superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar'
            """, [said.sha256, library]
        ).contains { row in
            SidecarMetadata.names(of: try row.path("library_path"), format: try row.value("format")).contains(path)
        }
    }

    /// Adds what a sidecar says to what is recorded of its photo, which wins. If both say the same then, the sidecar counts
    /// as written by this catalogue.
    func restore(_ statement: SidecarStatement, _ db: any CatalogueTransaction) throws {
        let said = statement.description
        let columns: SQLArguments = [
            statement.sha256, said.title, said.keywords.isEmpty ? nil : said.keywords.joined(separator: "\n"),
            said.rating, said.taken, said.place,
        ]
        try db.run(
            """
            INSERT INTO description (sha256, title, keywords, rating, taken, place) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (sha256) DO UPDATE SET
                title = coalesce(description.title, excluded.title),
                keywords = coalesce(description.keywords, excluded.keywords),
                rating = coalesce(description.rating, excluded.rating),
                taken = coalesce(description.taken, excluded.taken),
                place = coalesce(description.place, excluded.place)
            """, columns)
        guard let hash = statement.hash else { return }
        try db.run(
            """
            UPDATE sidecar SET said = ?7
            WHERE said IS NULL AND photo_id IN (SELECT id FROM photo WHERE sha256 = ?1)
                AND EXISTS (SELECT 1 FROM description WHERE sha256 = ?1 AND (title, keywords, rating, taken, place)
                    IS NOT DISTINCT FROM (?2, ?3, ?4, ?5, ?6))
            """, columns + [hash])
    }
}
