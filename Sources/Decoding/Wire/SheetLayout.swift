/// The layout of a contact sheet's page, in pixels, for both sides.
package struct SheetLayout: Hashable, Sendable {
    /// The size of a letter of the built-in font.
    package static let letter = (width: 8, height: 13)
    /// The largest side of a JPEG.
    package static let mostPixels = 65_500
    /// Of the page.
    package static let mostArea = 200_000_000
    package static let margin = 24
    package static let gap = 16

    package let tiles: Int
    package let columns: Int
    /// The side of a tile's picture.
    package let side: Int

    /// Nil without tiles, or if the page would be too large.
    package init?(tiles: Int, columns: Int, side: Int) {
        guard (1...10_000).contains(tiles), (1...64).contains(columns), (64...1_024).contains(side) else { return nil }
        self.tiles = tiles
        self.columns = min(tiles, columns)
        self.side = side
        guard max(width, height) <= Self.mostPixels, width * height <= Self.mostArea else { return nil }
    }

    /// The number of columns that makes the page a little wider than high.
    package static func columns(for tiles: Int) -> Int {
        var columns = 1
        while columns < 16, columns * columns * 3 < tiles * 4 { columns += 1 }
        return columns
    }

    package var rows: Int { (tiles + columns - 1) / columns }
    package var width: Int { 2 * Self.margin + columns * side + (columns - 1) * Self.gap }
    package var height: Int {
        2 * Self.margin + Self.titleHeight + rows * (side + Self.captionHeight) + (rows - 1) * Self.gap
    }
    /// The size in the request.
    package var longerSide: Int { max(width, height) }

    /// Letters that fit below a tile.
    package var letters: Int { side / Self.letter.width }
    /// Letters that fit into the title.
    package var titleLetters: Int { (width - 2 * Self.margin) / Self.letter.width }

    /// The upper left corner of a tile's picture.
    package func place(of tile: Int) -> (x: Int, y: Int) {
        (
            Self.margin + tile % columns * (side + Self.gap),
            Self.margin + Self.titleHeight + tile / columns * (side + Self.captionHeight + Self.gap)
        )
    }

    /// A line's upper edge below a tile's picture.
    package static func captionOffset(line: Int) -> Int { 4 + line * (letter.height + 2) }

    private static let titleHeight = 30
    /// Two lines.
    private static let captionHeight = captionOffset(line: 2)
}
