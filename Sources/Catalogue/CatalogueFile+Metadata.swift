package import FileValues
import Foundation
import PhotoFormats
package import PhotoModel

/// A photo whose metadata is to be read.
package struct DuePhoto: Sendable {
    package let stored: StoredPhoto
    /// Raised whenever it becomes due again.
    let turn: Int64
}

/// Metadata read from photos, to be recorded in one step.
package struct MetadataBatch: Sendable {
    /// By the photos' identifiers.
    fileprivate(set) var rows: [Int64: MetadataRow] = [:]
    fileprivate(set) var done: [Int64: Int64] = [:]

    package init() {}

    package var isEmpty: Bool { done.isEmpty }

    /// Adds the metadata of a photo; nil leaves what is recorded.
    package mutating func add(_ decision: MetadataDecision?, of photo: DuePhoto) {
        done[photo.stored.id] = photo.turn
        rows[photo.stored.id] = decision.map { MetadataRow($0) }
    }
}

/// The texts that are searched, and the whole as JSON. Made outside of the transaction, which others wait for.
struct MetadataRow: Sendable {
    let texts: [String: String?]
    let rating: Int?
    let position: PhotoMetadata.Position?

    init(_ decision: MetadataDecision) {
        let chosen = decision.chosen
        func lines(_ texts: [String]) -> String? { texts.isEmpty ? nil : texts.joined(separator: "\n") }
        var seen = Set(chosen.keywords)
        let levels = chosen.hierarchies.lazy.flatMap(\.self).filter { seen.insert($0).inserted }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // No number of a file is a reason to fail.
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let whole = chosen.isEmpty ? nil : try? encoder.encode(decision)
        texts = [
            "title": lines([chosen.title, chosen.headline].compactMap(\.self)), "caption": chosen.caption,
            "keywords": lines(chosen.keywords + levels), "people": lines(chosen.people),
            "place": lines(decision.searchedPlace.names), "lens": chosen.lens,
            "whole": whole.map { String(decoding: $0, as: UTF8.self) },
        ]
        rating = chosen.rating
        position = chosen.position
    }

    var columns: Columns {
        let numbers: Columns = [
            "rating": rating, "latitude": position?.latitude, "longitude": position?.longitude,
        ]
        return numbers.merging(texts) { $1 }
    }
}

extension CatalogueFile {
    /// Makes all photos due if an older version of the readers has read them, and those with a position if their places
    /// were not named by this version of the table of place names. Without a table the names that they have stay.
    package func renewMetadata(placeNames: String?) throws(CatalogueError) {
        let (version, names): (Int, String?) = try readOne("reading which readers have read metadata") { db in
            guard let row = try db.first("SELECT version, place_names FROM metadata_reader") else {
                return (0, nil)
            }
            return (try row.value("version"), try row.optional("place_names"))
        }
        let isOlder = version < MetadataDecision.version
        guard isOlder || names != placeNames else { return }
        try write("recording that metadata is to be read again") { db in
            let read = isOlder ? "id FROM photo" : "id FROM photo_position"
            if isOlder || placeNames != nil {
                try db.run(
                    """
                    INSERT INTO metadata_due
                        SELECT id, 0 FROM (SELECT \(read)) AS read WHERE id NOT IN (SELECT photo_id FROM metadata_due)
                    """)
            }
            try db.run(
                "UPDATE metadata_reader SET version = ?, place_names = ?", [MetadataDecision.version, placeNames])
        }
    }

    /// Returns photos of `library` with identifiers above `id` whose metadata is to be read, in order.
    package func photosToRead(in library: BytePath, after id: Int64, limit: Int) throws(CatalogueError) -> [DuePhoto] {
        try readOne("reading whose metadata is to be read") { db in
            try db.rows(
                """
                SELECT \(StoredPhoto.columns) FROM metadata_due CROSS JOIN photo
                WHERE photo.id = metadata_due.photo_id AND metadata_due.photo_id > ? AND library = ?
                    \(db.words.own.cares("photo.inbox"))
                ORDER BY metadata_due.photo_id LIMIT ?
                """, [id, library, limit]
            ).map { DuePhoto(stored: try StoredPhoto($0), turn: try $0.value("turn")) }
        }
    }

    /// Returns the metadata of a photo and its sidecars; nil if they have none or were not read yet.
    package func metadata(ofPhoto id: Int64) throws(CatalogueError) -> MetadataDecision? {
        try read("reading metadata") { db in
            try db.first("SELECT whole FROM metadata WHERE photo_id = ?", [id])
                .flatMap { MetadataDecision(row: $0) }
        }
    }

    /// Whether something else is recorded of a photo than was found in its file now.
    package func differs(_ found: MetadataDecision, from stored: StoredPhoto) throws(CatalogueError) -> Bool {
        try read("comparing metadata") { db in
            // What is due, or was read by an older version, is read again anyway.
            let row = try db.first(
                """
                SELECT (SELECT whole FROM metadata WHERE photo_id = ?1) AS whole
                WHERE NOT EXISTS (SELECT 1 FROM metadata_due WHERE photo_id = ?1)
                AND (SELECT version FROM metadata_reader) >= ?2
                """, [stored.id, MetadataDecision.version])
            guard let row else { return false }
            let recorded: String? = try row.optional("whole")
            // No part of the file, and named anew when the table of place names is another one.
            var found = found
            found.nearby = MetadataDecision(row: row)?.nearby
            return recorded != MetadataRow(found).texts["whole"] ?? nil
        }
    }

    /// Makes the metadata of these photos due.
    package func renewMetadata(of photos: some Sequence<Int64>) throws(CatalogueError) {
        try write("recording whose metadata is to be read again") { db in
            for id in photos {
                try db.run(
                    """
                    INSERT INTO metadata_due SELECT id, 0 FROM photo
                    WHERE id = ? AND id NOT IN (SELECT photo_id FROM metadata_due)
                    """, [id])
            }
        }
    }

    /// Records metadata of photos, in place of what was recorded of them.
    package func record(_ batch: MetadataBatch) throws(CatalogueError) {
        try write("recording metadata") { db in try record(batch, db) }
    }

    func record(_ batch: MetadataBatch, _ db: any CatalogueTransaction) throws {
        for (id, row) in batch.rows.sorted(by: { $0.key < $1.key }) {
            var columns = row.columns
            columns["photo_id"] = id
            let values = columns.sorted { $0.key < $1.key }
            let names = values.map(\.key)
            try db.run(
                """
                INSERT INTO metadata (\(names.joined(separator: ", ")))
                VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))
                ON CONFLICT (photo_id) DO UPDATE SET
                    \(names.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
                """, values.map(\.value))
        }
        for (id, turn) in batch.done.sorted(by: { $0.key < $1.key }) {
            try db.run("DELETE FROM metadata_due WHERE photo_id = ? AND turn = ?", [id, turn])
        }
    }
}

extension MetadataDecision {
    /// Nil if the row records that there is none, or is unreadable: it can be read from the photo again.
    init?(row: SQLRow) {
        guard let whole = row["whole"].flatMap({ String(sqlValue: $0) }) else { return nil }
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        guard let decision = try? decoder.decode(MetadataDecision.self, from: Data(whole.utf8)) else { return nil }
        self = decision
    }
}
