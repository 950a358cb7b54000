import FileValues
import Foundation
import Testing

@testable import Catalogue

@Suite("Which photos' sidecars are to be written", .withEachEngine)
struct SidecarRowsTests {
    private func due(_ catalogue: CatalogueFile) throws -> [Int64] {
        try catalogue.sidecarsToWrite(in: "/srv/photos", after: 0, limit: 100).map(\.stored.id)
    }

    private func describe(_ catalogue: CatalogueFile, _ number: UInt8, title: String) throws {
        var batch = DescriptionBatch()
        let key = batch.add(Array(repeating: number, count: 32))
        let title = batch.add(title.utf8)
        let none = batch.add([])
        batch.end(.content, key: key, title: title, keywords: none, rating: nil, taken: none, place: none)
        try catalogue.describe(batch, from: "table.csv", identity(99)) { _ in ImportPlace() }
    }

    private func settle(_ catalogue: CatalogueFile, left reason: String? = nil, isLater: Bool = false) throws {
        let due = try catalogue.sidecarsToWrite(in: "/srv/photos", after: 0, limit: 100)
        try catalogue.record(due.map { ($0, said: nil, reason, isLater) })
    }

    @Test("Those of described photos, whichever comes first, again when description, path or record change")
    func due() throws {
        let place = try Place()
        let catalogue = try place.open()
        let photos = try (1...2).map { try catalogue.file($0).photo }
        #expect(try due(catalogue).isEmpty)
        try describe(catalogue, 1, title: "a")
        try describe(catalogue, 3, title: "later")
        #expect(try due(catalogue) == [photos[0]])
        let third = try catalogue.file(3).photo
        #expect(try due(catalogue) == [photos[0], third])
        #expect(try catalogue.sidecarsToWrite(in: "/elsewhere", after: 0, limit: 9).isEmpty)
        try settle(catalogue)
        try describe(catalogue, 1, title: "a")
        #expect(try due(catalogue).isEmpty, "nothing has changed")
        try describe(catalogue, 1, title: "b")
        #expect(try due(catalogue) == [photos[0]])
        try settle(catalogue)
        try catalogue.strike([third, photos[1]], at: noon)
        #expect(try due(catalogue) == [third], "the other one has no description")
    }

    @Test("One that changes while it is written stays due; one that was left is due again when asked, or changed")
    func turns() throws {
        let place = try Place()
        let catalogue = try place.open()
        let id = try catalogue.file(1).photo
        try describe(catalogue, 1, title: "a")
        let written = try catalogue.sidecarsToWrite(in: "/srv/photos", after: 0, limit: 9)
        #expect(written.allSatisfy { !$0.hasSaid(photo(9).sha256) })
        try describe(catalogue, 1, title: "b")
        try catalogue.record(written.map { ($0, photo(9).sha256, nil, true) })
        #expect(try due(catalogue) == [id])
        try settle(catalogue, left: "it is a link")
        #expect(try due(catalogue).isEmpty)
        #expect(try catalogue.sidecarRefusal(ofPhoto: id) == "it is a link")
        try catalogue.renewSidecars(in: "/elsewhere", .all)
        #expect(try due(catalogue).isEmpty)
        try catalogue.renewSidecars(in: "/srv/photos", .all)
        try catalogue.renewSidecars(in: "/elsewhere", .all)
        #expect(try due(catalogue) == [id])
        try catalogue.renewSidecars(in: "/elsewhere", .left)
        #expect(try due(catalogue).isEmpty)
        #expect(try catalogue.sidecarRefusal(ofPhoto: id) == nil)
        try catalogue.renewSidecars(in: "/elsewhere", .later)
        #expect(try due(catalogue).isEmpty)
        try catalogue.renewSidecars(in: "/srv/photos", .left)
        #expect(try due(catalogue) == [id] && catalogue.sidecarRefusal(ofPhoto: id) == nil)
        let renewed = try catalogue.sidecarsToWrite(in: "/srv/photos", after: 0, limit: 9)
        try catalogue.renewSidecars(in: "/srv/photos", .all)
        try catalogue.record(renewed.map { ($0, nil, nil, false) })
        #expect(try due(catalogue) == [id])
        try settle(catalogue)
        try catalogue.renewSidecars(in: "/srv/photos", .left)
        #expect(try due(catalogue).isEmpty)
        try catalogue.renewSidecars(in: "/srv/photos", .all)
        #expect(try due(catalogue) == [id])
        try settle(catalogue, left: "it is a link")
        try catalogue.renewSidecars(in: "/srv/photos", .later)
        #expect(try due(catalogue).isEmpty)
        try catalogue.renewSidecars(in: "/srv/photos", .left)
        try settle(catalogue, left: "it is full", isLater: true)
        #expect(try due(catalogue).isEmpty && catalogue.sidecarRefusal(ofPhoto: id) == "it is full")
        try catalogue.renewSidecars(in: "/srv/photos", .later)
        #expect(try due(catalogue) == [id] && catalogue.sidecarRefusal(ofPhoto: id) == nil)
        try catalogue.beginRebuilding(at: noon)
        #expect(try due(catalogue).isEmpty, "what was filed is not known yet")
        try catalogue.endRebuilding()
        try settle(catalogue, left: "it is a link")
        try describe(catalogue, 1, title: "c")
        #expect(try due(catalogue) == [id])
    }

