import FileValues
import GRDB
import PhotoFormats
import PhotoModel
import Testing

@testable import Catalogue

@Suite("Metadata of photos is kept, and found by words, people and places", .withEachEngine)
struct MetadataRowsTests {
    private func decision(_ change: (inout PhotoMetadata) -> Void) -> MetadataDecision {
        var metadata = PhotoMetadata()
        change(&metadata)
        return MetadataDecision([.xmp: metadata])
    }

    private func record(
        _ catalogue: CatalogueFile, _ photo: Int64, _ change: (inout PhotoMetadata) -> Void
    ) throws {
        var batch = MetadataBatch()
        batch.add(decision(change), of: DuePhoto(stored: try #require(try catalogue.photo(id: photo)), turn: 0))
        try catalogue.record(batch)
    }

    private func due(_ catalogue: CatalogueFile) throws -> [Int64] {
        try catalogue.photosToRead(in: "/srv/photos", after: 0, limit: 100).map(\.stored.id)
    }

    private func describe(_ catalogue: CatalogueFile, _ number: UInt8, title: String, keywords: String = "") throws {
        var batch = DescriptionBatch()
        let key = batch.add(Array(repeating: number, count: 32))
        let (title, keywords) = (batch.add(title.utf8), batch.add(keywords.utf8))
        let none = batch.add([])
        batch.end(.content, key: key, title: title, keywords: keywords, rating: nil, taken: none, place: none)
        try catalogue.describe(batch, from: "table.csv", identity(99)) { _ in ImportPlace() }
    }

    private func found(_ catalogue: CatalogueFile, _ change: (inout SearchQuery) -> Void) throws -> [Int64] {
        var query = SearchQuery()
        change(&query)
        return try catalogue.search(query).compactMap { $0.photo?.id }
    }

    @Test("All of it comes back as it was recorded, with the version of the readers")
    func kept() throws {
        let place = try Place()
        let catalogue = try place.open()
        let photo = try catalogue.file(1).photo
        #expect(try due(catalogue) == [photo])
        let position = try #require(PhotoMetadata.Position(latitude: 54.32, longitude: 10.12))
        try record(catalogue, photo) { metadata in
            metadata.hierarchies = [["Places", "Kiel"]]
            metadata.position = position
            metadata.exposure.fNumber = 2.8
        }
        let kept = try #require(try catalogue.metadata(ofPhoto: photo))
        #expect(kept.chosen.position == position)
        #expect(kept.chosen.hierarchies == [["Places", "Kiel"]])
        #expect(kept.sources["position"] == .xmp)
        #expect(try due(catalogue).isEmpty)
        // A photo without any is recorded as read.
        try record(catalogue, photo) { _ in }
        #expect(try catalogue.metadata(ofPhoto: photo) == nil)
        #expect(try found(catalogue) { $0.words = ["kiel"] }.isEmpty)
        catalogue.close()
        let older = try place.open()
        try older.write("changing what an older version has read") { db in
            try db.run("UPDATE metadata_reader SET version = 0")
        }
        try older.renewMetadata(placeNames: nil)
        #expect(try due(older) == [photo], "an older version's readers found less")
        try record(older, photo) { _ in }
        try older.renewMetadata(placeNames: nil)
        #expect(try due(older).isEmpty)
    }

    @Test("Photos with a position are due again with another table of place names, and keep their names without one")
    func placeNames() throws {
        let place = try Place()
        let catalogue = try place.open()
        let photos = try (1...2).map { try catalogue.file($0).photo }
        let position = try #require(PhotoMetadata.Position(latitude: 48.57, longitude: 7.79))
        func record(_ name: PhotoMetadata.PlaceName?) throws {
            var batch = MetadataBatch()
            for due in try catalogue.photosToRead(in: "/srv/photos", after: 0, limit: 9) {
                var decision = decision { if due.stored.id == photos[0] { $0.position = position } }
                decision.nearby = name.map { NearbyPlace($0, distance: 10) }
                batch.add(decision, of: due)
            }
            try catalogue.record(batch)
        }
        try catalogue.renewMetadata(placeNames: nil)
        try record(nil)
        #expect(try due(catalogue).isEmpty)
        var name = PhotoMetadata.PlaceName()
        (name.city, name.region, name.country) = ("Malmö", "Skåne", "Sweden")
        for version in ["one", "other"] {
            try catalogue.renewMetadata(placeNames: version)
            #expect(try due(catalogue) == [photos[0]])
            try record(name)
            try catalogue.renewMetadata(placeNames: version)
            #expect(try due(catalogue).isEmpty)
        }
        #expect(try found(catalogue) { $0.words = ["malmo", "skane"] } == [photos[0]])
        #expect(try found(catalogue) { $0.place = "sweden" } == [photos[0]])
        try catalogue.renewMetadata(placeNames: nil)
        #expect(try due(catalogue).isEmpty)
        #expect(try catalogue.metadata(ofPhoto: photos[0])?.nearby?.name == name)
        // Photos that were read without it.
        try catalogue.renewMetadata(placeNames: "other")
        #expect(try due(catalogue) == [photos[0]])
    }

    @Test("A place that the photo names is found instead of another nearby; what it does not name is found, too")
    func namedPlaces() throws {
        let place = try Place()
        let catalogue = try place.open()
        let photo = try catalogue.file(1).photo
        var decision = decision { $0.place.city = "Kehl" }
        var near = PhotoMetadata.PlaceName()
        (near.location, near.city, near.region) = ("Neudorf", "Strasbourg", "Grand Est")
        (near.country, near.countryCode) = ("France", "FR")
        decision.nearby = NearbyPlace(near, distance: 900)
        var batch = MetadataBatch()
        batch.add(decision, of: try #require(try catalogue.photosToRead(in: "/srv/photos", after: 0, limit: 1).first))
        try catalogue.record(batch)
        for word in ["kehl", "grand", "france"] {
            #expect(try found(catalogue) { $0.words = [word] } == [photo], "\(word)")
        }
        for word in ["strasbourg", "neudorf"] {
            #expect(try found(catalogue) { $0.words = [word] }.isEmpty, "\(word)")
        }
        let kept = try #require(try catalogue.metadata(ofPhoto: photo))
        #expect(kept.placeText == "Kehl" && kept.nearby?.text == "Neudorf, Strasbourg, Grand Est, France")
    }

    @Test("Numbers that are none are recorded, and fail no other change")
    func numbers() throws {
        let place = try Place()
        let catalogue = try place.open()
        let photo = try catalogue.file(1).photo
        try record(catalogue, photo) { metadata in
            metadata.exposure.time = .infinity
            metadata.exposure.bias = .nan
            metadata.title = "kept"
        }
        #expect(try catalogue.metadata(ofPhoto: photo)?.chosen.exposure.time == .infinity)
        #expect(try found(catalogue) { $0.words = ["kept"] } == [photo])
    }

    @Test(
        "Photos are due again when they are struck or restored, or a member joins their set, also while they are read")
    func dueAgain() throws {
        let place = try Place()
        let catalogue = try place.open()
        let photos = try (1...2).map { try catalogue.file($0).photo }
        #expect(try due(catalogue) == photos)
        #expect(try catalogue.photosToRead(in: "/elsewhere", after: 0, limit: 9).isEmpty)
        let all = try catalogue.photosToRead(in: "/srv/photos", after: 0, limit: 9)
        try catalogue.strike([photos[0]], at: noon)
        var batch = MetadataBatch()
        for one in all { batch.add(decision { $0.title = "x" }, of: one) }
        try catalogue.record(batch)
        #expect(try due(catalogue) == [photos[0]], "it was struck while it was read")
        var rest = MetadataBatch()
        for one in try catalogue.photosToRead(in: "/srv/photos", after: 0, limit: 9) { rest.add(nil, of: one) }
        try catalogue.record(rest)
        #expect(try due(catalogue).isEmpty)
        #expect(try catalogue.metadata(ofPhoto: photos[0])?.chosen.title == "x")
        let third = intent(3)
        let id = try catalogue.beginIntents([third])[0]
        let filing = FilingCommit(intent: id, photo: third.photo, filedAt: noon, reason: "")
        let joined = try catalogue.commitFilings([filing], set: .joining(photo: photos[1]))[0].photo
        #expect(try due(catalogue) == [photos[1], joined])
    }

    @Test("Metadata differ if other ones are recorded, but not while they are to be read anyway")
    func outdated() throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.renewMetadata(placeNames: nil)
        let id = try catalogue.file(1).photo
        let stored = try #require(try catalogue.photo(id: id))
        var metadata = PhotoMetadata()
        metadata.title = "found"
        metadata.exposure.bias = .nan
        let found = MetadataDecision([.xmp: metadata])
        #expect(try !catalogue.differs(found, from: stored), "it is due")
        var batch = MetadataBatch()
        batch.add(found, of: DuePhoto(stored: stored, turn: 0))
        try catalogue.record(batch)
        #expect(try !catalogue.differs(found, from: stored))
        #expect(try catalogue.differs(MetadataDecision([:]), from: stored))
        try catalogue.renewMetadata(of: [id])
        #expect(try !catalogue.differs(MetadataDecision([:]), from: stored))
        #expect(try catalogue.photosToRead(in: "/srv/photos", after: 0, limit: 9).map(\.stored.id) == [id])
    }

    @Test("Words are found in every text, by their beginnings, without case and accents")
    func words() throws {
        let place = try Place()
        let catalogue = try place.open()
        let photo = try catalogue.file(1).photo
        try catalogue.file(2)
        try record(catalogue, photo) { metadata in
            metadata.title = "Möwen"
            metadata.caption = "Two gulls"
            metadata.keywords = ["fishing boat"]
            metadata.hierarchies = [["Animals", "Birds"]]
            metadata.people = ["Ada Lovelace"]
            metadata.place.city = "Kiel"
            metadata.lens = "EF 24-70mm"
        }
        for words in [
            ["mowe"], ["GULLS"], ["fish", "boa"], ["birds"], ["lovel"], ["kiel"], ["canon"], ["24-70mm"],
            ["ef", "ada"],
            ["jpg"],
        ] {
            #expect(try found(catalogue) { $0.words = words } == [photo], "\(words)")
        }
        #expect(try found(catalogue) { $0.words = ["gulls", "absent"] }.isEmpty)
        #expect(try found(catalogue) { $0.keywords = ["fishing boat"] } == [photo])
        #expect(try found(catalogue) { $0.keywords = ["lovelace"] }.isEmpty)
        #expect(try found(catalogue) { $0.people = ["ada lovelace"] } == [photo])
        #expect(try found(catalogue) { $0.place = "kiel" } == [photo])
        #expect(try found(catalogue) { $0.lens = "24-70" } == [photo])
        #expect(try found(catalogue) { $0.words = ["a\"b* OR NEAR("] }.isEmpty)
    }

    @Test("A description replaces texts of the file in searches, whichever comes first; both are kept")
    func descriptions() throws {
        let place = try Place()
        let catalogue = try place.open()
        try describe(catalogue, 1, title: "Harbour")
        let photos = try (1...2).map { try catalogue.file($0).photo }
        for photo in photos {
            try record(catalogue, photo) { metadata in
                metadata.title = "DSC"
                metadata.keywords = ["boat"]
                metadata.rating = 3
            }
        }
        #expect(try found(catalogue) { $0.words = ["harbour", "boat"] } == [photos[0]])
        #expect(try found(catalogue) { $0.words = ["dsc"] } == [photos[1]])
        try describe(catalogue, 2, title: "Harbour", keywords: "quay")
        #expect(try found(catalogue) { $0.words = ["dsc"] }.isEmpty)
        #expect(try found(catalogue) { $0.keywords = ["boat"] } == [photos[0]])
        #expect(try found(catalogue) { $0.words = ["harbour"] } == photos.reversed())
        // Another table says something else, and one photo has no metadata yet.
        try describe(catalogue, 2, title: "Quayside")
        let unread = try catalogue.file(3).photo
        try describe(catalogue, 3, title: "Quayside")
        #expect(try found(catalogue) { $0.words = ["quayside"] } == [unread, photos[1]])
        #expect(try found(catalogue) { $0.rating = 3 } == photos.reversed())
        #expect(try catalogue.metadata(ofPhoto: photos[1])?.chosen.title == "DSC")
    }

    @Test("Positions are found in boxes and circles, also across the 180th meridian and at a pole")
    func positions() throws {
        let place = try Place()
        let catalogue = try place.open()
        let places: [(Double, Double)] = [(54.3233, 10.1228), (-17.0, 179.9), (-17.0, -179.9), (89.99, 100.0)]
        let photos = try places.indices.map { try catalogue.file(UInt8($0 + 1)).photo }
        for (photo, place) in zip(photos, places) {
            try record(catalogue, photo) {
                $0.position = PhotoMetadata.Position(latitude: place.0, longitude: place.1)
            }
        }
        func inside(_ area: SearchArea) throws -> [Int64] { try found(catalogue) { $0.area = area }.reversed() }
        #expect(try inside(.box(west: 10.1, south: 54.3, east: 10.2, north: 54.4)) == [photos[0]])
        // To the last digit, though the index rounds.
        #expect(try inside(.box(west: 10.1228, south: 54.3233, east: 10.1228, north: 54.3233)) == [photos[0]])
        #expect(try inside(.box(west: 10.12281, south: 54, east: 11, north: 55)).isEmpty)
        #expect(try inside(.box(west: 179, south: -18, east: -179, north: -16)) == [photos[1], photos[2]])
        #expect(try inside(.circle(latitude: -17, longitude: 180, radius: 11_000)) == [photos[1], photos[2]])
        #expect(try inside(.circle(latitude: -17, longitude: 180, radius: 10_000)).isEmpty)
        #expect(try inside(.circle(latitude: 89.99, longitude: -80, radius: 3_000)) == [photos[3]])
        #expect(try inside(.circle(latitude: 54.3233, longitude: 10.1228, radius: 1)) == [photos[0]])
        // One that has moved, and one that is gone.
        try record(catalogue, photos[0]) { $0.title = "here" }
        #expect(try inside(.box(west: -180, south: -90, east: 180, north: 90)) == Array(photos.dropFirst()))
    }

    @Test("Photos of the timeline are counted by cells of the map, the fullest first")
    func cells() throws {
        let place = try Place()
        let catalogue = try place.open()
        let places: [(Double, Double)] = [
            (54.3233, 10.1228), (54.31, 10.13), (-17.0, 179.9), (-17.0, -179.9), (90, 180), (-90, -180),
        ]
        let photos = try places.indices.map { try catalogue.file(UInt8($0 + 1)).photo }
        for (photo, place) in zip(photos, places) {
            try record(catalogue, photo) {
                $0.position = PhotoMetadata.Position(latitude: place.0, longitude: place.1)
                $0.place.city = photo == photos[1] ? "Kiel" : nil
            }
        }
        func cells(_ area: SearchArea, size: Double, limit: Int = 100) throws -> Bounded<PlaceCell> {
            try catalogue.cells(of: PlaceGrid(area, width: size, height: size), limit: limit) { true }
        }
        let earth = SearchArea.box(west: -180, south: -90, east: 180, north: 90)
        let all = try cells(earth, size: 1)
        #expect(all.values.map(\.photos) == [2, 1, 1, 1, 1] && !all.isCut)
        let first = try #require(all.values.first)
        #expect(Int64(first.newest) == photos[1] && first.mark == [2, 2, 2, 2] && first.place == "Kiel")
        #expect(abs(first.latitude - 54.31665) < 0.0001 && abs(first.longitude - 10.1264) < 0.0001)
        #expect(first.west <= 10.1228 && first.east >= 10.13 && first.south <= 54.31 && first.north >= 54.3233)
        #expect(try cells(earth, size: 0.001).values.count == 6)
        #expect(try cells(earth, size: 360).values.map(\.photos) == [5, 1], "180 degrees east are a cell of their own")
        #expect(try cells(.box(west: 179, south: -18, east: -179, north: -16), size: 1).values.map(\.photos) == [1, 1])
        #expect(try cells(.box(west: 0, south: 0, east: 9, north: 9), size: 1).values.isEmpty)
        let some = try cells(earth, size: 1, limit: 2)
        #expect(some.isCut && some.values.map(\.photos) == [2, 1])
    }

    @Test("Descriptions of a catalogue without metadata are found after its migration", .tags(.file))
    func migrated() throws {
        let place = try Place()
        let catalogue = try place.open()
        let photo = try catalogue.file(1).photo
        try describe(catalogue, 1, title: "Harbour")
        catalogue.close()
        let queue = try DatabaseQueue(path: place.path)
        // As version 13 left it, but for its index of texts, which the migration drops.
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    DROP TRIGGER description_inserted; DROP TRIGGER description_updated; DROP TRIGGER description_deleted;
                    DROP TRIGGER photo_inserted; DROP TRIGGER photo_updated; DROP TRIGGER damage_deleted;
                    DROP TABLE metadata; DROP TABLE metadata_due; DROP TABLE metadata_reader; DROP VIEW photo_words; DROP TABLE photo_text;
                    DROP TABLE photo_position;
                    CREATE VIRTUAL TABLE description_text USING fts5 (
                        title, keywords, place, content = 'description', content_rowid = 'id');
                    CREATE TRIGGER description_inserted AFTER INSERT ON description BEGIN SELECT 1; END;
                    CREATE TRIGGER description_updated AFTER UPDATE ON description BEGIN SELECT 1; END;
                    CREATE TRIGGER description_deleted AFTER DELETE ON description BEGIN SELECT 1; END;
                    DELETE FROM grdb_migrations WHERE identifier LIKE '14 %' OR identifier LIKE '% place names';
                    """)
        }
        try queue.close()
        let migrated = try place.open()
        #expect(try found(migrated) { $0.words = ["harb"] } == [photo])
        #expect(try due(migrated) == [photo])
    }
}
