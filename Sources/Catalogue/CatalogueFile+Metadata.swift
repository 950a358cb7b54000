import Foundation
import GRDB
package import PhotoModel

/// Metadata read from photos, to be recorded in one step with how far the reading is.
package struct MetadataBatch: Sendable {
    /// By the photos' identifiers.
    package var decisions: [Int64: MetadataDecision] = [:]
    /// All photos up to this identifier have been read.
    package var through: Int64

    package init(through: Int64) { self.through = through }
}

extension CatalogueFile {
    /// Returns the identifier up to which photos were read by this version of the readers, 0 if none was.
    package func metadataReadThrough() throws(CatalogueError) -> Int64 {
        try read("reading how far metadata was read") { db in
            try Int64.fetchOne(
                db, sql: "SELECT through FROM metadata_progress WHERE version = ?",
                arguments: [MetadataDecision.version]) ?? 0
        }
    }

    /// Returns the metadata of a photo and its sidecars; nil if they have none or were not read yet.
    package func metadata(ofPhoto id: Int64) throws(CatalogueError) -> MetadataDecision? {
        try read("reading metadata") { db in
            try Row.fetchOne(db, sql: "SELECT whole FROM metadata WHERE photo_id = ?", arguments: [id])
                .flatMap { try MetadataDecision(row: $0) }
        }
    }

    /// Records metadata of photos, in place of what was recorded of them.
    package func record(_ batch: MetadataBatch) throws(CatalogueError) {
        try write("recording metadata") { db in try record(batch, db) }
    }

    func record(_ batch: MetadataBatch, _ db: Database) throws {
        for (id, decision) in batch.decisions.sorted(by: { $0.key < $1.key }) {
            var columns = try decision.columns
            columns["photo_id"] = id
            let names = columns.keys.sorted()
            try db.cachedStatement(
                sql: """
                    INSERT INTO metadata (\(names.joined(separator: ", ")))
                    VALUES (\(names.map { ":\($0)" }.joined(separator: ", ")))
                    ON CONFLICT (photo_id) DO UPDATE SET
                        \(names.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
                    """
            ).execute(arguments: StatementArguments(columns))
        }
        try db.execute(
            sql: "INSERT OR REPLACE INTO metadata_progress (id, through, version) VALUES (1, ?, ?)",
            arguments: [batch.through, MetadataDecision.version])
    }
}

extension MetadataDecision {
    /// The columns that are searched, and the whole as JSON.
    fileprivate var columns: Columns {
        get throws {
            func lines(_ texts: [String]) -> String? { texts.isEmpty ? nil : texts.joined(separator: "\n") }
            let titles = [chosen.title, chosen.headline].compactMap(\.self)
            var keywords = chosen.keywords
            for level in chosen.hierarchies.flatMap(\.self) where !keywords.contains(level) { keywords.append(level) }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return [
                "title": lines(titles), "caption": chosen.caption, "keywords": lines(keywords),
                "people": lines(chosen.people), "place": lines(chosen.place.names), "lens": chosen.lens,
                "rating": chosen.rating, "latitude": chosen.position?.latitude, "longitude": chosen.position?.longitude,
                "whole": chosen.isEmpty ? nil : String(decoding: try encoder.encode(self), as: UTF8.self),
            ]
        }
    }

    /// Nil if the row records that there is none.
    init?(row: Row) throws {
        guard let whole: String = try row.optional("whole") else { return nil }
        guard let decision = try? JSONDecoder().decode(MetadataDecision.self, from: Data(whole.utf8)) else {
            throw UnreadableRow(column: "whole")
        }
        self = decision
    }
}
