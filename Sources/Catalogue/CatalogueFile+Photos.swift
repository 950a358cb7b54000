package import FileValues
import Foundation
import GRDB

/// Which photos are asked for; all conditions hold together.
package struct PhotoFilter: Hashable, Sendable {
    package var inbox: String?
    /// The format's stable name.
    package var format: String?
    /// Taken at this local time or later, as ``CaptureDate/local`` has it; a prefix such as `2026-11` will do.
    package var capturedFrom: String?
    /// Taken before this local time.
    package var capturedBefore: String?
    /// Bytes that the original name contains.
    package var nameContains: BytePath?
    /// Identifiers below this one: the next page of a listing.
    package var before: Int64?
    /// Also those whose place another row has taken.
    package var includesSuperseded = false

    package init() {}
}

extension CatalogueFile {
    /// The photo with this content, if it is filed; a sidecar only if no photo has it.
    package func photo(withHash sha256: [UInt8]) throws(CatalogueError) -> StoredPhoto? {
        try photos(
            "WHERE sha256 = ? AND superseded_at IS NULL ORDER BY role IS 'sidecar', id LIMIT 1", [Data(sha256)]
        ).first
    }

    /// At most two photos whose SHA-256 begins with these hexadecimal digits.
    package func photos(withHashPrefix digits: String) throws(CatalogueError) -> [StoredPhoto] {
        func bound(_ digit: String) -> Data? {
            let all = digits + String(repeating: digit, count: max(0, 64 - digits.utf8.count))
            return bytes(ofHexadecimal: all.utf8).map { Data($0) }
        }
        guard let first = bound("0"), let last = bound("f") else { return [] }
        return try photos(
            "WHERE sha256 BETWEEN ? AND ? AND superseded_at IS NULL AND role IS NOT 'sidecar' LIMIT 2", [first, last])
    }

    /// The photo at this place of the library.
    package func photo(library: BytePath, path: BytePath) throws(CatalogueError) -> StoredPhoto? {
        try photos(
            "WHERE library = ? AND library_path = ? AND superseded_at IS NULL", [library.data, path.data]
        ).first
    }

    /// One photo by its identifier.
    package func photo(id: Int64) throws(CatalogueError) -> StoredPhoto? {
        try photos("WHERE id = ?", [id]).first
    }

    /// At most `limit` photos, last filed first.
    package func photos(matching filter: PhotoFilter, limit: Int) throws(CatalogueError) -> [StoredPhoto] {
        var conditions: [String] = []
        var arguments: [(any DatabaseValueConvertible)?] = []
        func require(_ condition: String, _ value: (any DatabaseValueConvertible)?) {
            guard let value else { return }
            conditions.append(condition)
            arguments.append(value)
        }
        require("inbox = ?", filter.inbox)
        require("format = ?", filter.format)
        require("captured >= ?", filter.capturedFrom)
        require("captured < ?", filter.capturedBefore)
        require("instr(original_name, ?) > 0", filter.nameContains?.data)
        require("id < ?", filter.before)
        if !filter.includesSuperseded { conditions.append("superseded_at IS NULL") }
        let clause = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
        arguments.append(limit)
        return try photos("\(clause) ORDER BY id DESC LIMIT ?", StatementArguments(arguments))
    }

    /// How many photos are filed, and their bytes.
    package func totals() throws(CatalogueError) -> (photos: Int, bytes: UInt64) {
        try read("counting photos") { db in
            let row = try Row.fetchOne(
                db, sql: "SELECT count(*) AS n, total(size) AS bytes FROM photo WHERE superseded_at IS NULL")
            let bytes: Double = try row?.value("bytes") ?? 0
            return (try row?.value("n") ?? 0, UInt64(max(0, bytes)))
        }
    }

    func photos(_ clause: String, _ arguments: StatementArguments) throws(CatalogueError) -> [StoredPhoto] {
        try read("reading photos") { db in
            try Row.fetchAll(db, sql: "SELECT \(StoredPhoto.columns) FROM photo \(clause)", arguments: arguments).map {
                try StoredPhoto($0)
            }
        }
    }
}
