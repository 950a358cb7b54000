package import FileValues
import FleetRules

/// A filing to commit.
package struct FilingCommit: Hashable, Sendable {
    /// The intent it completes.
    package var intent: Int64
    /// The row, with the photo's actual path.
    package var photo: PhotoRecord
    package var filedAt: FileTime
    /// The outcome's reason.
    package var reason: String
    /// Whether the source stays by policy. One that cannot be removed is recorded by
    /// ``CatalogueFile/closeIntents(_:kept:)``.
    package var keepsSource: Bool
    /// The photos whose missing or damaged copies this one replaces: first the one with its content, then the one at
    /// its path.
    package var supersedes: [Int64]

    package init(
        intent: Int64, photo: PhotoRecord, filedAt: FileTime, reason: String, keepsSource: Bool = false,
        supersedes: [Int64] = []
    ) {
        self.intent = intent
        self.photo = photo
        self.filedAt = filedAt
        self.reason = reason
        self.keepsSource = keepsSource
        self.supersedes = supersedes
    }
}

/// The identifiers of a committed filing.
package struct FiledIDs: Hashable, Sendable {
    package let photo: Int64
    /// The operation.
    package let outcome: Int64
}

extension CatalogueFile {
    /// Records an intent before the first byte is copied. Returns its identifier.
    package func beginIntent(
        token: String, temporary: BytePath, photo: PhotoRecord, since: FileTime, supersedes: Int64? = nil
    ) throws(CatalogueError) -> Int64 {
        try beginIntents([
            NewIntent(token: token, temporary: temporary, photo: photo, since: since, supersedes: supersedes)
        ])[0]
    }

    /// Records intents in one transaction. Returns their identifiers in the same order.
    ///
    /// Throws ``CatalogueError/Code/alreadyRecorded(photo:)`` or ``CatalogueError/Code/beingFiled(intent:)`` if another
    /// filing of the content ended or began since the caller checked, so that two inboxes never file one content twice.
    package func beginIntents(_ intents: [NewIntent]) throws(CatalogueError) -> [Int64] {
        try write("recording what is about to be filed") { db in try begin(intents, db) }
    }

    func begin(_ intents: [NewIntent], _ db: any CatalogueTransaction) throws -> [Int64] {
        try intents.map { intent in
            // Sidecars of different photos may have the same bytes.
            if intent.photo.part.isSidecar { try claimSidecar(intent, db) }
            if let old = intent.supersedes { try requireReplaceable(old, Self.beginning, db) }
            if !intent.photo.part.isSidecar { try claim(intent.photo.sha256, superseding: intent.supersedes, db) }
            let columns = intent.columns
            let id = try db.insert(columns, into: "intent")
            try note(intent, columns, db)
            if !intent.photo.part.isSidecar, db.words.own.mayMiss {
                try requireUnrecorded(intent.photo.sha256, superseding: intent.supersedes, db)
            }
            return id
        }
    }

    /// What it joins is known by its content: see ``BegunRow``.
    private func note(_ intent: NewIntent, _ columns: Columns, _ db: any CatalogueTransaction) throws {
        var columns = columns
        if let joined = intent.joins, db.words.own.mayMiss {
            columns[BegunRow.joined] = try db.value(
                [UInt8].self, "SELECT sha256 FROM photo WHERE id = ?", [joined])
        }
        db.note(BegunRow(.intent, columns))
    }

    /// Commits filings whose copies are durable under their final names: photos, outcomes and the intents' step, in one
    /// transaction. Sources may be removed only after this.
    ///
    /// Throws ``CatalogueError/Code/alreadyRecorded(photo:)`` or ``CatalogueError/Code/pathTaken(photo:)``, with
    /// nothing recorded, if a photo with the content or the path exists. Without `set`, each photo is alone.
    package func commitFilings(
        _ filings: [FilingCommit], set: SetPlace? = nil
    ) throws(CatalogueError) -> [FiledIDs] {
        try write("recording a filing") { db in try commit(filings, set, db) }
    }

