package import FileValues
import FleetRules

/// A file's move from its inbox to quarantine or duplicates.
package struct MoveRecord: Hashable, Sendable {
    /// Names its temporaries.
    package var token: String
    package var since: FileTime
    /// The inbox's configured name, and the path relative to it.
    package var inbox: String
    package var path: BytePath
    /// The destination's root as configured, and the exact path in it.
    package var root: BytePath
    package var destination: BytePath
    /// The outcome once the move is complete.
    package var outcome: OutcomeKind
    package var reason: String
    /// 32 bytes.
    package var sha256: [UInt8]
    /// The photo it is a duplicate of.
    package var photoID: Int64?
    /// The source as it was examined.
    package var identity: FileIdentity

    package init(
        token: String, since: FileTime, inbox: String, path: BytePath, root: BytePath, destination: BytePath,
        outcome: OutcomeKind, reason: String, sha256: [UInt8], photoID: Int64?, identity: FileIdentity
    ) {
        self.token = token
        self.since = since
        self.inbox = inbox
        self.path = path
        self.root = root
        self.destination = destination
        self.outcome = outcome
        self.reason = reason
        self.sha256 = sha256
        self.photoID = photoID
        self.identity = identity
    }
}

/// The row of a move that is under way.
package struct StoredMove: Hashable, Sendable {
    package let id: Int64
    package let move: MoveRecord
}

extension CatalogueFile {
    /// Records a move before the file is moved. A duplicate's is refused with ``CatalogueError/Code/busy`` if its photo is being
    /// returned or filed again, or was.
    package func beginMove(_ move: MoveRecord) throws(CatalogueError) -> StoredMove {
        try write("recording what is about to be moved") { db in
            if let photo = move.photoID {
                guard try lock(photo, db) else { throw CatalogueError.beingReturned }
                try require(.duplicate, of: photo, "recording what is about to be moved", db)
            }
            db.note(BegunRow(.move, move.columns))
            return StoredMove(id: try db.insert(move.columns, into: "move"), move: move)
        }
    }

    /// Deletes a move and records its outcome and its kept source, in one transaction. Returns the operation's
    /// identifier; nil without an outcome (the file was not moved), or if the move had ended before.
    package func finishMove(
        _ id: Int64, outcome: OutcomeRecord?, kept: KeptSource? = nil
    ) throws(CatalogueError) -> Int64? {
        try write("recording a move") { db in
            guard try db.rowsChanged(by: "DELETE FROM move WHERE id = ?", [id]) == 1 else { return nil }
            let operation = try outcome.map { try db.insert($0.columns, into: "outcome") }
            if var kept {
                kept.outcomeID = kept.outcomeID ?? operation
                try remember(kept, db)
            }
            return operation
        }
    }

    /// Returns the unfinished moves of an inbox, oldest first.
    package func pendingMoves(inbox: String) throws(CatalogueError) -> [StoredMove] {
        try read("reading moves under way") { db in
            try db.rows("SELECT * FROM move WHERE inbox = ?\(db.words.own.isInbox("inbox")) ORDER BY id", [inbox])
                .map { StoredMove(id: try $0.value("id"), move: try MoveRecord($0)) }
        }
    }
}

extension MoveRecord {
    fileprivate var columns: Columns {
        let own: Columns = [
            "token": token, "since": since.nanosecondsSince1970, "inbox": inbox, "path": path,
            "root": root, "destination": destination, "outcome": outcome.rawValue, "reason": reason,
            "sha256": sha256, "photo_id": photoID,
        ]
        return own.merging(identity.columns()) { $1 }
    }

    fileprivate init(_ row: SQLRow) throws {
        guard let outcome = OutcomeKind(rawValue: try row.value("outcome")) else {
            throw UnreadableRow(column: "outcome")
        }
        self.init(
            token: try row.value("token"), since: try row.time("since"), inbox: try row.value("inbox"),
            path: try row.path("path"), root: try row.path("root"), destination: try row.path("destination"),
            outcome: outcome, reason: try row.value("reason"), sha256: try row.bytes("sha256") ?? [],
            photoID: try row.optional("photo_id"), identity: try row.identity())
    }
}
