import FileValues
import Foundation
package import PhotoModel

/// Conditions of a search; all must hold.
package struct SearchQuery: Hashable, Sendable {
    /// Words, or prefixes of words, of any text: name, title, caption, keywords, people, place, camera and lens.
    package var words: [String] = []
    package var keywords: [String] = []
    package var people: [String] = []
    package var place: String?
    package var title: String?
    /// Parts of the names of the camera, the lens and the original file, ignoring the case of ASCII letters.
    package var camera: String?
    package var lens: String?
    package var name: String?
    /// At least this many stars.
    package var rating: Int?
    /// Where it was taken.
    package var area: SearchArea?
    /// Local times or prefixes of them; the range includes every time that begins with the second.
    package var takenFrom: String?
    package var takenUntil: String?
    package var inbox: String?
    /// Search arrivals with this outcome instead of filed photos.
    package var outcome: OutcomeKind?
    package var limit = 50

    package init() {}
}

/// A part of the Earth, in degrees; north and east are positive.
package enum SearchArea: Hashable, Sendable {
    /// It crosses the 180th meridian if `west` is greater than `east`.
    case box(west: Double, south: Double, east: Double, north: Double)
    /// At most `radius` metres from a position.
    case circle(latitude: Double, longitude: Double, radius: Double)

    /// A box around it; more than the circle.
    var box: (west: Double, south: Double, east: Double, north: Double) {
        switch self {
        case .box(let west, let south, let east, let north): return (west, south, east, north)
        case .circle(let latitude, let longitude, let radius):
            let height = radius / Self.degree * 1.01
            let (south, north) = (latitude - height, latitude + height)
            let narrowest = cos(min(90, max(abs(south), abs(north))) * .pi / 180)
            guard narrowest > 0.01, height / narrowest < 180 else { return (-180, south, 180, north) }
            func wrapped(_ degrees: Double) -> Double {
                degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees
            }
            return (wrapped(longitude - height / narrowest), south, wrapped(longitude + height / narrowest), north)
        }
    }

    /// The arguments of `is_inside`, from which ``init(numbers:)`` makes it again.
    var numbers: [Double] {
        switch self {
        case .box(let west, let south, let east, let north): [west, south, east, north]
        case .circle(let latitude, let longitude, let radius): [latitude, longitude, radius]
        }
    }

    init?(numbers: some RandomAccessCollection<Double>) {
        let numbers = Array(numbers)
        switch numbers.count {
        case 4: self = .box(west: numbers[0], south: numbers[1], east: numbers[2], north: numbers[3])
        case 3: self = .circle(latitude: numbers[0], longitude: numbers[1], radius: numbers[2])
        default: return nil
        }
    }

    /// Metres of a degree of a great circle, with the mean radius of the Earth.
    private static let degree = 6_371_008.8 * .pi / 180

    /// Metres between two positions on a sphere, which are wrong by at most 0.6 %.
    static func distance(
        _ one: (latitude: Double, longitude: Double), _ other: (latitude: Double, longitude: Double)
    ) -> Double {
        func square(_ value: Double) -> Double { value * value }
        let (north, south) = (one.latitude * .pi / 180, other.latitude * .pi / 180)
        let chord =
            square(sin((north - south) / 2))
            + cos(north) * cos(south) * square(sin((one.longitude - other.longitude) * .pi / 360))
        return 2 * asin(min(1, chord.squareRoot())) * 180 / .pi * degree
    }

    /// Whether a position is in it.
    func contains(latitude: Double, longitude: Double) -> Bool {
        switch self {
        case .box(let west, let south, let east, let north):
            let isBetween =
                west <= east ? west <= longitude && longitude <= east : west <= longitude || longitude <= east
            return isBetween && south <= latitude && latitude <= north
        case .circle(let north, let east, let radius):
            return Self.distance((north, east), (latitude, longitude)) <= radius
        }
    }
}

/// A search result: a photo with its description and metadata, or an outcome.
package struct SearchHit: Hashable, Sendable {
    package let photo: StoredPhoto?
    package let description: PhotoDescription?
    package let metadata: MetadataDecision?
    /// Set if outcomes were searched.
    package let outcome: StoredOutcome?
}

extension CatalogueFile {
    /// Returns the matches, newest first, as of one moment.
    package func search(_ query: SearchQuery) throws(CatalogueError) -> [SearchHit] {
        try read("searching") { db in
            let outcome = query.outcome == nil ? "NULL" : "o.id"
            let (sql, arguments) = Self.statement(
                query, columns: "p.id AS photo_id, d.id AS description_id, m.whole AS whole, \(outcome) AS outcome_id",
                db.words)
            return try db.rows(sql, arguments).map { row in
                let photo = try (row.optional("photo_id") as Int64?).flatMap { id in
                    try db.first("SELECT \(StoredPhoto.columns) FROM photo WHERE id = ?", [id])
                        .map { try StoredPhoto($0) }
                }
                let outcome = try (row.optional("outcome_id") as Int64?).flatMap { id in
                    try db.first("SELECT * FROM outcome WHERE id = ?", [id]).map { try StoredOutcome($0) }
                }
                return SearchHit(
                    photo: photo, description: try PhotoDescription(id: row.optional("description_id"), db),
                    metadata: MetadataDecision(row: row), outcome: outcome)
            }
        }
    }

    /// Returns the description of a photo.
    package func description(ofHash sha256: [UInt8]) throws(CatalogueError) -> PhotoDescription? {
        try read("reading a description") { db in
            try db.first("SELECT * FROM description WHERE sha256 = ?", [sha256])
                .map { try PhotoDescription($0) }
        }
    }