    func commit(_ filings: [FilingCommit], _ set: SetPlace?, _ db: any CatalogueTransaction) throws -> [FiledIDs] {
        let ids = try filings.map { try commit($0, db) }
        let replaces = filings.contains { !$0.supersedes.isEmpty }
        try assign(ids.map(\.photo), to: set, replaces: replaces, db)
        for (filing, id) in zip(filings, ids) where filing.photo.part.isSidecar {
            try replaceMoved(by: filing, id.photo, db)
        }
        return ids
    }

    /// - Parameter replaces: whether a photo has the place of an older one, and so its set.
    private func assign(
        _ photos: [Int64], to set: SetPlace?, replaces: Bool, _ db: any CatalogueTransaction
    ) throws {
        let number: Int64
        switch set {
        case nil: return
        case .new:
            guard photos.count > 1, let first = photos.first else { return }
            guard replaces else {
                number = first
                break
            }
            // The rest of that set may be elsewhere, or come later.
            let list = photos.map(String.init).joined(separator: ", ")
            number =
                try db.value(Int64.self, "SELECT min(set_id) FROM photo WHERE id IN (\(list))") ?? first
            for photo in photos {
                try db.run("UPDATE photo SET set_id = coalesce(set_id, ?) WHERE id = ?", [number, photo])
            }
            return
        case .joining(let anchor):
            number =
                try db.value(Int64.self, "SELECT coalesce(set_id, id) FROM photo WHERE id = ?", [anchor])
                ?? anchor
            try db.run("UPDATE photo SET set_id = ? WHERE id = ? AND set_id IS NULL", [number, anchor])
        }
        for photo in photos {
            try db.run("UPDATE photo SET set_id = ? WHERE id = ?", [number, photo])
        }
    }

    package func commitFiling(_ filing: FilingCommit) throws(CatalogueError) -> FiledIDs {
        try commitFilings([filing])[0]
    }

    /// Returns the open intents, oldest first.
    package func pendingIntents() throws(CatalogueError) -> [StoredIntent] {
        try read("reading filings under way") { db in
            try db.rows("SELECT * FROM intent ORDER BY id").map { try StoredIntent($0) }
        }
    }

    /// Returns the open intents of this daemon's inbox, oldest first.
    package func pendingIntents(inbox: String) throws(CatalogueError) -> [StoredIntent] {
        try read("reading filings under way") { db in
            try db.rows("SELECT * FROM intent WHERE inbox = ?\(db.words.own.isInbox("inbox")) ORDER BY id", [inbox])
                .map { try StoredIntent($0) }
        }
    }

    /// Returns an open intent; nil if it is closed.
    package func pendingIntent(_ id: Int64) throws(CatalogueError) -> StoredIntent? {
        try read("reading a filing under way") { db in
            try db.first("SELECT * FROM intent WHERE id = ?", [id]).map { try StoredIntent($0) }
        }
    }

    /// Who has a content: its photo, and whether another filing of it is begun, by a daemon that is away or is not.
    package func claims(
        on sha256: [UInt8]
    ) throws(CatalogueError) -> (photo: StoredPhoto?, isBegun: Bool, isAway: Bool) {
        // First the intents: one that ends meanwhile has left a photo.
        let row = try read("reading who files a content") { db in try Self.holders(sha256, db) }
        do {
            let begun: Int64? = try row?.optional("begun")
            return (try photo(withHash: sha256), begun != nil, try row?.optional("is_away") ?? false)
        } catch { throw CatalogueError(error, "reading who files a content") }
    }

    /// Has intents that were lost to another daemon be begun again, all or none. Throws
    /// ``CatalogueError/Code/beingFiled(intent:)`` while another is begun for a content, unless that one's daemon is away;
    /// ``CatalogueError/Code/alreadyRecorded(photo:)`` if another photo than `old` has it; ``CatalogueError/Code/busy`` while `old`
    /// is being returned, for one.
    package func beginAgain(_ intents: [StoredIntent], superseding old: Int64? = nil) throws(CatalogueError) {
        let operation = "beginning a filing again"
        try write(operation) { db in
            if let old { try requireReplaceable(old, operation, db) }
            for intent in intents {
                try claim(intent.photo.sha256, superseding: old, db)
                try db.run("UPDATE intent SET step = 'begun' WHERE id = ? AND step = 'lost'", [intent.id])
                try requireUnrecorded(intent.photo.sha256, superseding: old, db)
            }
        }
    }

