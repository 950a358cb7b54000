import Catalogue
import FileValues
import Foundation
import GRDB
import TestSupport
import Testing

@Suite("Rows of the timeline")
struct TileRowsTests {
    /// A row of `photo`, as far as the timeline depends on it.
    private struct Photo {
        let id: Int64
        let set: Int64?
        let role: String?
        let captured: String?
        let hash: Data
        let isShown: Bool

        var rank: Int { role == "raw" ? 1 : role == "film" ? 2 : 0 }

        /// The day and its second, by arithmetic of its own.
        var time: (day: Int64, second: Int64) {
            guard let captured, let match = captured.prefixMatch(of: #/(\d{4})-(\d\d)-(\d\d)/#),
                let year = Int64(match.1), let month = Int64(match.2), let day = Int64(match.3),
                (1...12).contains(month), (1...31).contains(day)
            else { return (Int64(Tile.noDay), 0) }
            // Days of the years before, each of which begins in March.
            let (y, m) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
            let era = y >= 0 ? y / 400 : (y - 399) / 400
            let inEra = y - era * 400
            let days = era * 146_097 + inEra * 365 + inEra / 4 - inEra / 100 + (153 * m + 2) / 5 + day - 1 - 719_468
            guard let clock = captured.dropFirst(10).prefixMatch(of: #/T(\d\d):(\d\d):(\d\d)/#),
                let hour = Int64(clock.1),
                let minute = Int64(clock.2), let second = Int64(clock.3)
            else { return (days, 0) }
            return (days, min(86_399, hour * 3_600 + minute * 60 + second))
        }
    }

    private struct Line: Hashable {
        let day: Int64
        let second: Int64
        let photo: Int64
        let kind: Int64
        let mark: Data
    }

    /// What the timeline must show of the photos that there are.
    private static func model(_ db: Database) throws -> Set<Line> {
        let photos = try Row.fetchAll(db, sql: "SELECT * FROM photo").map { row in
            Photo(
                id: row["id"], set: row["set_id"], role: row["role"], captured: row["captured"], hash: row["sha256"],
                isShown: (row["superseded_at"] as Int64?) == nil && (row["role"] as String?) != "sidecar")
        }
        let sets = Dictionary(grouping: photos.filter(\.isShown)) { $0.set.map { "set \($0)" } ?? "photo \($0.id)" }
        return Set(
            sets.values.compactMap { members in
                guard let face = members.min(by: { ($0.rank, $0.id) < ($1.rank, $1.id) }) else { return nil }
                let (hasRaw, hasFilm) = (members.contains { $0.rank == 1 }, members.contains { $0.rank == 2 })
                let kind: Int64 =
                    switch face.rank {
                    case 0: (hasRaw ? 1 : 0) + (hasFilm ? 2 : 0)
                    case 1: 8
                    default: 4
                    }
                return Line(
                    day: face.time.day, second: face.time.second, photo: face.id, kind: kind, mark: face.hash.prefix(4))
            })
    }

    private static func expectExact(_ db: Database, _ comment: Comment) throws {
        let lines = try Row.fetchAll(db, sql: "SELECT * FROM tile").map { row in
            Line(
                day: row["day"], second: row["second"], photo: row["photo_id"], kind: row["kind"], mark: row["mark"])
        }
        let expected = try model(db)
        try #require(Set(lines) == expected && lines.count == expected.count, comment)
        let days = try Row.fetchAll(db, sql: "SELECT day, photos FROM tile_day").map { row in
            [row["day"] as Int64, row["photos"] as Int64]
        }
        let counts = Dictionary(grouping: lines, by: \.day).map { [$0.key, Int64($0.value.count)] }
        try #require(Set(days) == Set(counts) && days.count == counts.count, comment)
    }

    private static let dates: [String?] = [
        nil, "2026-11-21T14:07:31", "2026-11-21T14:07:32", "2026-11-21", "1969-12-31T23:59:59", "0000-02-29T00:00:00",
        "9999-12-31T23:59:59", "2023-02-31T10:00:00", "2024-13-01T00:00:00", "2026-11-21T99:99:99", "now", "2459607.05",
        "2026-11-21T1", "12:00", "", "2026-11-21T14:07:31.5+01:00", "1970-01-01T00:00:00",
    ]
    private static let roles: [String?] = [nil, "picture", "raw", "film", "sidecar", "of a newer version"]

    private static func change(_ db: Database, _ chance: inout SeededGenerator) throws {
        func some(_ condition: String = "true") throws -> Int64? {
            try Int64.fetchAll(db, sql: "SELECT id FROM photo WHERE \(condition) ORDER BY id").randomElement(
                using: &chance)
        }
        let photo = try some()
        switch Int.random(in: 0..<12, using: &chance) {
        case 0...3:
            let hash = Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &chance) })
            try db.execute(
                sql: """
                    INSERT INTO photo (filed_at, source_kept, sha256, size, library, library_path, inbox, source_path,
                        original_name, format, captured, proof, source_inode, source_modified, source_modified_ns,
                        source_changed, source_changed_ns, role, set_id)
                    VALUES (0, 0, ?1, 1, x'2f', ?1, 'card', ?1, ?1, 'jpeg', ?2, '', 0, 0, 0, 0, 0, ?3, ?4)
                    """,
                arguments: [
                    hash, dates.randomElement(using: &chance) ?? nil, roles.randomElement(using: &chance) ?? nil,
                    Bool.random(using: &chance) ? photo : nil,
                ])
        case 4, 5:
            // Early or late into a set, and out of it.
            let set = try [some(), some("set_id IS NOT NULL"), nil].randomElement(using: &chance) ?? nil
            try db.execute(sql: "UPDATE photo SET set_id = ? WHERE id = ?", arguments: [set, photo])
        case 6, 7:
            try db.execute(
                sql: "UPDATE photo SET superseded_at = CASE WHEN superseded_at IS NULL THEN 5 END WHERE id = ?",
                arguments: [photo])
        case 8:
            let captured = dates.randomElement(using: &chance) ?? nil
            try db.execute(sql: "UPDATE photo SET captured = ? WHERE id = ?", arguments: [captured, photo])
        case 9:
            let role = roles.randomElement(using: &chance) ?? nil
            try db.execute(sql: "UPDATE photo SET role = ? WHERE id = ?", arguments: [role, photo])
        case 10:
            try db.execute(sql: "DELETE FROM metadata_due WHERE photo_id = ?", arguments: [photo])
            try db.execute(sql: "DELETE FROM photo WHERE id = ?", arguments: [photo])
        default:
            // Many rows by one statement.
            try db.execute(
                sql: """
                    UPDATE photo SET set_id = CASE id % 3 WHEN 0 THEN ? END, superseded_at = NULL WHERE id % 7 = ?
                    """,
                arguments: [photo, Int.random(in: 0..<7, using: &chance)])
        }
    }

    @Test("It is what a query over all photos says, after each of many changes, and when an older catalogue is opened")
    func model() throws {
        let place = try Place()
        try place.open().close()
        let queue = try DatabaseQueue(path: place.path)
        var chance = SeededGenerator(seed: 17)
        try queue.write { db in
            for number in 0..<400 {
                try Self.change(db, &chance)
                try Self.expectExact(db, "change \(number)")
            }
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM tile") ?? 0 > 20)
            // The state of an older version.
            for trigger in try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'tile%'")
            {
                try db.execute(sql: "DROP TRIGGER \(trigger)")
            }
            try db.execute(sql: "DROP TABLE tile; DROP TABLE tile_day")
            try db.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = '17 tiles'")
        }
        try place.open().close()
        try queue.write { db in
            try Self.expectExact(db, "migrated")
            for number in 0..<50 {
                try Self.change(db, &chance)
                try Self.expectExact(db, "change \(number) after the migration")
            }
        }
    }

    @Test("A filing, its set, what replaces it and what is taken back are in it at once")
    func filings() throws {
        let place = try Place()
        let catalogue = try place.open()
        let first = try catalogue.file(1).photo
        func shown() throws -> [Int64] {
            try catalogue.days().flatMap { try catalogue.tiles(of: $0.day, from: 0, count: 500).tiles }
                .map { Int64($0.photo) }
        }
        #expect(try shown() == [first])
        #expect(try catalogue.hash(ofPhoto: first) == Array(repeating: 1, count: 32))
        let second = try catalogue.file(1, supersedes: first).photo
        #expect(try shown() == [second])
        #expect(try catalogue.hash(ofPhoto: first) == nil)
        let third = try catalogue.file(3).photo
        #expect(try shown() == [third, second])
        let day = try #require(try catalogue.days().first)
        #expect(day == (20_778, 2))
        let tile = try #require(try catalogue.tiles(of: day.day, from: 1, count: 1).tiles.first)
        #expect(tile.second == 50_851 && tile.kind == 0 && tile.mark == [1, 1, 1, 1])
        #expect(try catalogue.tiles(of: day.day, from: 2, count: 1).tiles.isEmpty)
        #expect(try catalogue.tiles(of: 5, from: 0, count: 500).all == 0)
    }

    @Test("A search gives the photos that were filed last, says that there are more, and ends when nobody waits for it")
    func searches() throws {
        let place = try Place()
        let catalogue = try place.open()
        try DatabaseQueue(path: place.path).write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 3000)
                    INSERT INTO photo (filed_at, source_kept, sha256, size, library, library_path, inbox, source_path,
                        original_name, format, captured, proof, source_inode, source_modified, source_modified_ns,
                        source_changed, source_changed_ns, role, set_id)
                    SELECT 0, 0, CAST(printf('%032d', i) AS BLOB), 1, x'2f', CAST(i AS BLOB), 'card', x'2f',
                        x'2f', 'jpeg', strftime('%Y-%m-%dT%H:%M:%S', -i * 3600, 'unixepoch'), '', 0, 0, 0, 0, 0,
                        CASE i % 10 WHEN 0 THEN 'raw' END, CASE WHEN i % 10 = 0 OR i % 10 = 1 AND i > 1 THEN (i + 8) / 10 END
                    FROM number
                    """)
        }
        var query = SearchQuery()
        query.inbox = "card"
        // Filed last, but taken first; the eleventh is the raw file of the tenth.
        let some = try catalogue.tiles(matching: query, limit: 11) { true }
        #expect(some.values.map(\.photo) == Array(2_991...3_000) && some.isCut)
        let all = try catalogue.tiles(matching: query, limit: 3_000) { true }
        #expect(!all.isCut && Set(all.values.map(\.photo)).count == all.values.count)
        #expect(all.values.count == 3_000 - 299)
        #expect(try catalogue.tiles(matching: query, limit: 2_999) { true }.isCut)
        var asked = 0
        let ended = try failure {
            _ = try catalogue.tiles(matching: query, limit: 3_000) {
                asked += 1
                return asked < 3
            }
        }
        #expect(ended.code == .interrupted && asked == 3)
        let earth = PlaceGrid(.box(west: -180, south: -90, east: 180, north: 90), width: 360, height: 180)
        #expect(try failure { _ = try catalogue.cells(of: earth, limit: 1) { false } }.code == .interrupted)
        #expect(try catalogue.tiles(matching: query, limit: 3_000) { true }.values == all.values)
    }

    @Test("What no address can have, or no row of this program has, is shown as near as can be, and hides no other row")
    func unreadable() throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        let queue = try DatabaseQueue(path: place.path)
        let one = try #require(try catalogue.tiles(of: 20_778, from: 0, count: 500).tiles.first)
        let cases: [(change: String, photo: UInt32, kind: UInt8, mark: [UInt8]?)] = [
            ("UPDATE sqlite_sequence SET seq = 4294967295 WHERE name = 'photo'", .max, one.kind, nil),
            ("UPDATE tile SET mark = x'05'", one.photo, one.kind, [5, 0, 0, 0]),
            ("UPDATE tile SET kind = 300", one.photo, 255, one.mark),
            ("UPDATE tile_day SET photos = -1", one.photo, one.kind, one.mark),
        ]
        for (change, photo, kind, mark) in cases {
            try queue.write { try $0.execute(sql: change) }
            if change.contains("sqlite_sequence") { try catalogue.file(2) }
            let found = try catalogue.tiles(of: 20_778, from: 0, count: 500)
            let shown = try #require(found.tiles.first, "\(change)")
            #expect(shown.photo == photo && shown.kind == kind && shown.second == one.second, "\(change)")
            #expect(mark.map { $0 == shown.mark } ?? (shown.mark != one.mark), "\(change)")
            #expect(try catalogue.days().map(\.photos) == (found.all > 0 ? [found.all] : []), "\(change)")
            try queue.write { db in
                try db.execute(sql: "DELETE FROM tile")
                try db.execute(sql: "DELETE FROM tile_day")
                try db.execute(sql: "UPDATE photo SET superseded_at = NULL WHERE id = 1")
            }
            #expect(try catalogue.tiles(of: 20_778, from: 0, count: 500).tiles.count == 1)
        }
    }
}