    /// Calls `body` with every filed photo, its description and its metadata, oldest first, as of one moment. Holds one
    /// photo in memory.
    package func eachPhoto(
        _ body: (StoredPhoto, PhotoDescription?, MetadataDecision?) throws -> Void
    ) throws(CatalogueError) {
        try read("reading photos") { db in
            try db.each(
                """
                SELECT photo.*, (SELECT max(id) FROM outcome WHERE photo_id = photo.id AND outcome = 'filed') AS operation,
                    d.id AS described, d.title AS title, d.keywords AS keywords, d.rating AS rating, d.taken AS taken,
                    d.place AS place, m.whole AS whole
                FROM photo LEFT JOIN description AS d ON d.sha256 = photo.sha256
                LEFT JOIN metadata AS m ON m.photo_id = photo.id
                WHERE superseded_at IS NULL AND role IS DISTINCT FROM 'sidecar' ORDER BY photo.id
                """
            ) { row in
                try body(
                    try StoredPhoto(row), row["described"] == .null ? nil : try PhotoDescription(row),
                    MetadataDecision(row: row))
            }
        }
    }

    /// A statement for `columns` of p (photo), d (description), m (metadata) and, where outcomes are searched, o.
    static func statement(
        _ query: SearchQuery, columns: String, _ words: EngineWords
    ) -> (String, SQLArguments) {
        var conditions: [String] = []
        var arguments: [(any SQLConvertible)?] = []
        func require(_ condition: String, _ value: (any SQLConvertible)?) {
            guard let value else { return }
            conditions.append(condition)
            arguments.append(value)
        }
        // The index of texts returns the newest first, so that it is read only until there are enough.
        let match = words.texts.query(query)
        let startsWithTexts = match != nil && query.outcome == nil
        let hasTexts = "p.id IN (SELECT \(words.texts.photo) FROM photo_text WHERE \(words.texts.matches))"
        func contains(_ text: String) -> String { words.contains(text, "?") }
        require(
            startsWithTexts ? words.texts.matches : hasTexts,
            query.outcome == nil || query.words.isEmpty ? match : nil)
        // A file with an outcome may be no photo: then its path is all that is known of it.
        if query.outcome != nil, !query.words.isEmpty, let match {
            let inPath = query.words.map { _ in contains(words.text("o.path")) }
            conditions.append("(\(hasTexts) OR \(inPath.joined(separator: " AND ")))")
            arguments.append(match)
            for word in query.words { arguments.append(word) }
        }
        if startsWithTexts { conditions.append("p.id = photo_text.\(words.texts.photo)") }
        if let area = query.area {
            let box = area.box
            func isBetween(_ north: String, _ south: String, _ east: String, _ west: String) -> String {
                "\(north) >= ? AND \(south) <= ? AND (\(east) >= ? \(box.west <= box.east ? "AND" : "OR") \(west) <= ?)"
            }
            let rough =
                startsWithTexts
                ? isBetween("m.latitude", "m.latitude", "m.longitude", "m.longitude")
                : "p.id IN (SELECT id FROM photo_position WHERE \(isBetween("north", "south", "east", "west")))"
            // The index rounds, and a box is more than a circle.
            let marks = area.numbers.map { _ in ", ?" }.joined()
            conditions.append("\(rough) AND is_inside(m.latitude, m.longitude\(marks))")
            arguments += [box.south, box.north, box.west, box.east] + area.numbers
        }
        require(contains("p.camera"), query.camera)
        require(contains("m.lens"), query.lens)
        let name = query.outcome == nil ? "p.original_name" : "o.path"
        require(contains(words.text(name)), query.name)
        require("coalesce(d.rating, m.rating) >= ?", query.rating)
        require("coalesce(p.captured, d.taken) >= ?", query.takenFrom)
        // Everything that begins with the value sorts before this.
        require("coalesce(p.captured, d.taken) < ?", query.takenUntil.map { $0 + "\u{7F}" })
        require("\(query.outcome == nil ? "p" : "o").inbox = ?", query.inbox)
        require("o.outcome = ?", query.outcome?.rawValue)
        let source =
            query.outcome == nil
            ? """
            \(startsWithTexts ? "photo_text CROSS JOIN photo AS p" : "photo AS p")
            LEFT JOIN description AS d ON d.sha256 = p.sha256
            LEFT JOIN metadata AS m ON m.photo_id = p.id
            """
            : """
            outcome AS o LEFT JOIN photo AS p ON p.id = o.photo_id
            LEFT JOIN description AS d ON d.sha256 = coalesce(p.sha256, o.sha256)
            LEFT JOIN metadata AS m ON m.photo_id = p.id
            """
        if query.outcome == nil { conditions.append("p.superseded_at IS NULL") }
        arguments.append(query.limit)
        // PostgreSQL's planner does not see the value: with a small one it would rather read all texts, the newest first, than find
        // a rare word in the index.
        return (
            "SELECT \(columns) FROM \(source) WHERE \(conditions.joined(separator: " AND ")) ORDER BY "
                + (startsWithTexts ? "photo_text.\(words.texts.photo)" : query.outcome == nil ? "p.id" : "o.id")
                + " DESC LIMIT (SELECT CAST(? AS BIGINT))",
            arguments
        )
    }
}

extension PhotoDescription {
    fileprivate init?(id: Int64?, _ db: any CatalogueTransaction) throws {
        guard let id, let row = try db.first("SELECT * FROM description WHERE id = ?", [id])
        else { return nil }
        try self.init(row)
    }

    fileprivate init(_ row: SQLRow) throws {
        let keywords: String? = try row.optional("keywords")
        self.init(
            title: try row.optional("title"), keywords: keywords?.split(separator: "\n").map(String.init) ?? [],
            rating: try row.optional("rating"), taken: try row.optional("taken"), place: try row.optional("place"))
    }
}