    /// Has another daemon, or this one with another copy, be free to file a content.
    package func giveUp(_ intent: Int64) throws(CatalogueError) {
        try write("giving up a filing") { db in
            try db.run("UPDATE intent SET step = 'lost' WHERE id = ? AND step = 'begun'", [intent])
        }
    }

    /// Whether another filing of the content of `intent` is begun.
    package func isBegunElsewhere(_ intent: StoredIntent) throws(CatalogueError) -> Bool {
        try read("reading who files a content") { db in
            try db.value(
                Bool.self, "SELECT EXISTS (SELECT 1 FROM intent WHERE sha256 = ? AND id <> ? AND step = 'begun')",
                [intent.photo.sha256, intent.id]) ?? false
        }
    }

    /// The begun filing of a content, whether its daemon is away, and the photo with the content.
    private static func holders(_ hash: [UInt8], _ db: any CatalogueTransaction) throws -> SQLRow? {
        let begun = "FROM intent WHERE sha256 = ?1 AND step = 'begun' AND role IS DISTINCT FROM 'sidecar' LIMIT 1"
        return try db.first(
            """
            SELECT (SELECT id \(begun)) AS begun, (SELECT \(db.words.own.isAway("inbox")) \(begun)) AS is_away,
                (SELECT id FROM photo WHERE sha256 = ?1 AND superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar') AS photo
            """, [hash])
    }

    private static let beginning = "recording what is about to be filed"

    /// Requires that nobody has this content or files it, or takes it over from a daemon that is away.
    private func claim(_ hash: [UInt8], superseding old: Int64?, _ db: any CatalogueTransaction) throws {
        guard let row = try Self.holders(hash, db) else { return }
        if let begun: Int64 = try row.optional("begun") {
            guard try row.optional("is_away") ?? false else {
                throw CatalogueError(
                    .beingFiled(intent: begun), Self.beginning, "this content is being filed just now")
            }
            // Nothing is changed if it was committed meanwhile: then its photo is found.
            try db.run("UPDATE intent SET step = 'lost' WHERE id = ? AND step = 'begun'", [begun])
        }
        try requireUnrecorded(try row.optional("photo"), superseding: old)
    }

    /// Requires that nobody has added this sidecar to the set that it joins, or is adding it, since that was looked up. It is
    /// tried again then, and is a duplicate.
    private func claimSidecar(_ intent: NewIntent, _ db: any CatalogueTransaction) throws {
        guard let anchor = intent.joins,
            let set = try db.value(Int64.self, "SELECT coalesce(set_id, id) FROM photo WHERE id = ?", [anchor])
        else { return }
        // Locks the set, so that of two that join it one sees the other.
        try db.run("UPDATE photo SET size = size WHERE id = ?", [set])
        let isSame = "role = 'sidecar' AND sha256 = ?1 AND original_name = ?2"
        let isTaken = try db.value(
            Bool.self,
            """
            SELECT EXISTS (SELECT 1 FROM photo WHERE \(isSame) AND set_id = ?3 AND superseded_at IS NULL AND id <> ?4)
                OR EXISTS (SELECT 1 FROM intent WHERE \(isSame) AND step = 'begun' AND \(db.words.own.isAway("inbox")) = 0
                    AND joins IN (SELECT id FROM photo WHERE id = ?3 OR set_id = ?3))
            """, [intent.photo.sha256, intent.photo.originalName, set, intent.supersedes ?? 0])
        guard isTaken == true else { return }
        throw CatalogueError(
            .beingFiled(intent: set), Self.beginning, "this sidecar is being added to photo \(set) just now")
    }

    /// Behind a claim: what another daemon had begun before it is recorded by now, if it will be.
    private func requireUnrecorded(
        _ hash: [UInt8], superseding old: Int64?, _ db: any CatalogueTransaction
    ) throws {
        try requireUnrecorded(try recorded(hash, db), superseding: old)
    }

