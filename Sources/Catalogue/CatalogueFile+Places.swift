import PhotoModel

/// Photos of the timeline whose positions are in one cell of a grid over the Earth.
package struct PlaceCell: Hashable, Sendable {
    package let photos: Int
    /// The one that was filed last, and how the SHA-256 of its content begins.
    package let newest: UInt32
    package let mark: [UInt8]
    /// The names of its place in one line.
    package let place: String?
    /// The mean of the positions, in degrees.
    package let latitude: Double
    package let longitude: Double
    /// The box around them.
    package let west: Double
    package let south: Double
    package let east: Double
    package let north: Double
}

/// A box on the map, and the size of the cells in it; in degrees.
package struct PlaceGrid: Hashable, Sendable {
    package let area: SearchArea
    package let width: Double
    package let height: Double

    package init(_ area: SearchArea, width: Double, height: Double) {
        (self.area, self.width, self.height) = (area, width, height)
    }
}

extension CatalogueFile {
    /// Counts the photos of the timeline with positions by cells: the `limit` cells with the most, the fullest first. Ends as
    /// ``tiles(matching:limit:while:)`` does.
    package func cells(
        of grid: PlaceGrid, limit: Int, while goesOn: @escaping () -> Bool
    ) throws(CatalogueError) -> Bounded<PlaceCell> {
        try read("counting photos by their positions", while: goesOn) { db in
            let box = grid.area.box
            // What crosses the 180th meridian ends west of its beginning.
            let isBetween = box.west <= box.east ? "AND" : "OR"
            let column = db.words.truncated("(west + 180) / ?")
            let line = db.words.truncated("(south + 90) / ?")
            var cells: [PlaceCell] = []
            var isCut = false
            try db.scan(
                """
                WITH cell AS (
                    SELECT count(*) AS photos, max(id) AS newest, avg((south + north) / 2) AS latitude,
                        avg((west + east) / 2) AS longitude, min(west) AS west, min(south) AS south,
                        max(east) AS east, max(north) AS north
                    FROM photo_position CROSS JOIN tile
                    WHERE tile.photo_id = photo_position.id
                        AND north >= ? AND south <= ? AND (east >= ? \(isBetween) west <= ?)
                    GROUP BY \(column), \(line)
                    ORDER BY photos DESC, newest DESC LIMIT ?)
                SELECT cell.*, tile.mark AS mark, metadata.whole AS whole
                FROM cell CROSS JOIN tile LEFT JOIN metadata ON metadata.photo_id = newest
                WHERE tile.photo_id = newest
                ORDER BY photos DESC, newest DESC
                """,
                [box.south, box.north, box.west, box.east, grid.width, grid.height, limit + 1]
            ) { row in
                isCut = cells.count == limit
                if isCut { return false }
                cells.append(
                    PlaceCell(
                        photos: try row.value("photos"), newest: Self.number(row, 1),
                        mark: Self.mark(row, 8), place: MetadataDecision(row: row)?.placeText,
                        latitude: try row.value("latitude"), longitude: try row.value("longitude"),
                        west: try row.value("west"), south: try row.value("south"), east: try row.value("east"),
                        north: try row.value("north")))
                return true
            }
            return Bounded(values: cells, isCut: isCut)
        }
    }
}
