package import FileValues
import LinuxKernel
package import PhotoFormats
package import PhotoModel
import SystemPackage

/// The installed table of place names: a SQLite database that scripts/place-names has made. Another or a damaged file is
/// reported once, and then there are no names until it is replaced. For one thread at a time.
package final class PlaceNames {
    /// Metres within which a place counts as near. Farther away, the table cannot distinguish a desert from the sea.
    static let farthest = 30_000.0

    /// The table's version; nil if there is no table.
    package private(set) var version: String?
    private let paths: [BytePath]
    private let report: (String) -> Void
    private var known: (path: BytePath, device: UInt64, file: FileIdentity)?
    private var table: SQLiteEngine?

    /// Of these files the first that exists is the table. `report` gets a sentence for people.
    package init(_ paths: [BytePath], report: @escaping (String) -> Void) {
        (self.paths, self.report) = (paths, report)
    }

    /// Opens the table, unless it is open and still the same file.
    package func refresh() {
        let found = paths.lazy.compactMap { path in
            (try? FileStatus(at: path, followingLinks: true)).map { (path: path, status: $0) }
        }.first
        if let found, let known, known == (found.path, found.status.device, found.status.identity) { return }
        (table, version) = (nil, nil)
        known = found.map { ($0.path, $0.status.device, $0.status.identity) }
        guard let found else { return }
        do {
            guard found.status.kind == .regular else { throw Refusal(description: "it is no file") }
            (table, version) = try Self.open(found.path)
        } catch { refuse(error) }
    }

    /// Returns the place nearest to `position`; nil if none is near, or there is no table.
    package func place(near position: PhotoMetadata.Position) -> NearbyPlace? {
        guard let table else { return nil }
        do { return try table.read { try Self.nearest(to: position, $0) } } catch {
            refuse(error)
            return nil
        }
    }

    private struct Refusal: Error, CustomStringConvertible { let description: String }

    private func refuse(_ error: any Error) {
        (table, version) = (nil, nil)
        let reason = (error as? any EngineError)?.text ?? "\(error)"
        report("\(known?.path.escaped ?? "") is not used, so photos get no names of places: \(reason)")
    }

    // MARK: - The file

    /// The schema, to the letter: with another, a query could run any SQL of the file's author.
    private static let schema = [
        "about": "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
        "area": "CREATE TABLE area (id INTEGER PRIMARY KEY, code TEXT NOT NULL, country TEXT NOT NULL, region TEXT)",
        "place": "CREATE TABLE place (id INTEGER PRIMARY KEY, area INTEGER NOT NULL, name TEXT NOT NULL, city TEXT)",
        "place_position": "CREATE VIRTUAL TABLE place_position USING rtree (id, south, north, west, east)",
    ]

    private static func open(_ path: BytePath) throws -> (SQLiteEngine, String) {
        let path = try realPath(path)
        let directory = try openDirectory(path.parent)
        let header = try directory.openBeneath(path.name, [.read, .nonBlocking]).read(72)
        // Before SQLite reads it. In WAL mode SQLite would write beside it. See sqlite.org/fileformat.html, 1.3.
        guard header.count == 72, header.starts(with: Array("SQLite format 3\0".utf8)), header[18...19] == [1, 1],
            header[68...] == [0x50, 0x49, 0x4E, 0x4D]
        else { throw Refusal(description: "scripts/place-names has not made it") }
        let table = try SQLiteEngine(String(decoding: path.bytes, as: UTF8.self), for: .foreign)
        let version = try table.read { db in
            let shadows = ["node", "parent", "rowid"].map { "place_position_\($0)" }
            let entries = try db.rows("SELECT type, name, coalesce(sql, '') AS sql FROM sqlite_schema")
            let isOurs = try entries.allSatisfy { entry in
                let (type, name, sql): (String, String, String) = (
                    try entry.value("type"), try entry.value("name"), try entry.value("sql")
                )
                let isShadow = shadows.contains(name) && sql.hasPrefix("CREATE TABLE \"\(name)\"")
                return type == "table" && (isShadow || schema[name] == sql)
            }
            guard isOurs, entries.count == schema.count + shadows.count else {
                throw Refusal(description: "its tables are not those of this version")
            }
            let row = try db.first("SELECT value FROM about WHERE name = 'version'")
            guard let version: String = try row?.optional("value"), version.utf8.count == 64 else {
                throw Refusal(description: "it has no version")
            }
            return version
        }
        return (table, version)
    }

    // MARK: - Places

    private typealias Candidate = (id: Int64, distance: Double)

    private static func nearest(to position: PhotoMetadata.Position, _ db: any CatalogueTransaction) throws
        -> NearbyPlace?
    {
        var radius = 2_000.0
        var found = try places(within: radius, of: position, db)
        while found.isEmpty, radius < farthest {
            radius = min(radius * 4, farthest)
            found = try places(within: radius, of: position, db)
        }
        guard let nearest = found.min(by: { $0.distance < $1.distance }) else { return nil }
        var name = PhotoMetadata.PlaceName()
        let place = try row("place", nearest.id, db)
        let (part, city) = (try text(place, "name"), try text(place, "city"))
        (name.location, name.city) = city == nil ? (nil, part) : (part, city)
        // The border may run on this side of the place unless all others up to twice as far lie in the same area.
        if nearest.distance * 2 > radius { found = try places(within: nearest.distance * 2, of: position, db) }
        var numbers: Set<Int64> = []
        for candidate in found where candidate.distance <= nearest.distance * 2 {
            numbers.insert(try row("place", candidate.id, db).value("area"))
        }
        let areas = try numbers.map { number in
            let area = try row("area", number, db)
            return (try text(area, "code"), try text(area, "country"), try text(area, "region"))
        }
        if let one = areas.first, areas.allSatisfy({ $0.0 == one.0 }) {
            (name.countryCode, name.country) = (one.0, one.1)
            if areas.allSatisfy({ $0.2 == one.2 }) { name.region = one.2 }
        }
        return NearbyPlace(name, distance: nearest.distance)
    }

    private static func places(
        within radius: Double, of position: PhotoMetadata.Position, _ db: any CatalogueTransaction
    ) throws -> [Candidate] {
        let area = SearchArea.circle(latitude: position.latitude, longitude: position.longitude, radius: radius)
        let box = area.box
        let sides = box.west <= box.east ? "AND" : "OR"
        var found: [Candidate] = []
        try db.each(
            """
            SELECT id, (south + north) / 2, (west + east) / 2 FROM place_position
            WHERE north >= ? AND south <= ? AND (east >= ? \(sides) west <= ?)
            """, [box.south, box.north, box.west, box.east]
        ) { row in
            guard let id = Int64(sqlValue: row[0]), let north = Double(sqlValue: row[1]),
                let east = Double(sqlValue: row[2])
            else { throw UnreadableRow(column: "place_position") }
            let distance = SearchArea.distance((position.latitude, position.longitude), (north, east))
            if distance <= radius { found.append((id, distance)) }
        }
        return found
    }

    private static func row(_ table: String, _ id: Int64, _ db: any CatalogueTransaction) throws -> SQLRow {
        guard let row = try db.first("SELECT * FROM \(table) WHERE id = ?", [id]) else {
            throw UnreadableRow(column: "\(table).id")
        }
        return row
    }

    private static func text(_ row: SQLRow, _ column: String) throws -> String? {
        guard let text: String = try row.optional(column) else { return nil }
        return String(text.prefix(200))
    }
}
