package import FileValues
import FleetRules
package import LinuxKernel

extension CatalogueFile {
    /// Records a request and returns its identifier: before its file is moved, or, as `done`, after one that moves
    /// none.
    package func recordRequest(
        _ request: RequestRecord, step: StoredRequest.Step
    ) throws(CatalogueError) -> Int64 {
        try write("recording a request") { db in
            if step == .begun, [.undo, .store].contains(request.what), let photo = request.photoID {
                guard try lock(photo, db) else {
                    throw CatalogueError(.busy, "recording a request", "this photo was returned, or filed again")
                }
                try require(.undo, of: photo, "recording a request", db)
                if request.what == .store { try requireStorable(photo, request.move, db) }
            }
            var columns = request.columns
            columns["step"] = step.rawValue
            if step == .begun { db.note(BegunRow(.request, columns)) }
            if step != .begun { columns["ended_at"] = request.at.nanosecondsSince1970 }
            return try db.insert(columns, into: "request")
        }
    }

    /// Requires that the photo, whose row is locked, is where `move` begins, and that no other is recorded where it ends.
    private func requireStorable(_ photo: Int64, _ move: RequestedMove?, _ db: any CatalogueTransaction) throws {
        guard let move else { return }
        let isThere = try db.value(
            Bool.self,
            "SELECT EXISTS (SELECT 1 FROM photo WHERE id = ? AND library = ? AND library_path = ? AND sha256 = ?)",
            [photo, move.sourceRoot, move.sourcePath, move.sha256])
        guard isThere == true else {
            throw CatalogueError(.busy, "recording a request", "this photo was moved, or filed again")
        }
        if let other = try db.value(
            Int64.self, "SELECT id FROM photo WHERE \(db.words.isAt())", [move.destinationRoot, move.destinationPath])
        {
            throw CatalogueError(
                .pathTaken(photo: other), "recording a request", "photo \(other) is recorded in that place")
        }
    }

    /// Ends a begun request. `move` is where its file is now; nil if it was not moved. In the same transaction a photo
    /// that was undone stops counting as filed, and one that was moved to a bucket is recorded there.
    package func endRequest(
        _ id: Int64, at: FileTime, move: RequestedMove?, note: String? = nil
    ) throws(CatalogueError) {
        try write("ending a request") { db in
            let step: StoredRequest.Step = move == nil ? .undone : .done
            let ended = try db.rowsChanged(
                by: "UPDATE request SET step = ?, ended_at = ?, note = ? WHERE id = ? AND step = 'begun'",
                [step.rawValue, at.nanosecondsSince1970, note, id])
            guard ended == 1 else {
                throw CatalogueError(.other, "ending a request", "there is no request \(id) under way")
            }
            guard let move else { return }
            try db.run(
                """
                UPDATE request SET destination_path = ?, inode = ?, size = ?, modified = ?, modified_ns = ?, changed = ?,
                    changed_ns = ?
                WHERE id = ?
                """,
                [
                    move.destinationPath, Int64(bitPattern: move.identity.inode), Int64(bitPattern: move.identity.size),
                    move.identity.modified.seconds, Int64(move.identity.modified.nanoseconds),
                    move.identity.changed.seconds, Int64(move.identity.changed.nanoseconds), id,
                ])
            try db.run(
                """
                UPDATE photo SET superseded_at = coalesce(superseded_at, ?1), undone_by = ?2
                WHERE id = (SELECT photo_id FROM request WHERE id = ?2 AND what = 'undo')
                """, [at.nanosecondsSince1970, id])
            // Its file is removed: whatever was recorded of it meanwhile, this is where its bytes are.
            try db.run(
                """
                UPDATE photo SET library = ?1, library_path = ?2, superseded_at = NULL
                WHERE id = (SELECT photo_id FROM request WHERE id = ?3 AND what = 'store') AND undone_by IS NULL
                    AND superseded_by IS NULL AND (superseded_at IS NULL OR NOT EXISTS (
                        SELECT 1 FROM photo AS other WHERE other.sha256 = photo.sha256 AND other.superseded_at IS NULL))
                """, [move.destinationRoot, move.destinationPath, id])
            try db.run(
                "DELETE FROM damage WHERE photo_id = (SELECT photo_id FROM request WHERE id = ? AND what = 'store')",
                [id])
        }
    }