    @Test("What was written last stays known, and with it what was about to be written, of which one may have been")
    func said() throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        try describe(catalogue, 1, title: "a")
        func said() throws -> DueSidecar {
            try #require(try catalogue.sidecarsToWrite(in: "/srv/photos", after: 0, limit: 9).first)
        }
        let hashes = (1...12).map { photo($0).sha256 }
        try catalogue.record([(try said(), hashes[0], nil, false)])
        for hash in hashes + hashes.suffix(3) {
            try catalogue.renewSidecars(in: "/srv/photos", .all)
            try catalogue.expect([(try said(), hash)])
            #expect(try said().hasSaid(hash) && said().hasSaid(hashes[0]))
            try catalogue.record([(try said(), nil, "it is a link", false)])
        }
        try catalogue.renewSidecars(in: "/srv/photos", .all)
        #expect(try said().said.hashes.count == 8)
        #expect(try !said().hasSaid(Array(hashes[0].dropFirst() + [0])))
        for hash in [hashes[5], hashes[6], hashes[5]] {
            try catalogue.renewSidecars(in: "/srv/photos", .all)
            try catalogue.record([(try said(), hash, nil, false)])
        }
        // Another program may have read a former one, and write it again.
        try catalogue.renewSidecars(in: "/srv/photos", .all)
        #expect(try said().said.hashes.prefix(3) == [hashes[5], hashes[6], hashes[0]])
        #expect(try said().said.hashes.count == 8)
    }

    @Test("What was filed is known by path and by content, also what is being filed and what was struck")
    func filed() throws {
        let place = try Place()
        let catalogue = try place.open()
        let (first, second) = (photo(1), photo(2))
        let id = try catalogue.file(1).photo
        _ = try catalogue.beginIntents([intent(2)])
        for photo in [first, second] {
            #expect(try catalogue.isFiled(at: photo.libraryPath, in: photo.library))
            #expect(try catalogue.isFiled(at: "copy", in: "/elsewhere", content: photo.sha256))
        }
        #expect(try !catalogue.isFiled(at: first.libraryPath, in: "/elsewhere", content: photo(3).sha256))
        try catalogue.closeIntents(try catalogue.pendingIntents().map(\.id))
        try catalogue.strike([id], at: noon)
        #expect(try !catalogue.isFiled(at: first.libraryPath, in: first.library))
        #expect(try catalogue.isFiled(at: first.libraryPath, in: first.library, content: first.sha256))
    }

    @Test(
        "What a sidecar says is restored if its photo is beside it; what is recorded wins, and none is recorded itself")
    func restored() throws {
        let place = try Place()
        let catalogue = try place.open()
        try catalogue.file(1)
        try describe(catalogue, 1, title: "own")
        let said = PhotoDescription(title: "said", keywords: ["a", "b c"], rating: 3, taken: "2026", place: "Kiel")
        func adopt(
            _ number: UInt8, beside other: UInt8 = 1, of subject: UInt8, isOwn: Bool = true, isBeside: Bool = false,
            isPlain: Bool = false
        ) throws -> Substring? {
            var sidecar = photo(number)
            sidecar.libraryPath = photo(other).libraryPath.addingSuffix(".xmp")
            sidecar.part.role = SetPart.sidecar
            let statement = SidecarStatement(
                sha256: photo(subject).sha256, said, isOwn: isOwn, isBesidePhoto: isBeside, isPlain: isPlain)
            let predicted = try catalogue.isSidecar(sidecar.libraryPath, in: sidecar.library, statement)
            let result = try catalogue.adopt([sidecar], sidecars: [sidecar.libraryPath: statement], at: noon).first
            if [.restored, .ofAnother].contains(result) { #expect(predicted == (result == .restored)) }
            return result.map { "\($0)".prefix { $0 != "(" } }
        }
        #expect(try adopt(10, of: 1, isOwn: false) == "ofAnother")
        #expect(try catalogue.description(ofHash: photo(1).sha256) == PhotoDescription(title: "own"))
        #expect(try adopt(10, of: 1) == "restored")
        var both = said
        both.title = "own"
        #expect(try catalogue.description(ofHash: photo(1).sha256) == both)

        for number in [2, 4] as [UInt8] { try catalogue.file(number) }
        #expect(try adopt(11, of: 2) == "ofAnother", "its photo is not beside it")
        #expect(try adopt(12, beside: 2, of: 3) == "ofAnother", "its photo is nowhere")
        for number in [2, 3, 4] as [UInt8] { #expect(try catalogue.description(ofHash: photo(number).sha256) == nil) }
        #expect(try adopt(12, beside: 2, of: 3, isBeside: true) == "restored", "another file has its bytes")
        #expect(try catalogue.description(ofHash: photo(3).sha256) == said)
        for number in 10...12 as ClosedRange<UInt8> {
            #expect(try catalogue.photo(withHash: photo(number).sha256) == nil)
        }

        // One that came through an inbox is recorded, until it is struck.
        var filed = photo(13)
        filed.libraryPath = photo(4).libraryPath.addingSuffix(".xmp")
        filed.part.role = SetPart.sidecar
        guard case .adopted(let id)? = try catalogue.adopt([filed], at: noon).first else {
            Issue.record("not adopted")
            return
        }
        #expect(try adopt(13, beside: 4, of: 4) == "known")
        #expect(try adopt(14, beside: 4, of: 4) == "differs")
        #expect(try catalogue.description(ofHash: photo(4).sha256) == nil)
        try catalogue.strike([id], at: noon)
        #expect(try adopt(13, beside: 4, of: 4) == "adopted", "its record comes back, and it is not changed")
        #expect(try catalogue.description(ofHash: photo(4).sha256) == nil)
        try catalogue.strike([id], at: noon)
        #expect(try adopt(13, beside: 4, of: 4, isPlain: true) == "restored", "this program may have written it again")
        #expect(try catalogue.photo(withHash: photo(13).sha256) == nil)

        // It is copied from a file alone.
        guard TestEngine.current == .sqlite else { return }
        let other = try Place()
        let new = try other.open()
        try new.file(1)
        var sidecar = photo(10)
        sidecar.libraryPath = photo(1).libraryPath.addingSuffix(".xmp")
        let statement = SidecarStatement(
            sha256: photo(1).sha256, PhotoDescription(title: "said", rating: 5), isOwn: true)
        #expect(try new.adopt([sidecar], sidecars: [sidecar.libraryPath: statement], at: noon) == [.restored])
        _ = try new.copyDescriptions(from: BytePath(place.path))
        #expect(try new.description(ofHash: photo(1).sha256) == both, "the older catalogue's wins")
    }

    @Test("Descriptions of a catalogue whose index of photos is damaged are copied all the same", .tags(.file))
    func damaged() throws {
        let (place, other) = (try Place(), try Place())
        let old = try place.open()
        for number in 1...3 {
            try old.file(UInt8(number))
            try describe(old, UInt8(number), title: "title \(number)")
        }
        let due = try old.sidecarsToWrite(in: "/srv/photos", after: 0, limit: 9)
        try old.record(due.map { ($0, photo(9).sha256, nil, false) })
        let (size, page) = try old.read("finding the page of an index") { db in
            (
                try #require(try db.value(Int.self, "PRAGMA page_size")),
                try #require(
                    try db.value(Int.self, "SELECT rootpage FROM sqlite_schema WHERE name = 'photo_sha256'"))
            )
        }
        try old.closeWhole()
        let file = try FileHandle(forUpdating: URL(filePath: place.path))
        try file.seek(toOffset: UInt64(size * (page - 1)))
        try file.write(contentsOf: Data(repeating: 0xFF, count: size))
        try file.close()
        let new = try other.open()
        for number in 1...3 { try new.file(UInt8(number)) }
        #expect(try new.copyDescriptions(from: BytePath(place.path)) == 3)
        #expect(try new.description(ofHash: photo(2).sha256)?.title == "title 2")
        #expect(try new.sidecarsToWrite(in: "/srv/photos", after: 0, limit: 9).allSatisfy { $0.said.hashes.isEmpty })
    }
}
