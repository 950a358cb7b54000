import FileValues
import Foundation
import GRDB
import Testing

@testable import Catalogue

@Suite("Rows of damaged photos", .withEachEngine)
struct DamageRowsTests {
    @Test("Damaged photos are listed in order, from any of them on, until they are intact")
    func damaged() throws {
        let place = try Place()
        let catalogue = try place.open()
        let photos = try [1, 2, 3].map { try catalogue.file($0).photo }
        let library = photo(1).library
        #expect(
            try catalogue.record(damage: [photos[0]: "missing", photos[2]: "cut short"], at: noon) == [
                photos[0], photos[2],
            ])
        #expect(try catalogue.damagedPhotos(in: library, limit: 10).map(\.stored.id) == [photos[0], photos[2]])
        #expect(try catalogue.damagedPhotos(in: library, after: photos[0], limit: 10).map(\.stored.id) == [photos[2]])
        #expect(try catalogue.damagedPhotos(in: library, limit: 1).map(\.reason) == ["missing"])
        #expect(try catalogue.damagedPhotos(in: "/elsewhere", limit: 10).isEmpty)
        try catalogue.record(damage: [photos[0]: nil], at: noon)
        #expect(try catalogue.damagedCount(in: library) == 1)
    }

    /// The daemon queries on every tick, so the cost must not grow with the library.
    @Test("The query for damaged photos does not scan the library's photos", .tags(.file))
    func plan() throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        let database = try DatabaseQueue(path: place.path)
        for rest in ["", "AND photo_id > 0 ORDER BY photo_id LIMIT 100"] {
            let steps = try database.read { db in
                try Row.fetchAll(
                    db, sql: "EXPLAIN QUERY PLAN SELECT since \(CatalogueFile.isDamaged) \(rest)",
                    arguments: [Data(photo(1).library.bytes)]
                ).map { row -> String in row["detail"] }
            }
            #expect(steps.count == 2 && steps[1].hasPrefix("SEARCH photo USING INTEGER PRIMARY KEY"), "\(steps)")
        }
    }
}