    /// Has moves to a bucket that are under way, of inboxes which are configured no longer, be finished by another inbox: they
    /// concern the library alone.
    package func assignRequests(to inbox: String, unlessOf configured: some Collection<String>) throws(CatalogueError) {
        try write("assigning requests of inboxes that are gone") { db in
            let isOpen = "step = 'begun' AND what = 'store' AND inbox IS NOT NULL"
            let others = try db.values(
                String.self, "SELECT DISTINCT inbox FROM request WHERE \(isOpen)\(db.words.own.isInbox("inbox"))")
            for other in others where !configured.contains(other) {
                try db.run("UPDATE request SET inbox = ? WHERE \(isOpen) AND inbox = ?", [inbox, other])
            }
        }
    }

    /// Whether a request about this photo is under way, of a host that is not forgotten.
    package func isRequestUnderWay(ofPhoto id: Int64) throws(CatalogueError) -> Bool {
        try read("reading requests") { db in
            try db.value(Bool.self, "SELECT EXISTS (SELECT 1 FROM request WHERE \(Self.isUnderWay("?", db)))", [id])
                == true
        }
    }

    /// A condition on requests; `photo` is a photo's identifier.
    static func isUnderWay(_ photo: String, _ db: any CatalogueTransaction) -> String {
        "photo_id = \(photo) AND step = 'begun' AND NOT \(db.words.own.isGone("request.inbox"))"
    }

    /// Whether photos were moved to a bucket, or are being moved.
    package func hasMoves(underWay: Bool = false) throws(CatalogueError) -> Bool {
        let steps = underWay ? "step = 'begun'" : "step IN ('begun', 'done')"
        return try read("reading requests") { db in
            let request = "SELECT EXISTS (SELECT 1 FROM request WHERE what = 'store' AND \(steps))"
            if try db.value(Bool.self, request) == true { return true }
            // A catalogue that was made anew may know the photos, and not the requests.
            let photo = "SELECT EXISTS (SELECT 1 FROM photo WHERE \(Self.isInBucket()))"
            return try !underWay && db.value(Bool.self, photo, [Self.notInBucket]) == true
        }
    }

    /// Records that the files which these requests put into the trash are deleted.
    package func expireRequests(_ ids: [Int64], note: String? = nil) throws(CatalogueError) {
        try write("expiring discarded files") { db in
            for id in ids {
                try db.run(
                    "UPDATE request SET step = 'expired', note = coalesce(?, note) WHERE id = ? AND step = 'done'",
                    [note, id])
            }
        }
    }

    /// Returns the requests of an inbox that are under way, oldest first.
    package func pendingRequests(inbox: String) throws(CatalogueError) -> [StoredRequest] {
        try requests("WHERE step = 'begun' AND inbox = ?\(words.own.isInbox("inbox")) ORDER BY id", [inbox])
    }

    /// Returns the requests about an outcome, newest first.
    package func requests(ofOutcome id: Int64) throws(CatalogueError) -> [StoredRequest] {
        try requests("WHERE outcome_id = ? ORDER BY id DESC", [id])
    }

    /// Returns the requests about a photo, newest first.
    package func requests(ofPhoto id: Int64) throws(CatalogueError) -> [StoredRequest] {
        try requests("WHERE photo_id = ? ORDER BY id DESC", [id])
    }

    package func request(id: Int64) throws(CatalogueError) -> StoredRequest? {
        try requests("WHERE id = ?", [id]).first
    }

    /// Returns the last request that moved a file to `path`, which is absolute.
    package func request(movedTo path: BytePath) throws(CatalogueError) -> StoredRequest? {
        // The path is stored as root and rest, and where it divides is unknown here.
        try requests(
            """
            WHERE step IN ('done', 'expired') AND destination_root IS NOT NULL
                AND \(words.joinedPath("destination_root", "destination_path")) = ? ORDER BY id DESC LIMIT 1
            """, [path]
        ).first
    }

    /// Returns the requests of an inbox whose files are in the trash, oldest first.
    package func discarded(inbox: String) throws(CatalogueError) -> [StoredRequest] {
        try requests(
            "WHERE step = 'done' AND what = 'discard' AND inbox = ?\(words.own.isInbox("inbox")) ORDER BY ended_at",
            [inbox])
    }

