import FileValues
import Foundation
import PhotoFormats
import PhotoModel
import Testing

@testable import Catalogue

@Suite("Rows of photos that are in buckets", .withEachEngine)
struct BucketRowsTests {
    private let bucket: BytePath = "https://nas.example.org/photos"

    private func record(
        _ number: UInt8, _ role: String, _ path: String, key: String = "card/a", content: String? = nil
    ) -> PhotoRecord {
        var record = photo(number, name: BytePath(path).name)
        record.libraryPath = BytePath(path)
        record.part = SetPart(role: role, contentIdentifier: content, key: Array(key.utf8))
        return record
    }

    /// The file as it is recorded when it is found in the library.
    private func found(_ record: PhotoRecord, at path: String? = nil) -> PhotoRecord {
        var found = record
        if let path { found.libraryPath = BytePath(path) }
        found.originalName = found.libraryPath.name
        (found.inbox, found.sourcePath) = (CatalogueFile.adoptedInbox, found.libraryPath)
        found.part.key = SetName(found.libraryPath).key.bytes
        return found
    }

    @discardableResult
    private func file(
        _ catalogue: CatalogueFile, _ records: [PhotoRecord], _ set: SetPlace = .new, supersedes: [Int64?] = []
    ) throws -> [Int64] {
        let taken = try catalogue.pendingIntents().count + catalogue.recentOutcomes(limit: 1_000).count
        let intents = records.enumerated().map { index, record in
            NewIntent(
                token: "t\(taken)-\(index)", temporary: ".t", photo: record, since: noon,
                supersedes: supersedes.isEmpty ? nil : supersedes[index])
        }
        let ids = try catalogue.beginIntents(intents)
        let filed = try catalogue.commitFilings(
            zip(ids, intents).map { id, intent in
                FilingCommit(
                    intent: id, photo: intent.photo, filedAt: noon, reason: "",
                    supersedes: intent.supersedes.map { [$0] } ?? [])
            }, set: set
        ).map(\.photo)
        try catalogue.closeFiled()
        return filed
    }

    private func move(_ catalogue: CatalogueFile, _ photos: [Int64]) throws {
        for id in photos {
            let stored = try #require(try catalogue.photo(id: id))
            let move = RequestedMove(
                token: "s\(id)", sourceRoot: stored.photo.library, sourcePath: stored.photo.libraryPath,
                destinationRoot: bucket, destinationPath: stored.photo.libraryPath, sha256: stored.photo.sha256,
                identity: identity(1))
            let request = try catalogue.recordRequest(
                RequestRecord(
                    at: noon, what: .store, user: 0, userName: "ana", inbox: "card",
                    outcomeID: try catalogue.outcomes(ofPhoto: id).first?.id, photoID: id, move: move), step: .begun)
            try catalogue.endRequest(request, at: noon, move: move)
        }
    }

    /// Paths of the set of the photo with this number, in buckets with an asterisk.
    private func set(_ catalogue: CatalogueFile, of number: UInt8) throws -> [String] {
        let stored = try #require(try catalogue.photo(withHash: photo(number).sha256))
        return try catalogue.photos(inSetOf: stored).map {
            "\($0.photo.libraryPath)\($0.photo.isInBucket ? "*" : "")"
        }.sorted()
    }

