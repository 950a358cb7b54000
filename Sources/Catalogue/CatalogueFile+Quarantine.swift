extension CatalogueFile {
    /// Returns the outcomes of quarantined files that were neither released nor discarded, oldest first: of all inboxes, or of
    /// one of this daemon. Those that stayed in their inboxes are left out.
    package func waitingInQuarantine(inbox: String? = nil) throws(CatalogueError) -> [StoredOutcome] {
        try read("reading what is quarantined") { db in
            let isMeant = inbox == nil ? "" : " AND inbox = ?\(db.words.own.isInbox("inbox"))"
            return try db.rows(
                """
                SELECT * FROM outcome
                WHERE outcome = 'quarantined' AND destination IS NOT NULL AND NOT EXISTS (
                    SELECT 1 FROM request WHERE \(Self.isCarriedOut("outcome.id")))\(isMeant)
                ORDER BY id
                """, inbox.map { [$0] } ?? []
            ).map { try StoredOutcome($0) }
        }
    }

    /// Records that the file of an outcome was deleted by hand, on behalf of `request`, whose file is not moved. Returns the
    /// request's number; nil if another one has moved the file, or is moving it, or another host has it.
    package func closeDeleted(_ request: RequestRecord, note: String) throws(CatalogueError) -> Int64? {
        try write("recording a deleted file") { db in
            let isOpen = try db.value(
                Bool.self,
                """
                SELECT EXISTS (SELECT 1 FROM outcome WHERE id = ?\(db.words.own.isInbox("inbox")) AND NOT EXISTS (
                    SELECT 1 FROM request WHERE \(Self.isCarriedOut("outcome.id"))))
                """, [request.outcomeID])
            if isOpen != true { return nil }
            var columns = request.columns
            columns["step"] = StoredRequest.Step.expired.rawValue
            columns["ended_at"] = request.at.nanosecondsSince1970
            columns["note"] = note
            return try db.insert(columns, into: "request")
        }
    }

    /// A condition on requests; `outcome` is an outcome's identifier.
    private static func isCarriedOut(_ outcome: String) -> String {
        "outcome_id = \(outcome) AND what IN ('release', 'discard') AND step <> 'undone'"
    }
}