    /// Returns the requests of ``discarded(inbox:)`` with the nanoseconds that each file has been in the trash, counted
    /// from the first call after it was put there by ``ClockReading/elapsed(since:)``.
    package func trash(
        of inbox: String, at now: ClockReading
    ) throws(CatalogueError) -> [(request: StoredRequest, age: Int64)] {
        if try discarded(inbox: inbox).isEmpty { return [] }
        return try write("counting the time of the trash") { db in
            let last = try db.first("SELECT * FROM trash_clock WHERE id = \(db.words.own.host)")
            var counted: Int64 = 0
            if let last {
                let before = ClockReading(
                    boot: try last.value("boot"), boottime: try last.value("boottime"), wall: try last.value("wall"))
                counted = try last.value("counted") + now.elapsed(since: before)
            }
            try db.run(
                """
                INSERT INTO trash_clock (id, counted, boot, boottime, wall) VALUES (\(db.words.own.host), ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET counted = excluded.counted, boot = excluded.boot,
                    boottime = excluded.boottime, wall = excluded.wall
                """, [counted, now.boot, now.boottime, now.wall])
            let isInTrash = "step = 'done' AND what = 'discard' AND inbox = ?\(db.words.own.isInbox("inbox"))"
            try db.run("UPDATE request SET trash_from = ? WHERE trash_from IS NULL AND \(isInTrash)", [counted, inbox])
            return try db.rows(
                "SELECT * FROM request WHERE \(isInTrash) ORDER BY id", [inbox]
            ).map { (try StoredRequest($0), counted - (try $0.value("trash_from"))) }
        }
    }

    /// Whether a file of this size was released as it is, so that a hash is worth computing.
    package func hasReleaseAsIs(inbox: String, size: UInt64) throws(CatalogueError) -> Bool {
        try !releases(inbox, size).isEmpty
    }

    /// Returns the request that released this content as it is.
    package func releaseAsIs(inbox: String, size: UInt64, sha256: [UInt8]) throws(CatalogueError) -> StoredRequest? {
        try releases(inbox, size).first { $0.request.move?.sha256 == sha256 }
    }

    /// Includes requests under way, whose files are in the inbox before they end.
    private func releases(_ inbox: String, _ size: UInt64) throws(CatalogueError) -> [StoredRequest] {
        try requests(
            """
            WHERE as_is = 1 AND what = 'release' AND step IN ('begun', 'done') AND inbox = ? AND size = ?
            ORDER BY id DESC
            """, [inbox, Int64(bitPattern: size)])
    }

    private func requests(_ clause: String, _ arguments: SQLArguments) throws(CatalogueError) -> [StoredRequest] {
        try read("reading requests") { db in
            try db.rows("SELECT * FROM request \(clause)", arguments).map {
                try StoredRequest($0)
            }
        }
    }
}

extension RequestRecord {
    var columns: Columns {
        let own: Columns = [
            "at": at.nanosecondsSince1970, "what": what.rawValue, "user": Int64(user), "user_name": userName,
            "inbox": inbox, "path": path, "outcome_id": outcomeID, "photo_id": photoID, "as_is": isAsIs,
        ]
        return own.merging(move?.columns ?? [:]) { $1 }
    }

    fileprivate init(_ row: SQLRow) throws {
        guard let what = RequestKind(rawValue: try row.value("what")) else { throw UnreadableRow(column: "what") }
        self.init(
            at: try row.time("at"), what: what, user: UInt32(truncatingIfNeeded: try row.value("user") as Int64),
            userName: try row.optional("user_name"), inbox: try row.optional("inbox"),
            path: try row.bytes("path").map { BytePath($0) }, outcomeID: try row.optional("outcome_id"),
            photoID: try row.optional("photo_id"), isAsIs: try row.value("as_is"), move: try RequestedMove(row))
    }
}

extension RequestedMove {
    fileprivate var columns: Columns {
        let own: Columns = [
            "token": token, "source_root": sourceRoot, "source_path": sourcePath,
            "destination_root": destinationRoot, "destination_path": destinationPath, "sha256": sha256,
        ]
        return own.merging(identity.columns()) { $1 }
    }

    /// Nil if no file was moved.
    fileprivate init?(_ row: SQLRow) throws {
        guard let token: String = try row.optional("token") else { return nil }
        self.init(
            token: token, sourceRoot: try row.path("source_root"), sourcePath: try row.path("source_path"),
            destinationRoot: try row.path("destination_root"), destinationPath: try row.path("destination_path"),
            sha256: try row.bytes("sha256") ?? [], identity: try row.identity())
    }
}

extension StoredRequest {
    fileprivate init(_ row: SQLRow) throws {
        guard let step = Step(rawValue: try row.value("step")) else { throw UnreadableRow(column: "step") }
        self.init(
            id: try row.value("id"), step: step, endedAt: try row.optionalTime("ended_at"),
            note: try row.optional("note"), request: try RequestRecord(row))
    }
}