    private func requireUnrecorded(_ photo: Int64?, superseding old: Int64?) throws {
        guard let photo, photo != old else { return }
        throw CatalogueError(
            .alreadyRecorded(photo: photo), Self.beginning, "this content is photo \(photo) already")
    }

    /// Deletes intents whose filings are completed or reversed, and records the sources that stayed. May be late:
    /// recovery checks the files of an intent before it acts, so one still open after a crash is harmless.
    package func closeIntents(_ ids: [Int64], kept: [KeptSource] = []) throws(CatalogueError) {
        try write("closing a filing") { db in try close(ids, kept, db) }
    }

    func close(_ ids: [Int64], _ kept: [KeptSource], _ db: any CatalogueTransaction) throws {
        for source in kept {
            try remember(source, db)
            if let outcome = source.outcomeID {
                try db.run(
                    "UPDATE photo SET source_kept = 1 WHERE id = (SELECT photo_id FROM outcome WHERE id = ?)", [outcome]
                )
            }
        }
        for id in ids { try db.run("DELETE FROM intent WHERE id = ?", [id]) }
    }

    package func closeIntent(_ id: Int64) throws(CatalogueError) { try closeIntents([id]) }

    private func commit(_ filing: FilingCommit, _ db: any CatalogueTransaction) throws -> FiledIDs {
        let photo = filing.photo
        for old in filing.supersedes {
            try requireReplaceable(old, "recording a filing", db)
            try db.run(
                "UPDATE photo SET superseded_at = ? WHERE id = ? AND superseded_at IS NULL",
                [filing.filedAt.nanosecondsSince1970, old])
        }
        try requireUnrecorded(photo, db)
        let id = try db.insert(filing.columns, into: "photo")
        if let old = filing.supersedes.first {
            // It replaces the old one in its set, too, unless that had the same path alone.
            try db.run(
                "UPDATE photo SET set_id = (SELECT set_id FROM photo WHERE id = ? AND sha256 = ?) WHERE id = ?",
                [old, photo.sha256, id])
        }
        for old in filing.supersedes {
            try db.run("UPDATE photo SET superseded_by = ? WHERE id = ?", [id, old])
        }
        let operation = try db.insert(filing.outcome(photo: id).columns, into: "outcome")
        let changed = try db.rowsChanged(
            by: "UPDATE intent SET step = ?, photo_id = ?, library_path = ? WHERE id = ? AND step = 'begun'",
            [StoredIntent.Step.recorded.rawValue, id, photo.libraryPath, filing.intent])
        guard changed == 1 else {
            throw CatalogueError(
                .noSuchIntent(filing.intent), "recording a filing", "there is no begun intent \(filing.intent)")
        }
        return FiledIDs(photo: id, outcome: operation)
    }

    /// Has a sidecar take the place of that which was moved to a bucket, if it is that one, and is back: contents tell photos
    /// apart, and not sidecars, so that it must be in the set, and a photo of the set in the library.
    private func replaceMoved(by filing: FilingCommit, _ id: Int64, _ db: any CatalogueTransaction) throws {
        let photo = filing.photo
        try db.run(
            """
            UPDATE photo SET superseded_at = ?, superseded_by = ?
            WHERE sha256 = ? AND role = 'sidecar' AND (library_path = ? OR original_name = ?) AND \(Self.isInBucket())
                AND set_id = (SELECT own.set_id FROM photo AS own WHERE own.id = ?)
                AND EXISTS (SELECT 1 FROM photo AS other WHERE other.set_id = photo.set_id
                    AND other.superseded_at IS NULL AND other.role IS DISTINCT FROM 'sidecar'
                    AND substr(other.library, 1, 1) = ?)
            """,
            [
                filing.filedAt.nanosecondsSince1970, id, photo.sha256, photo.libraryPath, photo.originalName,
                Self.notInBucket, id, Self.notInBucket,
            ])
    }

