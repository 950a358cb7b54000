package import FileValues

extension CatalogueFile {
    /// Records outcomes other than filed, with the sources that stay, in one transaction. Returns the operations'
    /// identifiers. A kept source gets the outcome of the same inbox and path.
    @discardableResult
    package func recordOutcomes(
        _ outcomes: [OutcomeRecord], kept: [KeptSource] = []
    ) throws(CatalogueError) -> [Int64] {
        try write("recording an outcome") { db in try record(outcomes, kept, db) }
    }

    func record(_ outcomes: [OutcomeRecord], _ kept: [KeptSource], _ db: any CatalogueTransaction) throws -> [Int64] {
        let ids = try outcomes.map { try db.insert($0.columns, into: "outcome") }
        for var source in kept {
            if source.outcomeID == nil {
                source.outcomeID =
                    zip(outcomes, ids).first { outcome, _ in
                        outcome.inbox == source.inbox && outcome.path == source.path
                    }?.1
            }
            try remember(source, db)
        }
        return ids
    }

    @discardableResult
    package func recordOutcome(_ outcome: OutcomeRecord, kept: KeptSource? = nil) throws(CatalogueError) -> Int64 {
        try recordOutcomes([outcome], kept: kept.map { [$0] } ?? [])[0]
    }

    /// Returns the last `limit` outcomes, newest first.
    package func recentOutcomes(limit: Int) throws(CatalogueError) -> [StoredOutcome] {
        try outcomes("ORDER BY id DESC LIMIT ?", [limit])
    }

    /// Returns the first `limit` outcomes with identifiers above `id`, oldest first. If other daemons use the catalogue, one
    /// with a lower number may come later, but none of those that are `own`.
    package func outcomes(after id: Int64, limit: Int, own: Bool = false) throws(CatalogueError) -> [StoredOutcome] {
        try outcomes("WHERE id > ?\(own ? words.own.isInbox("inbox") : "") ORDER BY id LIMIT ?", [id, limit])
    }

    /// Returns those outcomes of `numbers` that there are, in order.
    package func outcomes(numbered numbers: some Sequence<Int64>) throws(CatalogueError) -> [StoredOutcome] {
        let list = numbers.map(String.init).joined(separator: ", ")
        return list.isEmpty ? [] : try outcomes("WHERE id IN (\(list)) ORDER BY id", [])
    }

    /// Returns the outcomes of files at `path` of `inbox`, or of any inbox, newest first.
    package func outcomes(forPath path: BytePath, inbox: String? = nil) throws(CatalogueError) -> [StoredOutcome] {
        try outcomes("WHERE path = ?1 AND (inbox = ?2 OR ?2 IS NULL) ORDER BY id DESC", [path, inbox])
    }

    /// Returns the outcomes that refer to a photo, newest first: at most `limit`, and that which filed it.
    package func outcomes(ofPhoto id: Int64, limit: Int = .max) throws(CatalogueError) -> [StoredOutcome] {
        try outcomes(
            """
            WHERE photo_id = ?1 AND (outcome = '\(OutcomeKind.filed.rawValue)' OR id IN (
                SELECT id FROM outcome WHERE photo_id = ?1 ORDER BY id DESC LIMIT ?2)) ORDER BY id DESC
            """, [id, limit])
    }

    package func outcomeCount(ofPhoto id: Int64) throws(CatalogueError) -> Int {
        try read("counting outcomes") { db in
            try db.value(Int.self, "SELECT count(*) FROM outcome WHERE photo_id = ?", [id]) ?? 0
        }
    }

    package func outcome(id: Int64) throws(CatalogueError) -> StoredOutcome? {
        try outcomes("WHERE id = ?", [id]).first
    }

    private func outcomes(_ clause: String, _ arguments: SQLArguments) throws(CatalogueError) -> [StoredOutcome] {
        try readOne("reading outcomes") { db in
            try db.rows("SELECT * FROM outcome \(clause)", arguments).map {
                try StoredOutcome($0)
            }
        }
    }
}
