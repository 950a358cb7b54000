import FileValues
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
}
