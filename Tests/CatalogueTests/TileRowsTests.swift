import FileValues
import TestSupport
import Testing

@testable import Catalogue

@Suite("Rows of the timeline", .withEachEngine)
struct TileRowsTests {
    /// A row of `photo`, as far as the timeline depends on it.
    private struct Photo {
        let id: Int64
        let set: Int64?
        let role: String?
        let captured: String?
        let hash: [UInt8]
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
        let mark: [UInt8]
    }

    /// What the timeline must show of the photos that there are.
    private static func model(_ db: any CatalogueTransaction) throws -> Set<Line> {
        let photos = try db.rows("SELECT * FROM photo").map { row in
            let role: String? = try row.optional("role")
            return Photo(
                id: try row.value("id"), set: try row.optional("set_id"), role: role,
                captured: try row.optional("captured"), hash: try row.value("sha256"),
                isShown: row["superseded_at"] == .null && role != "sidecar")
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
                    day: face.time.day, second: face.time.second, photo: face.id, kind: kind,
                    mark: Array(face.hash.prefix(4)))
            })
    }

    private static func expectExact(_ db: any CatalogueTransaction, _ comment: Comment) throws {
        let lines = try db.rows("SELECT * FROM tile").map { row in
            Line(
                day: try row.value("day"), second: try row.value("second"), photo: try row.value("photo_id"),
                kind: try row.value("kind"), mark: try row.value("mark"))
        }
        let expected = try model(db)
        try #require(Set(lines) == expected && lines.count == expected.count, comment)
        let days = try db.rows("SELECT day, photos FROM tile_day").map { row in
            [try row.value("day") as Int64, try row.value("photos")]
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

    private static func change(_ db: any CatalogueTransaction, _ chance: inout SeededGenerator) throws {
        func some(_ condition: String = "true") throws -> Int64? {
            try db.values(Int64.self, "SELECT id FROM photo WHERE \(condition) ORDER BY id").randomElement(
                using: &chance)
        }
        let photo = try some()
        switch Int.random(in: 0..<12, using: &chance) {
        case 0...3:
            let hash = (0..<32).map { _ in UInt8.random(in: 0...255, using: &chance) }
            try db.run(
                """
                INSERT INTO photo (filed_at, source_kept, sha256, size, library, library_path, inbox, source_path,
                    original_name, format, captured, proof, source_inode, source_modified, source_modified_ns,
                    source_changed, source_changed_ns, role, set_id)
                VALUES (0, 0, ?1, 1, ?5, ?1, 'card', ?1, ?1, 'jpeg', ?2, '', 0, 0, 0, 0, 0, ?3, ?4)
                """,
                [
                    hash, dates.randomElement(using: &chance) ?? nil, roles.randomElement(using: &chance) ?? nil,
                    Bool.random(using: &chance) ? photo : nil, "/" as BytePath,
                ])
        case 4, 5:
            // Early or late into a set, and out of it.
            let set = try [some(), some("set_id IS NOT NULL"), nil].randomElement(using: &chance) ?? nil
            try db.run("UPDATE photo SET set_id = ? WHERE id = ?", [set, photo])
        case 6, 7:
            try db.run(
                "UPDATE photo SET superseded_at = CASE WHEN superseded_at IS NULL THEN 5 END WHERE id = ?", [photo])
        case 8:
            let captured = dates.randomElement(using: &chance) ?? nil
            try db.run("UPDATE photo SET captured = ? WHERE id = ?", [captured, photo])
        case 9:
            let role = roles.randomElement(using: &chance) ?? nil
            try db.run("UPDATE photo SET role = ? WHERE id = ?", [role, photo])
        case 10:
            try db.run("DELETE FROM metadata_due WHERE photo_id = ?", [photo])
            try db.run("DELETE FROM photo WHERE id = ?", [photo])
        default:
            // Many rows by one statement.
            try db.run(
                """
                UPDATE photo SET set_id = CASE id % 3 WHEN 0 THEN CAST(? AS BIGINT) END, superseded_at = NULL
                WHERE id % 7 = ?
                """,
                [photo, Int.random(in: 0..<7, using: &chance)])
        }
    }

    @Test("It is what a query over all photos says, after each of many changes, and when an older catalogue is opened")
    func model() throws {
        let place = try Place()
        var chance = SeededGenerator(seed: 17)
        let catalogue = try place.open()
        try catalogue.write("changing rows") { db in
            for number in 0..<400 {
                try Self.change(db, &chance)
                try Self.expectExact(db, "change \(number)")
            }
            #expect(try db.value(Int.self, "SELECT count(*) FROM tile") ?? 0 > 20)
            // The state of an older version. PostgreSQL had none.
            guard TestEngine.current == .sqlite else { return }
            for trigger in try db.values(
                String.self, "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'tile%'")
            {
                try db.run("DROP TRIGGER \(trigger)")
            }
            for table in ["tile", "tile_day"] { try db.run("DROP TABLE \(table)") }
            try db.run("DELETE FROM grdb_migrations WHERE identifier = '17 tiles'")
        }
        catalogue.close()
        try place.open().write("changing rows") { db in
            try Self.expectExact(db, "opened again")
            for number in 0..<50 {
                try Self.change(db, &chance)
                try Self.expectExact(db, "change \(number) after that")
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
        try catalogue.write("inserting photos") { db in
            for i in 1...3_000 {
                let number = "\(i)"
                let hash = Array((String(repeating: "0", count: 32 - number.count) + number).utf8)
                try db.run(
                    """
                    INSERT INTO photo (filed_at, source_kept, sha256, size, library, library_path, inbox, source_path,
                        original_name, format, captured, proof, source_inode, source_modified, source_modified_ns,
                        source_changed, source_changed_ns, role, set_id)
                    VALUES (0, 0, ?, 1, ?, ?, 'card', ?, ?, 'jpeg', ?, '', 0, 0, 0, 0, 0, ?, ?)
                    """,
                    [
                        hash, "/" as BytePath, Array(number.utf8), "/" as BytePath, "/" as BytePath,
                        String(FileTime(seconds: Int64(-i * 3_600), nanoseconds: 0).rfc3339.prefix(19)),
                        i % 10 == 0 ? "raw" : nil,
                        i % 10 == 0 || i % 10 == 1 && i > 1 ? (i + 8) / 10 : nil,
                    ])
            }
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
        let one = try #require(try catalogue.tiles(of: 20_778, from: 0, count: 500).tiles.first)
        let (highest, counts) =
            switch TestEngine.current {
            case .sqlite: ("UPDATE sqlite_sequence SET seq = 4294967295 WHERE name = 'photo'", "tile_day")
            case .postgresql: ("SELECT setval(pg_get_serial_sequence('photo', 'id'), 4294967295)", "tile_count")
            }
        let cases: [(change: String, value: [UInt8]?, photo: UInt32, kind: UInt8, mark: [UInt8]?)] = [
            (highest, nil, .max, one.kind, nil), ("UPDATE tile SET mark = ?", [5], one.photo, one.kind, [5, 0, 0, 0]),
            ("UPDATE tile SET kind = 300", nil, one.photo, 255, one.mark),
            ("UPDATE \(counts) SET photos = -1", nil, one.photo, one.kind, one.mark),
        ]
        for (change, value, photo, kind, mark) in cases {
            try catalogue.write("changing rows") { db in _ = try db.rows(change, value.map { [$0] } ?? []) }
            if change == highest { try catalogue.file(2) }
            let found = try catalogue.tiles(of: 20_778, from: 0, count: 500)
            let shown = try #require(found.tiles.first, "\(change)")
            #expect(shown.photo == photo && shown.kind == kind && shown.second == one.second, "\(change)")
            #expect(mark.map { $0 == shown.mark } ?? (shown.mark != one.mark), "\(change)")
            #expect(try catalogue.days().map(\.photos) == (found.all > 0 ? [found.all] : []), "\(change)")
            try catalogue.write("changing rows") { db in
                try db.run("DELETE FROM tile")
                try db.run("DELETE FROM \(counts)")
                try db.run("UPDATE photo SET superseded_at = NULL WHERE id = 1")
            }
            #expect(try catalogue.tiles(of: 20_778, from: 0, count: 500).tiles.count == 1)
        }
    }
}
