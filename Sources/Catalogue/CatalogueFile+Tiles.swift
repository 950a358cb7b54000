/// A photo or a set in the timeline.
package struct Tile: Hashable, Sendable {
    /// Days since 1970 of the local time as recorded; ``noDay`` without one.
    package let day: Int32
    /// Of that day.
    package let second: UInt32
    /// The photo that stands for its set.
    package let photo: UInt32
    /// 1: there is a raw file beside the picture, 2: there is a film. 4: it is a film, 8: it is a raw file.
    package let kind: UInt8
    /// How the SHA-256 of its content begins: four bytes.
    package let mark: [UInt8]

    package static let noDay = Schema.noDay
    /// What fits beside ``kind``.
    fileprivate static let lastSecond: UInt32 = 0xFF_FFFF

    /// Whether it is older than another, or has no date: then it comes later in the timeline.
    fileprivate func isOlder(_ other: Tile) -> Bool {
        func order(_ tile: Tile) -> (Int32, UInt32, UInt32) {
            (tile.day == Self.noDay ? .min : tile.day, tile.second, tile.photo)
        }
        return order(self) < order(other)
    }
}

/// At most so many results, and whether there were more.
package struct Bounded<Value: Sendable>: Sendable {
    package let values: [Value]
    package let isCut: Bool
}

extension CatalogueFile {
    /// The days that have photos, and how many; the newest first, and those without a date last.
    package func days() throws(CatalogueError) -> [(day: Int32, photos: UInt32)] {
        try read("reading the days of photos") { db in
            var days: [(day: Int32, photos: UInt32)] = []
            var undated: UInt32 = 0
            try db.each("SELECT day, photos FROM tile_day WHERE photos > 0 ORDER BY day DESC") { row in
                let photos: UInt32 = Self.number(row, 1)
                if let day = Int32(sqlValue: row[0]), day != Tile.noDay {
                    days.append((day, photos))
                } else {
                    undated = UInt32(clamping: UInt64(undated) + UInt64(photos))
                }
            }
            if undated > 0 { days.append((Tile.noDay, undated)) }
            return days
        }
    }

    /// Some photos of a day, the newest first, and how many it has, as of one moment.
    package func tiles(
        of day: Int32, from first: Int, count: Int
    ) throws(CatalogueError) -> (tiles: [Tile], all: UInt32) {
        try read("reading the photos of a day") { db in
            // Of days that are none there are rows only if something else wrote them: without, the order is that of the table.
            let others = "day < \(Int32.min) OR day > \(Tile.noDay)"
            let areThere =
                day == Tile.noDay
                ? try db.value(Bool.self, "SELECT EXISTS (SELECT 1 FROM tile_day WHERE \(others))") : false
            let isMeant = areThere == true ? "(day = ? OR \(others))" : "day = ?"
            let all = try db.first(
                "SELECT CAST(sum(photos) AS BIGINT) FROM tile_day WHERE photos > 0 AND \(isMeant)", [day])
            var tiles: [Tile] = []
            try db.each(
                """
                SELECT day, second, photo_id, kind, mark FROM tile WHERE \(isMeant)
                ORDER BY second DESC, photo_id DESC LIMIT ? OFFSET ?
                """, [day, count, first]
            ) { tiles.append(Self.tile($0)) }
            return (tiles, all.map { Self.number($0, 0) } ?? 0)
        }
    }

    /// The content's hash of a photo that is in the library; nil for one that is not any more.
    package func hash(ofPhoto id: Int64) throws(CatalogueError) -> [UInt8]? {
        try read("reading a photo") { db in
            try db.first("SELECT sha256 FROM photo WHERE id = ? AND superseded_at IS NULL", [id])?.bytes("sha256")
        }
    }

    /// The photos and sets that match, in the order of the timeline: those of the `limit` files that were filed last. Ends with
    /// ``CatalogueError/Code/interrupted`` when `goesOn` does not hold any more.
    package func tiles(
        matching query: SearchQuery, limit: Int, while goesOn: @escaping () -> Bool
    ) throws(CatalogueError) -> Bounded<Tile> {
        var query = query
        query.limit = limit + 1
        let (found, arguments) = Self.statement(query, columns: "p.id AS id, p.set_id AS set_id", words)
        return try read("searching", while: goesOn) { db in
            // Several files of a set may be found. A temporary index for this, and for the order, takes SQLite much longer.
            var tiles: Set<Tile> = []
            var files = 0
            try db.scan(
                """
                SELECT tile.day, tile.second, tile.photo_id, tile.kind, tile.mark FROM (\(found)) AS one
                LEFT JOIN tile ON tile.photo_id = CASE WHEN one.set_id IS NULL THEN one.id ELSE (
                    SELECT photo_id FROM tile WHERE photo_id IN (
                        SELECT id FROM photo AS member WHERE member.set_id = one.set_id)) END
                """, arguments
            ) { row in
                files += 1
                if files <= limit, row[2] != .null { tiles.insert(Self.tile(row)) }
                return files <= limit
            }
            return Bounded(values: tiles.sorted { $1.isOlder($0) }, isCut: files > limit)
        }
    }

    /// What is no day is shown without a date.
    private static func tile(_ row: SQLRow) -> Tile {
        Tile(
            day: Int32(sqlValue: row[0]) ?? Tile.noDay, second: min(number(row, 1), Tile.lastSecond),
            photo: number(row, 2), kind: number(row, 3), mark: mark(row, 4))
    }

    /// A number that something else may have written: the nearest that there is, so that the order stays. One row hides no others.
    static func number<Number: FixedWidthInteger>(_ row: SQLRow, _ index: Int) -> Number {
        Number(clamping: Int64(sqlValue: row[index]) ?? 0)
    }

    static func mark(_ row: SQLRow, _ index: Int) -> [UInt8] {
        let mark = [UInt8](sqlValue: row[index]) ?? []
        return mark.count == 4 ? mark : Array((mark + [0, 0, 0, 0]).prefix(4))
    }
}