    @Test("A catalogue that is made anew has the sets of moved photos as they were, whatever their names are")
    func sets() throws {
        let (place, other) = (try Place(), try Place())
        let (old, new) = (try place.open(), try other.open())
        // Of one path in the inbox.
        let pairs = try ["2015", "2018"].enumerated().map { index, year in
            try file(
                old,
                [
                    record(UInt8(2 * index + 1), "picture", "\(year)/a.jpg"),
                    record(UInt8(2 * index + 2), "raw", "\(year)/a.dng"),
                ])
        }
        let live = try file(
            old,
            [
                record(5, "picture", "2016/x.heic", key: "card/x", content: "L"),
                record(6, "film", "2016/y.mov", key: "card/y", content: "L"),
            ])
        try move(old, pairs.flatMap(\.self) + live)
        // Another photo has the free name, and its sidecar; then a raw file and a sidecar of the moved one come.
        let namesake = record(7, "picture", "2015/a.jpg")
        try file(old, [namesake])
        let late = [record(8, "raw", "2015/a-2.dng"), record(9, "sidecar", "2015/a.xmp")]
        try file(old, late, .joining(photo: pairs[0][0]))
        try file(old, [record(10, "picture", "2017/alone.jpg")])
        try move(old, [try #require(try old.photo(withHash: photo(10).sha256)).id])

        _ = try new.adopt(([namesake] + late).map { found($0) }, at: noon)
        #expect(try set(new, of: 9) == ["2015/a.jpg", "2015/a.xmp"], "by their names in the library")
        for _ in 0..<2 {
            #expect(try new.keepMoved(of: old) == nil)
            #expect(try set(new, of: 1) == ["2015/a-2.dng", "2015/a.dng*", "2015/a.jpg*", "2015/a.xmp"])
            #expect(try set(new, of: 3) == ["2018/a.dng*", "2018/a.jpg*"])
            #expect(try set(new, of: 6) == ["2016/x.heic*", "2016/y.mov*"])
            #expect(try set(new, of: 7) == ["2015/a.jpg"])
            #expect(try set(new, of: 10) == ["2017/alone.jpg*"])
            #expect(try new.totals().photos == old.totals().photos)
        }
        // What comes later finds its set by the inbox's names, as before.
        #expect(
            try new.filedSet(SetQuery(inbox: "card", keys: [Array("card/x".utf8)])).map(\.photo.sha256)
                == [photo(5).sha256, photo(6).sha256])
    }

    @Test("What was copied back into the library is not recorded in the bucket as well, but for what others have there")
    func copiedBack() throws {
        let (place, other) = (try Place(), try Place())
        let (old, new) = (try place.open(), try other.open())
        func sidecar(_ path: String, key: String) -> PhotoRecord { record(9, "sidecar", path, key: key) }
        let sets = try ["a", "b", "c"].enumerated().map { index, name in
            try file(
                old,
                [
                    record(UInt8(index + 1), "picture", "2015/\(name).jpg", key: name),
                    sidecar("2015/\(name).xmp", key: name),
                ])
        }
        try move(old, sets.flatMap(\.self))
        // a is back, b in another directory; of c the name is that of a stranger, whose sidecar has the same bytes.
        let stranger = [record(4, "picture", "2015/c.jpg"), sidecar("2015/c.xmp", key: "c")]
        try file(old, stranger)
        let files = [
            found(record(1, "picture", "2015/a.jpg")), found(sidecar("2015/a.xmp", key: "a")),
            found(record(2, "picture", "2015/b.jpg"), at: "album/b.jpg"),
            found(sidecar("2015/b.xmp", key: "b"), at: "album/b.xmp"),
        ]
        _ = try new.adopt(files + stranger.map { found($0) }, at: noon)
        #expect(try new.keepMoved(of: old) == nil)
        #expect(try set(new, of: 1) == ["2015/a.jpg", "2015/a.xmp"])
        #expect(try set(new, of: 2) == ["album/b.jpg", "album/b.xmp"])
        #expect(try set(new, of: 3) == ["2015/c.jpg*", "2015/c.xmp*"])
        #expect(try set(new, of: 4) == ["2015/c.jpg", "2015/c.xmp"])
        #expect(try new.totals().photos == 8)
    }

    @Test("Moved photos are found by their words after the catalogue was made anew, and it is known who moved them")
    func searched() throws {
        let (place, other) = (try Place(), try Place())
        let (old, new) = (try place.open(), try other.open())
        let id = try file(old, [record(1, "picture", "2015/a.jpg")])[0]
        var metadata = PhotoMetadata()
        metadata.title = "Möwen"
        metadata.lens = "RF 50mm"
        metadata.position = PhotoMetadata.Position(latitude: 54.32, longitude: 10.12)
        var batch = MetadataBatch()
        batch.add(
            MetadataDecision([.xmp: metadata]), of: DuePhoto(stored: try #require(try old.photo(id: id)), turn: 0))
        try old.record(batch)
        try move(old, [id])
        try new.file(7)
        #expect(try !new.hasMoves())
        #expect(try new.keepMoved(of: old) == nil)
        let kept = try #require(try new.photo(withHash: photo(1).sha256))
        for word in ["mowen", "rf"] {
            var query = SearchQuery()
            query.words = [word]
            #expect(try new.search(query).compactMap { $0.photo?.id } == [kept.id], "\(word)")
        }
        #expect(try new.metadata(ofPhoto: kept.id) == old.metadata(ofPhoto: id))
        #expect(kept.filedAt == noon && kept.photo.inbox == "card")
        let outcome = try #require(try new.outcomes(ofPhoto: kept.id).first)
        let request = try #require(try new.requests(ofOutcome: outcome.id).first)
        #expect(request.request.what == .store && request.request.photoID == kept.id)
        #expect(request.request.userName == "ana" && request.endedAt == noon)
        // An emptied library is no new one, also where the requests are not known.
        #expect(try new.hasMoves() && !new.hasMoves(underWay: true))
        try new.write("a test") { db in try db.run("DELETE FROM request") }
        #expect(try new.hasMoves())
        let back = try new.adopt([found(record(1, "picture", "2015/a.jpg"))], at: noon)
        #expect(back == [.moved(kept.id, from: "2015/a.jpg")])
        #expect(try !new.hasMoves())
    }

    @Test("A sidecar takes the place of one in a bucket if its photo is back, and not because it has the same bytes")
    func strangers() throws {
        let (jpeg, sidecar) = (record(1, "picture", "2015/a.jpg"), record(9, "sidecar", "2015/a.xmp"))
        /// Each in a catalogue of its own, one after the other.
        func withMoved(_ body: (CatalogueFile, [Int64]) throws -> Void) throws {
            let place = try Place()
            defer { withExtendedLifetime(place) {} }
            let catalogue = try place.open()
            defer { catalogue.close() }
            let ids = try file(catalogue, [jpeg, sidecar])
            try move(catalogue, ids)
            try body(catalogue, ids)
        }
        try withMoved { catalogue, _ in
            try file(catalogue, [sidecar, record(2, "picture", "2015/a.jpg")])
            #expect(try set(catalogue, of: 1) == ["2015/a.jpg*", "2015/a.xmp*"])
            #expect(try set(catalogue, of: 2) == ["2015/a.jpg", "2015/a.xmp"])
        }
        try withMoved { catalogue, _ in
            guard case .adopted? = try catalogue.adopt([found(sidecar)], at: noon).first else {
                Issue.record("it took the place of one in a bucket")
                return
            }
            #expect(try set(catalogue, of: 1) == ["2015/a.jpg*", "2015/a.xmp*"])
        }
        // With its photo, in either order of names.
        try withMoved { catalogue, ids in
            let results = try catalogue.adopt([found(sidecar), found(jpeg)], at: noon)
            #expect(results == [.moved(ids[1], from: "2015/a.xmp"), .moved(ids[0], from: "2015/a.jpg")])
            #expect(try set(catalogue, of: 1) == ["2015/a.jpg", "2015/a.xmp"])
        }
    }

    @Test("A moved set that is found in another directory of the library stays one")
    func anotherDirectory() throws {
        let place = try Place()
        let catalogue = try place.open()
        let (jpeg, sidecar) = (record(1, "picture", "2015/a.jpg"), record(9, "sidecar", "2015/a.xmp"))
        let moved = try file(catalogue, [jpeg, sidecar])
        let other = try file(
            catalogue,
            [record(2, "picture", "2015/b.jpg", key: "card/b"), record(9, "sidecar", "2015/b.xmp", key: "card/b")])
        try move(catalogue, other + moved)
        let results = try catalogue.adopt(
            [
                found(record(9, "sidecar", "x"), at: "album/a.xmp"), found(jpeg, at: "album/a.jpg"),
                found(record(9, "sidecar", "x"), at: "elsewhere/b.xmp"),
            ], at: noon)
        #expect(results[..<2] == [.moved(moved[1], from: "2015/a.xmp"), .moved(moved[0], from: "2015/a.jpg")])
        guard case .adopted = results[2] else {
            Issue.record("its photo is not back")
            return
        }
        #expect(try set(catalogue, of: 1) == ["album/a.jpg", "album/a.xmp"])
        #expect(try set(catalogue, of: 2) == ["2015/b.jpg*", "2015/b.xmp*"])
    }

    @Test("A set that comes back in two is one again, and its sidecar is not in the bucket any more")
    func inTwo() throws {
        let place = try Place()
        let catalogue = try place.open()
        let (jpeg, raw) = (record(1, "picture", "2015/a.jpg"), record(2, "raw", "2015/a.dng"))
        let sidecar = record(9, "sidecar", "2015/a.xmp")
        let moved = try file(catalogue, [jpeg, raw, sidecar])
        try move(catalogue, moved)
        // A namesake has got its name.
        var (second, beside) = (jpeg, sidecar)
        (second.libraryPath, beside.libraryPath) = ("2015/a-2.jpg", "2015/a-2.xmp")
        try file(catalogue, [second, beside], supersedes: [moved[0], nil])
        #expect(try set(catalogue, of: 2) == ["2015/a-2.jpg", "2015/a-2.xmp", "2015/a.dng*"])
        try file(catalogue, [raw, record(3, "film", "2015/a.mov")], supersedes: [moved[1], nil])
        #expect(try set(catalogue, of: 1) == ["2015/a-2.jpg", "2015/a-2.xmp", "2015/a.dng", "2015/a.mov"])
        // One that gets the path of a photo that is lost is not of its set.
        let next = try catalogue.beginIntents([
            NewIntent(token: "n1", temporary: ".n1", photo: record(4, "picture", "2015/a.dng"), since: noon),
            NewIntent(token: "n2", temporary: ".n2", photo: record(5, "raw", "2015/b.dng"), since: noon),
        ])
        let lost = try #require(try catalogue.photo(withHash: photo(2).sha256)).id
        let photos = [record(4, "picture", "2015/a.dng"), record(5, "raw", "2015/b.dng")]
        _ = try catalogue.commitFilings(
            zip(next, photos).map { id, photo in
                FilingCommit(
                    intent: id, photo: photo, filedAt: noon, reason: "",
                    supersedes: photo.libraryPath == "2015/a.dng" ? [lost] : [])
            }, set: .new)
        #expect(try set(catalogue, of: 4) == ["2015/a.dng", "2015/b.dng"])
        #expect(try set(catalogue, of: 1) == ["2015/a-2.jpg", "2015/a-2.xmp", "2015/a.mov"])
    }

    @Test(
        "A damaged catalogue that is set aside leaves what is readable of photos in buckets to the new one",
        .tags(.file))
    func damaged() throws {
        let place = try Place()
        let old = try place.open()
        try move(old, try file(old, [record(1, "picture", "2015/a.jpg"), record(2, "raw", "2015/a.dng")]))
        try file(old, [record(3, "picture", "2015/c.jpg")])
        let (size, page) = try old.read("finding the page of an index") { db in
            (
                try #require(try db.value(Int.self, "PRAGMA page_size")),
                try #require(
                    try db.value(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name = 'outcome_path'"))
            )
        }
        try old.closeWhole()
        let file = try FileHandle(forUpdating: URL(filePath: place.path))
        try file.seek(toOffset: UInt64(size * (page - 1)))
        try file.write(contentsOf: Data(repeating: 0xFF, count: size))
        try file.close()
        let new = try place.open()
        #expect(try new.setAside != nil && new.isRebuilding())
        #expect(try set(new, of: 1) == ["2015/a.dng*", "2015/a.jpg*"])
        #expect(try new.totals().photos == 2)
        #expect(try new.keepMovedOfSetAside() == nil)
        #expect(try new.totals().photos == 2)
    }
}
