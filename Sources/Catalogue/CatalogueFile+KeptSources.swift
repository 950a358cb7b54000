package import FileValues

extension CatalogueFile {
    /// Whether a file in exactly this state is a kept source.
    package func isKept(_ identity: FileIdentity, inbox: String) throws(CatalogueError) -> Bool {
        try keptSource(like: identity, inbox: inbox)?.identity == identity
    }

    /// Returns the kept source with this inode, size and modification time, whatever its name and attributes are now.
    /// If its change time differs from that of `identity`, compare hashes to know whether the content is the same.
    package func keptSource(like identity: FileIdentity, inbox: String) throws(CatalogueError) -> KeptSource? {
        try read("reading kept sources") { db in
            try db.first(
                """
                SELECT * FROM kept_source WHERE inbox = ? AND inode = ? AND size = ? AND modified = ?
                    AND modified_ns = ? ORDER BY changed = ? AND changed_ns = ? DESC, id DESC
                """,
                [
                    inbox, Int64(bitPattern: identity.inode), Int64(bitPattern: identity.size),
                    identity.modified.seconds, Int64(identity.modified.nanoseconds), identity.changed.seconds,
                    Int64(identity.changed.nanoseconds),
                ]
            ).map { try KeptSource($0) }
        }
    }

    /// Deletes the kept source of a path, because the file is gone or is to be retried.
    package func forgetKept(inbox: String, path: BytePath) throws(CatalogueError) {
        try write("forgetting a kept source") { db in
            try forgetKept(inbox, path, db)
        }
    }

    private func forgetKept(_ inbox: String, _ path: BytePath, _ db: any CatalogueTransaction) throws {
        try db.run("DELETE FROM kept_source WHERE inbox = ? AND \(db.words.isKey("path"))", [inbox, path])
    }

    /// Has an ignored or quarantined file that was left in its inbox examined again like a new arrival.
    package func forgetIgnored(inbox: String, path: BytePath) throws(CatalogueError) {
        let last = try outcomes(forPath: path, inbox: inbox).first?.outcome.outcome
        guard last == .ignored || last == .quarantined else { return }
        try forgetKept(inbox: inbox, path: path)
    }

    /// Records a kept source in place of the one of its path.
    func remember(_ source: KeptSource, _ db: any CatalogueTransaction) throws {
        try forgetKept(source.inbox, source.path, db)
        _ = try db.insert(source.columns, into: "kept_source")
    }
}
