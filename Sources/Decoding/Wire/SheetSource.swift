/// The contents of a contact sheet, as one file for the decoder: a head, and for each tile two lines of text and a JPEG.
///
/// Neither side trusts the other, so reading returns a sheet or throws a ``WireError``, for any bytes. Numbers are
/// little-endian; texts are UTF-8 after their length (u16), pictures follow theirs (u32).
package struct SheetSource: Hashable, Sendable {
    package struct Tile: Hashable, Sendable {
        /// A file's name, for people.
        package var name: String
        /// The time when it was taken.
        package var time: String
        /// A JPEG; empty if there is none.
        package var picture: [UInt8]

        package init(name: String, time: String, picture: [UInt8]) {
            self.name = name
            self.time = time
            self.picture = picture
        }
    }

    /// The longest file, in bytes.
    package static let longest = 512 << 20
    /// The longest text, in characters.
    package static let longestText = 1_024
    private static let mark = Array("PISHEET1".utf8)

    package var title: String
    package var columns: Int
    package var side: Int
    package var tiles: [Tile]

    package init(title: String, columns: Int, side: Int, tiles: [Tile]) {
        self.title = title
        self.columns = columns
        self.side = side
        self.tiles = tiles
    }

    /// Nil if there is no such page.
    package var layout: SheetLayout? { SheetLayout(tiles: tiles.count, columns: columns, side: side) }

    package var encoded: [UInt8] {
        var bytes = Self.mark
        func put(_ value: Int, _ size: Int) {
            for index in 0..<size { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
        }
        func put(_ text: String) {
            let cut = Array(text.utf8.prefix(Self.longestText))
            put(cut.count, 2)
            bytes += cut
        }
        put(columns, 4)
        put(side, 4)
        put(tiles.count, 4)
        put(title)
        for tile in tiles {
            put(tile.name)
            put(tile.time)
            put(tile.picture.count, 4)
            bytes += tile.picture
        }
        return bytes
    }

    /// Reads a sheet. Invalid UTF-8 is replaced.
    package init(encoded bytes: [UInt8]) throws(WireError) {
        guard bytes.count <= Self.longest, bytes.starts(with: Self.mark) else { throw .value("sheet") }
        var position = Self.mark.count
        func take(_ count: Int) throws(WireError) -> ArraySlice<UInt8> {
            guard count <= bytes.count - position else { throw .length }
            defer { position += count }
            return bytes[position..<position + count]
        }
        func number(_ size: Int) throws(WireError) -> Int {
            try take(size).reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        func text() throws(WireError) -> String {
            let length = try number(2)
            guard length <= Self.longestText else { throw .length }
            return String(decoding: try take(length), as: UTF8.self)
        }
        columns = try number(4)
        side = try number(4)
        let count = try number(4)
        guard SheetLayout(tiles: count, columns: columns, side: side) != nil else { throw .value("page") }
        title = try text()
        tiles = []
        for _ in 0..<count {
            tiles.append(Tile(name: try text(), time: try text(), picture: Array(try take(try number(4)))))
        }
        guard position == bytes.count else { throw .length }
    }
}
