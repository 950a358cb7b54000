package import FileValues
import Foundation
import GRDB

extension CatalogueFile {
    /// Remembers a file that stays in its inbox; takes the place of what was remembered for its path.
    package func rememberKept(_ source: KeptSource) throws(CatalogueError) {
        try write("remembering a kept source") { db in try remember(source, db) }
    }

    /// Whether this very state of a file is one that stays.
    package func isKept(_ identity: FileIdentity, inbox: String) throws(CatalogueError) -> Bool {
        try keptSource(like: identity, inbox: inbox)?.identity == identity
    }

    /// The kept source with this inode, size and time of last write, whatever its name and attributes are now. If its
    /// identity differs from `identity` in the change time, comparing hashes tells whether the content is the same.
    package func keptSource(like identity: FileIdentity, inbox: String) throws(CatalogueError) -> KeptSource? {
        try read("reading kept sources") { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT * FROM kept_source WHERE inbox = ? AND inode = ? AND size = ? AND modified = ?
                        AND modified_ns = ? ORDER BY changed = ? AND changed_ns = ? DESC, id DESC
                    """,
                arguments: [
                    inbox, Int64(bitPattern: identity.inode), Int64(bitPattern: identity.size),
                    identity.modified.seconds, Int64(identity.modified.nanoseconds), identity.changed.seconds,
                    Int64(identity.changed.nanoseconds),
                ]
            ).map { try KeptSource($0) }
        }
    }

    /// All of an inbox, for the comparison with what lies there.
    package func keptSources(inbox: String) throws(CatalogueError) -> [KeptSource] {
        try read("reading kept sources") { db in
            try Row.fetchAll(db, sql: "SELECT * FROM kept_source WHERE inbox = ? ORDER BY path", arguments: [inbox])
                .map { try KeptSource($0) }
        }
    }

    /// Forgets the kept source of a path: it is gone, or was asked to be tried again.
    package func forgetKept(inbox: String, path: BytePath) throws(CatalogueError) {
        try write("forgetting a kept source") { db in
            try db.execute(
                sql: "DELETE FROM kept_source WHERE inbox = ? AND path = ?", arguments: [inbox, path.data])
        }
    }

    /// A file that was left in its inbox is to be examined again as if it had just come, if it was not filed.
    package func forgetIgnored(inbox: String, path: BytePath) throws(CatalogueError) {
        let last = try outcomes(forPath: path, inbox: inbox).first?.outcome.outcome
        guard last == .ignored || last == .quarantined else { return }
        try forgetKept(inbox: inbox, path: path)
    }

    func remember(_ source: KeptSource, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM kept_source WHERE inbox = ? AND path = ?", arguments: [source.inbox, source.path.data])
        _ = try insert(source.columns, into: "kept_source", db)
    }
}