    /// Requires that a photo whose file was found missing may be filed again, or its place be another's: that its file is not
    /// being moved by a person, for one.
    private func requireReplaceable(
        _ photo: Int64, _ operation: String, _ db: any CatalogueTransaction
    ) throws {
        _ = try lock(photo, db)
        try require(.supersession, of: photo, operation, db)
    }

    private func recorded(_ hash: [UInt8], _ db: any CatalogueTransaction) throws -> Int64? {
        try db.value(
            Int64.self,
            "SELECT id FROM photo WHERE \(Self.isRecorded)",
            [hash])
    }

    /// Whether a row of `photo` is that of a content.
    static let isRecorded = "sha256 = ? AND superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar'"

    private func requireUnrecorded(_ photo: PhotoRecord, _ db: any CatalogueTransaction) throws {
        let operation = "recording a filing"
        if !photo.part.isSidecar, let id = try recorded(photo.sha256, db) {
            throw CatalogueError(.alreadyRecorded(photo: id), operation, "this content is photo \(id) already")
        }
        if let id = try db.value(
            Int64.self, "SELECT id FROM photo WHERE \(db.words.isAt())", [photo.library, photo.libraryPath])
        {
            throw CatalogueError(.pathTaken(photo: id), operation, "\(photo.libraryPath) belongs to photo \(id)")
        }
    }
}

extension FilingCommit {
    var columns: Columns { photo.columns(filedAt: filedAt, keepsSource: keepsSource) }
    func outcome(photo id: Int64?) -> OutcomeRecord { photo.filing(id, at: filedAt, reason: reason) }
}

extension PhotoRecord {
    fileprivate func columns(filedAt: FileTime, keepsSource: Bool) -> Columns {
        let own: Columns = ["filed_at": filedAt.nanosecondsSince1970, "source_kept": keepsSource]
        return columns.merging(own) { $1 }
    }

    fileprivate func filing(_ id: Int64?, at time: FileTime, reason: String) -> OutcomeRecord {
        OutcomeRecord(
            at: time, inbox: inbox, path: sourcePath, outcome: .filed, reason: reason, sha256: sha256, photoID: id,
            destination: libraryPath)
    }
}

extension CatalogueFile {
    /// Adds the row of a photo that is in its library, or in a bucket, already, and the outcome of its filing. One that was
    /// filed again has the row that took its place.
    func insert(
        _ photo: PhotoRecord, filedAt time: FileTime, supersededBy other: Int64? = nil, _ db: any CatalogueTransaction
    ) throws -> FiledIDs {
        var columns = photo.columns(filedAt: time, keepsSource: false)
        if let other {
            columns["superseded_at"] = time.nanosecondsSince1970
            columns["superseded_by"] = other
        }
        let id = try db.insert(columns, into: "photo")
        let outcome = photo.filing(id, at: time, reason: photo.proof)
        return FiledIDs(photo: id, outcome: try db.insert(outcome.columns, into: "outcome"))
    }
}

extension NewIntent {
    var columns: Columns {
        let own: Columns = [
            "token": token, "since": since.nanosecondsSince1970, "step": StoredIntent.Step.begun.rawValue,
            "temporary": temporary, "set_token": setToken, "joins": joins, "number_after": numberAfter,
        ]
        return photo.columns.merging(own) { $1 }
    }
}

/// An intent to record.
package struct NewIntent: Hashable, Sendable {
    package var token: String
    /// The temporary's path relative to the library, in case it needs a name.
    package var temporary: BytePath
    /// The planned row.
    package var photo: PhotoRecord
    package var since: FileTime
    /// The photo whose missing or damaged copy this filing replaces.
    package var supersedes: Int64?
    /// See ``StoredIntent``.
    package var setToken: String?
    package var joins: Int64?
    package var numberAfter: Int?

    package init(
        token: String, temporary: BytePath, photo: PhotoRecord, since: FileTime, supersedes: Int64? = nil,
        setToken: String? = nil, joins: Int64? = nil, numberAfter: Int? = nil
    ) {
        self.setToken = setToken
        self.joins = joins
        self.numberAfter = numberAfter
        self.supersedes = supersedes
        self.token = token
        self.temporary = temporary
        self.photo = photo
        self.since = since
    }
}
